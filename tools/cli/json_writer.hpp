// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/value.hpp"

#include <string>

namespace quantjit::cli {

/// JSON text of a value, indented by two blanks. Bytes that are not UTF-8 are replaced; numbers
/// that JSON cannot hold (infinities, NaN) become null.
[[nodiscard]] std::string to_json(const Value& value);

/// A value read from JSON text; null if it is no JSON.
[[nodiscard]] Value from_json(const std::string& text);

}  // namespace quantjit::cli
