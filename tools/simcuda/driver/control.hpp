// SPDX-License-Identifier: Apache-2.0
// The state behind simcuda.h: policies, seed, statistics and the last fault.
#pragma once

#include "../fault.hpp"
#include "../grid.hpp"
#include "api.hpp"

#include <cstdint>

namespace quantjit::simdriver {

[[nodiscard]] int fault_policy();
[[nodiscard]] int launch_policy();
[[nodiscard]] std::uint64_t instruction_limit();

/// The seed and how often it was set: a stream restarts its choices at each setting.
struct Seed {
  std::uint64_t value = 0;
  std::uint64_t generation = 0;
};

[[nodiscard]] Seed current_seed();

/// A well mixed function of two words, for deriving one seed from another.
[[nodiscard]] std::uint64_t mix(std::uint64_t a, std::uint64_t b);

/// Keeps the report, prints it to stderr, and aborts where the policy says so.
void report_fault(const sim::Fault& fault);

/// The sticky error that a fault leaves behind.
[[nodiscard]] CUresult fault_result(sim::FaultKind kind);

void count_grid(const sim::GridStats& stats, bool early);

}  // namespace quantjit::simdriver
