// SPDX-License-Identifier: Apache-2.0
// One call of an operation with its operands on a device, and what the CPU reference makes of it.
#pragma once

#include "src/driver/device_memory.hpp"
#include "src/driver/driver_api.hpp"
#include "src/io/problem.hpp"

#include <quantjit/kernel.hpp>
#include <quantjit/ops.hpp>
#include <quantjit/service.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace quantjit::test {

/// A small problem of a descriptor: a few rows and three groups.
[[nodiscard]] io::Problem small_problem(const std::string& descriptor, std::uint64_t seed,
                                        std::int64_t tokens = 3, std::int64_t hidden = 384);

/// Operands of a problem on one device, outputs poisoned, and the bytes that must come out. Leaves
/// the caller's current context alone. Move-only. Thread safety: const members from any thread, but
/// launches write the same outputs.
class DeviceCall {
 public:
  /// REQUIRES: a problem whose bits the reference knows on this device.
  DeviceCall(const driver::DriverApi& api, int ordinal, io::Problem problem);

  /// Launches, as a user would, and returns before the kernel ends.
  void launch(const Kernel& kernel, Stream stream) const;
  /// The same with the kernel looked up for the device of the input.
  void launch(KernelService& service, Stream stream) const;

  /// Puts the poison back.
  void poison() const;
  /// "" if both outputs have the reference's bytes, else the first that differs.
  [[nodiscard]] std::string difference() const;
  /// True if both outputs are as before any launch.
  [[nodiscard]] bool is_poisoned() const;

  [[nodiscard]] Descriptor descriptor() const { return {problem_.traits, MathMode::kAuto}; }

  [[nodiscard]] int ordinal() const { return ordinal_; }

  [[nodiscard]] const TensorView& input() const { return input_view_; }

  /// Operands of per_token_group_quant. REQUIRES: that operation, schedule=flat.
  [[nodiscard]] GroupQuantArgs group_args() const;

 private:
  template <typename Via>
  void launch_via(Via&& via, Stream stream) const;
  [[nodiscard]] static std::vector<std::byte> download(const driver::DeviceBuffer& buffer);

  int ordinal_;
  io::Problem problem_;
  std::vector<std::byte> poison_q_;
  std::vector<std::byte> poison_s_;
  std::vector<std::byte> expected_q_;
  std::vector<std::byte> expected_s_;
  driver::DeviceBuffer input_;
  driver::DeviceBuffer q_;
  driver::DeviceBuffer s_;
  TensorView input_view_;
  TensorView q_view_;
  TensorView s_view_;
};

}  // namespace quantjit::test
