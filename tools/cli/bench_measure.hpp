// SPDX-License-Identifier: Apache-2.0
// Timing on a device: CUDA graphs of launches over rotating buffers, replayed between events.
#pragma once

#include "tools/cli/bench_cases.hpp"
#include "tools/cli/device_choice.hpp"

#include <quantjit/service.hpp>

#include <cstdint>
#include <span>

namespace quantjit::cli {

/// Microseconds a launch over the replays of one graph.
struct Timing {
  double us_median = 0;
  double us_min = 0;
};

/// Costs that no kernel of this machine gets below.
struct Floors {
  double empty_us = 0;       ///< an empty kernel, back to back
  double empty_pdl_us = 0;   ///< an empty kernel with programmatic launch, back to back
  double copy_gb_per_s = 0;  ///< device-to-device copy of 2 GiB, bytes read plus bytes written
};

/// Measures the floors. Throws: DriverError.
[[nodiscard]] Floors measure_floors(const OpenDevice& device);

/// The empty kernel with programmatic launch alone, to see at the end of a run that the machine is
/// still what it was. Throws: DriverError.
[[nodiscard]] double measure_empty_pdl(const OpenDevice& device);

/// Measures one case: K = clamp(ceil(180 MiB / bytes), 1, 64) independent buffer sets (fewer where
/// they would pass 24 GiB) of random normal data, one graph of max(K, 64) launches (16 where bytes
/// reach 256 MiB), at least 3 warm-up and 20 timed replays. Throws: the service's errors.
[[nodiscard]] Timing measure_case(KernelService& service, const OpenDevice& device,
                                  const BenchCase& bench);

}  // namespace quantjit::cli
