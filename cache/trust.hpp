// SPDX-License-Identifier: Apache-2.0
// Whether a place on disk can be changed by strangers.
#pragma once

#include "cache/file_system.hpp"

#include <cstdint>
#include <string>

namespace quantjit::cache {

/// What a walk along a path found.
struct TrustVerdict {
  bool trusted = false;
  bool settled = true;   ///< false: the answer came from an error that may pass
  bool exists = false;   ///< else some last components are missing
  std::string reason;    ///< why it is not trusted
  std::string nearest;   ///< the deepest directory that exists, links resolved
  std::string resolved;  ///< the last component, links resolved, if it exists
  FileStatus status;     ///< of the last component, if it exists
};

/// A directory is private if it and all directories on the way to it are owned by `user` or root,
/// it is not writable by group or others, none of its ancestors is unless it has the sticky bit,
/// and it is not a symbolic link itself. Links on the way are followed if `user` or root own them,
/// and what they lead through is checked too. A missing tail is trusted: it will be made private.
[[nodiscard]] TrustVerdict check_private_directory(FileSystem& files, const std::string& path,
                                                   std::uint32_t user);
/// A shared root may be owned and written by anyone; it must only be a directory and no link.
[[nodiscard]] TrustVerdict check_shared_directory(FileSystem& files, const std::string& path,
                                                  std::uint32_t user);
/// A secret must be a regular file of `user` or root, on a private way, that others cannot read
/// and the group cannot write. Links to it are followed.
[[nodiscard]] TrustVerdict check_secret_file(FileSystem& files, const std::string& path,
                                             std::uint32_t user);

/// Whether an existing item may be relied on in a private directory.
[[nodiscard]] bool is_private(const FileStatus& status, std::uint32_t user);

}  // namespace quantjit::cache
