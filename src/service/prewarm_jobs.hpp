// SPDX-License-Identifier: Apache-2.0
// How many compiles may run at once.
#pragma once

#include <cstdint>
#include <optional>

namespace quantjit::service {

/// At most `wanted`, and no more than fit into memory; at least 1.
/// @param wanted positive
/// @param memory_bytes what the compiles may take together; nothing if unknown
[[nodiscard]] int limit_jobs(int wanted, std::optional<std::uint64_t> memory_bytes);

}  // namespace quantjit::service
