// SPDX-License-Identifier: Apache-2.0
// Recorded cases on one device while another one is current.
#pragma once

#include "src/driver/driver_api.hpp"

#include <quantjit/service.hpp>

#include <string>
#include <vector>

namespace quantjit::test {

struct GoldenRun {
  const driver::DriverApi& api;
  KernelService& service;
  int device = 1;         ///< where the cases run
  int current = 0;        ///< whose context is current on the launching threads
  bool is_short = false;  ///< small cases only, one at a time
};

/// Runs the cases of a file, prints how many passed, and returns the reasons of those that failed.
/// Throws: InvalidArgument for a file that cannot be read or that has no case.
[[nodiscard]] std::vector<std::string> run_golden(const GoldenRun& run, const std::string& file);

}  // namespace quantjit::test
