// SPDX-License-Identifier: Apache-2.0
// The only place that reads the environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quantjit::base {

/// Value of an environment variable; nothing if it is unset. An empty value counts as set.
/// Read once by whoever builds options, never on a launch path.
[[nodiscard]] std::optional<std::string> environment(const char* name);

}  // namespace quantjit::base
