// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/service/body.hpp"

namespace quantjit::service {

/// The nearest entry to a request that missed: the one that differs in the fewest key fields, and
/// those fields.
[[nodiscard]] Explanation explain_miss(KernelService::Body& body, const Request& request);

/// Fields of a key text for comparison: repeated labels numbered, sources by path, traits key by
/// key.
[[nodiscard]] std::map<std::string, std::string> comparable_fields(std::string_view key_text);

}  // namespace quantjit::service
