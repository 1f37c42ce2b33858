// SPDX-License-Identifier: Apache-2.0
// Routed experts: which runner computes them, and what quantizes their inputs.
#pragma once

#include "src/models/plan.hpp"

#include <string>

namespace quantjit::models {

/// Experts seen from one rank.
struct Experts {
  std::string runner;         ///< the resolved one
  std::int64_t hidden = 0;    ///< width of their input
  std::int64_t width = 0;     ///< of their down projection's input, per rank
  bool quantized = false;     ///< they exist, and a rule says how they are quantized
  bool shared_apart = false;  ///< there is a shared expert, computed on its own
};

/// Throws: Refused where the engine rejects the split or the runner.
[[nodiscard]] Experts resolve_experts(Plan& plan);

/// Adds the sites of SGLang's experts.
void add_sglang_experts(Plan& plan, const Experts& experts);

/// Adds the sites of experts in the token scheme, of either engine.
void add_token_experts(Plan& plan, const Experts& experts);

/// The all-to-all backends whose experts DeepGEMM computes.
[[nodiscard]] bool dispatches(const Plan& plan);

}  // namespace quantjit::models
