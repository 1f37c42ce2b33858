// SPDX-License-Identifier: Apache-2.0
// What compiled code says about itself, read without a GPU or any tool.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::nvrtc {

/// One entry point of a cubin or PTX text.
struct EntryPoint {
  std::string name;      ///< lowered name
  int registers = 0;     ///< per thread; 0 for PTX, which does not say
  int spill_bytes = 0;   ///< local memory per thread: stack frame with spilled registers; 0 for PTX
  int shared_bytes = 0;  ///< static shared memory per block that the kernel declares; 0 for PTX
  int parameter_bytes = 0;  ///< 0 for PTX
  bool dependency_wait =
      false;  ///< whether it waits for the grid in front of it (griddepcontrol.wait)
};

struct CodeProperties {
  int sm = 0;  ///< number of the target, e.g. 90 or 103
  std::vector<EntryPoint> entries;

  /// The entry of that name, or null.
  [[nodiscard]] const EntryPoint* find(std::string_view name) const;
};

/// Reads a cubin (ELF64 little-endian). Never reads outside `cubin`.
/// Throws: InvalidArgument if it is damaged or no cubin.
[[nodiscard]] CodeProperties inspect_cubin(std::span<const std::byte> cubin);

/// Reads PTX text (a final NUL is allowed): the target, the entry points and their dependency
/// waits; what only the assembler decides stays 0. Throws: InvalidArgument if it has no .target
/// line.
[[nodiscard]] CodeProperties inspect_ptx(std::string_view ptx);

/// Reads either, told apart by the ELF magic. Throws as those.
[[nodiscard]] CodeProperties inspect_code(std::span<const std::byte> code);

}  // namespace quantjit::nvrtc
