// SPDX-License-Identifier: Apache-2.0
// What the cases of capture_matrix.hpp are made of.
#pragma once

#include "src/driver/graph.hpp"
#include "src/driver/stream.hpp"
#include "tests/support/capture_matrix.hpp"
#include "tests/support/device_call.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::test {

/// The kernel that a case is about: no two cases share one. Its bits are known on every device.
[[nodiscard]] const std::string& descriptor_of_case(std::size_t index);
/// Kernels that other scenarios use.
[[nodiscard]] const std::string& descriptor_of_scenario(std::size_t index);

/// Operands of a small problem on device 0.
[[nodiscard]] DeviceCall make_call(const CaptureMachine& machine, const std::string& descriptor,
                                   std::uint64_t seed);

/// A list for a prewarm that names devices.
[[nodiscard]] std::vector<PrewarmItem> items_of(const std::vector<std::string>& descriptors);

/// A service with a cache root of its own.
struct Engine {
  explicit Engine(const CaptureMachine& machine, CapturePolicy policy = CapturePolicy::kError);

  /// Puts kernels on disk, and nowhere else. Throws std::runtime_error if one does not compile.
  void store(const std::vector<std::string>& descriptors) const;

  TemporaryDirectory root;
  ServiceOptions options;
  std::optional<KernelService> service;
};

/// Collects what is not as it must be.
class Findings {
 public:
  explicit Findings(std::string name) { outcome_.name = std::move(name); }

  void require(bool holds, const std::string& what);
  void equal(std::uint64_t found, std::uint64_t expected, const std::string& what);

  void observed(const std::string& what) { outcome_.observed = what; }

  /// Whether a call's outputs are the reference's, or untouched.
  void outputs(const DeviceCall& call, bool written, const std::string& what);

  [[nodiscard]] CaptureOutcome take() { return std::move(outcome_); }

 private:
  CaptureOutcome outcome_;
};

/// Ends a capture; nothing if that fails, which is a finding.
[[nodiscard]] std::optional<driver::ExecutableGraph> end_capture(driver::GraphCapture& capture,
                                                                 Findings& findings);

/// Runs a graph on a stream of device 0 and waits for it.
void replay(const CaptureMachine& machine, const driver::ExecutableGraph& graph,
            const driver::StreamOwner& stream);

}  // namespace quantjit::test
