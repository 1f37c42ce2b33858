// SPDX-License-Identifier: Apache-2.0
// The secret that entries are sealed with where strangers may write.
#pragma once

#include "cache/file_system.hpp"

#include <cstdint>
#include <string>

namespace quantjit::cache {

/// What a key file holds.
struct MacKey {
  bool usable = false;
  bool settled = true;  ///< false: the answer came from an error that may pass
  std::string bytes;    ///< at least 16, if usable
  std::string reason;   ///< why it is not usable
};

/// Reads a key file that only `user` and root can change and others cannot read.
[[nodiscard]] MacKey read_mac_key(FileSystem& files, const std::string& path, std::uint32_t user);

}  // namespace quantjit::cache
