// SPDX-License-Identifier: Apache-2.0
// What prewarm says when it is done.
#pragma once

#include "tools/cli/console.hpp"
#include "tools/cli/prewarm_source.hpp"

#include <quantjit/prewarm.hpp>
#include <quantjit/service.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace quantjit::cli {

/// What became of the entries for remote tiers.
struct RemoteShare {
  std::uint64_t taken = 0;       ///< from a tier
  std::uint64_t stored = 0;      ///< in a tier; in each of several is counted each time
  std::uint64_t not_stored = 0;  ///< that a tier should have got

  RemoteShare& operator+=(const RemoteShare& other);
};

/// What a service has counted so far.
[[nodiscard]] RemoteShare share_of(const KernelService& service);

/// Tells what was derived from a model: sites, what is not covered, warnings, refusals.
void print_models(Console& console, const std::vector<DerivedModel>& models);

/// @param share null if there are no remote tiers
void print_report(Console& console, const PrewarmReport& report, const RemoteShare* share);

/// The document of JSON form.
[[nodiscard]] Value describe_prewarm(const PrewarmReport& report, const RemoteShare* share,
                                     const std::vector<DerivedModel>& models);

/// Refusals of all targets in one line; empty if there is none.
[[nodiscard]] std::string refusal_text(const std::vector<DerivedModel>& models);

}  // namespace quantjit::cli
