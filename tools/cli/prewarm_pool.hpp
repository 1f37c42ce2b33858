// SPDX-License-Identifier: Apache-2.0
// Prewarm in worker processes: whatever a compiler does to its process costs one kernel.
#pragma once

#include "tools/cli/prewarm_report.hpp"

#include <quantjit/prewarm.hpp>
#include <quantjit/service.hpp>

#include <atomic>
#include <functional>
#include <vector>

namespace quantjit::cli {

/// Compiles each of `items`, which are distinct, in one of `jobs` processes of this program. A
/// process that ends while it works fails that item and is replaced.
/// @param options of the workers, who read them from the environment
/// @param progress called after each item and once before the first
/// @param cancel once true, what is under way is finished and nothing else begun
/// @param share receives what the workers exchanged with remote tiers
/// Throws: CommandFailure if workers cannot be started.
[[nodiscard]] PrewarmReport prewarm_isolated(
    const std::vector<PrewarmItem>& items, const ServiceOptions& options, int jobs,
    const std::function<void(const PrewarmProgress&)>& progress, const std::atomic<bool>& cancel,
    RemoteShare& share);

}  // namespace quantjit::cli
