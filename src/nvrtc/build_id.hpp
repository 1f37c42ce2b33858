// SPDX-License-Identifier: Apache-2.0
// What identifies a compiler library: its GNU build-id, read from the file without loading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace quantjit::nvrtc {

/// Where an identity comes from.
enum class IdentitySource : std::uint8_t { kBuildId, kContentHash };

struct LibraryIdentity {
  std::string hex;  ///< lower case; the build-id, or the SHA-256 of the file where it has none of 8
                    ///< bytes or more
  IdentitySource source = IdentitySource::kBuildId;

  /// The first 16 hexadecimal digits, the form that entry names carry.
  [[nodiscard]] std::string short_form() const { return hex.substr(0, 16); }
};

/// The GNU build-id in an ELF64 little-endian image as lower-case hex; nothing if there is none or
/// if the image is damaged, cut off or no ELF file at all. Never reads outside `image`.
[[nodiscard]] std::optional<std::string> gnu_build_id(std::span<const std::byte> image);

/// Identities of library files, each computed once as long as path, size, inode and modification
/// time stay the same. Thread safety: all members may be called from any thread.
class IdentityCache {
 public:
  /// Identity of a file; nothing if it cannot be read. Loads nothing into the process as code.
  [[nodiscard]] std::optional<LibraryIdentity> identify(const std::filesystem::path& path);

 private:
  struct Stamp {
    std::uint64_t size = 0;
    std::uint64_t inode = 0;
    std::uint64_t device = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  struct Known {
    Stamp stamp;
    LibraryIdentity identity;
  };

  std::mutex mutex_;  // guards known_; held while a file is hashed, so that it is hashed once
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace quantjit::nvrtc
