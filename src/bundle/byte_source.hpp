// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a bundle come from.
#pragma once

#include "cache/file_system.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace quantjit::bundle {

/// Bytes of a known size that can be read at any place. Thread safe.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource();

  /// For messages, e.g. the path of the file.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// `count` bytes from `offset`, or the errno of the failure; EIO if there are fewer.
  [[nodiscard]] virtual cache::IoResult<std::string> read(std::uint64_t offset,
                                                          std::uint64_t count) const = 0;
};

/// A file that is kept open; what its path leads to later does not matter.
struct OpenedFile {
  std::unique_ptr<ByteSource> source;
  cache::FileStatus status;
};

/// Opens a regular file. Throws: Error with the reason if it cannot be opened, or is none.
[[nodiscard]] OpenedFile open_file(cache::FileSystem& files, const std::string& path);
/// Bytes in memory.
[[nodiscard]] std::unique_ptr<ByteSource> from_memory(std::string name, std::string bytes);

}  // namespace quantjit::bundle
