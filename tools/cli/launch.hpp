// SPDX-License-Identifier: Apache-2.0
// One call of an operation on a device, from host buffers to host buffers.
#pragma once

#include "src/io/problem.hpp"
#include "tools/cli/device_choice.hpp"

#include <quantjit/kernel.hpp>
#include <quantjit/service.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quantjit::cli {

/// Whole output buffers, poison included.
struct Outputs {
  std::vector<std::byte> q;
  std::vector<std::byte> s;
};

/// Copies all buffers to the device, launches, waits and copies the outputs back; `buffers` stay as
/// they are. Thread safety: any thread; each call works on a stream of its own. Throws:
/// InvalidArgument, DriverError, also for a fault of the kernel.
[[nodiscard]] Outputs launch_on_device(const Kernel& kernel, const OpenDevice& device,
                                       const io::ProblemBuffers& buffers,
                                       std::int64_t expected_m = 0);

/// Lower-case hexadecimal SHA-256 of a buffer.
[[nodiscard]] std::string sha256_text(const std::vector<std::byte>& bytes);

}  // namespace quantjit::cli
