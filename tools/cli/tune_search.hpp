// SPDX-License-Identifier: Apache-2.0
// Finding the launch geometry of one kernel by measuring candidates over a ladder of sizes.
#pragma once

#include <quantjit/geometry.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quantjit::cli {

/// One size of the ladder.
struct TuneStep {
  std::int64_t tokens = 0;   ///< padded rows an expert if masked
  std::int64_t experts = 0;  ///< 0: flat or rows
  std::int64_t live = 0;     ///< masked: live rows an expert
  double size = 0;           ///< size class, in the unit of the kernel's rules
};

/// What is tuned: a descriptor that stands for its kernel, and a row width.
struct TuneSubject {
  std::string traits;
  std::int64_t hidden = 0;
};

/// Microseconds of a launch at one step with these rules.
using TuneMeasure = std::function<double(const TuneStep&, const GeometryRule&)>;

/// The subject of each kernel.
[[nodiscard]] TuneSubject tune_subject(GeometryKernel kernel);
/// Sizes from one row to what fills a device of `multiprocessors`, rising.
[[nodiscard]] std::vector<TuneStep> tune_ladder(GeometryKernel kernel, const TuneSubject& subject,
                                                std::int64_t multiprocessors);
/// Rules worth measuring, without their size class.
[[nodiscard]] std::vector<GeometryRule> tune_candidates(GeometryKernel kernel, const Arch& arch);

/// One measured step.
struct TuneChoice {
  TuneStep step;
  GeometryRule rule;      ///< the fastest, or the present one where nothing is faster by 1 %
  double us = 0;          ///< with `rule`
  double present_us = 0;  ///< with the table in force
};

/// Measures every candidate at every step. `present` are the rules in force.
[[nodiscard]] std::vector<TuneChoice> tune(GeometryKernel kernel, const Arch& arch,
                                           std::int64_t multiprocessors,
                                           const std::vector<GeometryRule>& present,
                                           const TuneMeasure& measure);

/// A table of the choices: neighbours with the same rule become one, and a size class ends halfway
/// (geometrically) to the next step. REQUIRES: not empty, sizes rise.
[[nodiscard]] std::vector<GeometryRule> tuned_rules(const std::vector<TuneChoice>& choices);

}  // namespace quantjit::cli
