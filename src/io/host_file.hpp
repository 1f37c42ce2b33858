// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace quantjit::io {

/// A regular file opened for reading at any place. Move-only owner.
class InputFile {
 public:
  /// Throws: InvalidArgument naming the file and why it cannot be opened.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Size in bytes when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Name for messages: the quoted path.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Fills `target` from `offset` (bytes). Throws: InvalidArgument if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> target) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string name_;
};

/// Writes a new file, or replaces one, from pieces that are laid one behind the other. A reader
/// sees the old file or the whole new one. Throws: Error naming the file and the reason.
void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> pieces);

}  // namespace quantjit::io
