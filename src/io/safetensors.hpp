// SPDX-License-Identifier: Apache-2.0
// .safetensors files: an 8-byte little-endian header length, a JSON header, the tensors' bytes.
#pragma once

#include "src/io/host_file.hpp"
#include "src/io/host_tensor.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::io {

/// One tensor of a file. Offsets are bytes from the start of the file.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as the file spells it, e.g. "BF16"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// An opened file whose header was checked as a whole: JSON of the right form, no doubled name, at
/// most 100 MiB; every size equal to its shape's, in range and without overlap or gap.
/// Tensors are read one at a time. Reading is thread safe.
class SafetensorsFile {
 public:
  /// Throws: InvalidArgument naming the file and what is wrong with it.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// In the order of their bytes in the file.
  [[nodiscard]] const std::vector<SafetensorsEntry>& entries() const { return entries_; }

  /// The entry of a name; nothing if the file has none.
  [[nodiscard]] const SafetensorsEntry* find(std::string_view name) const;

  /// Reads one tensor. Types: F32, F16, BF16, F8_E4M3, I8, I32, I64; U8 and F8_E8M0 as e8m0.
  /// Throws: InvalidArgument for an unknown name (with some of the known ones) or another type.
  [[nodiscard]] HostTensor read(std::string_view name) const;

 private:
  void check_layout(std::uint64_t data_begin);

  InputFile file_;
  std::vector<SafetensorsEntry> entries_;
};

/// A tensor to write, with its name.
struct NamedTensor {
  std::string name;
  HostTensorView tensor;
};

/// Writes tensors in the given order; e8m0 as U8. Throws: InvalidArgument for a doubled or empty
/// name, "__metadata__", a name that is not UTF-8, or data that differ from the shape; Error if the
/// file cannot be written.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace quantjit::io
