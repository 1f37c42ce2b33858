// SPDX-License-Identifier: Apache-2.0
// A password or token in a file, which others may replace at any time.
#pragma once

#include "src/remote/deadline.hpp"

#include <cstdint>
#include <mutex>
#include <string>

namespace quantjit::remote {

/// Thread safe, also in forked children.
class SecretFile {
 public:
  /// `text` is the secret itself, if there is no `path`.
  SecretFile(std::string path, std::string text);

  struct Secret {
    std::string text;
    std::string error;  ///< one phrase if it cannot be read
  };

  /// The secret without line ends behind it. The file is read again if it has changed.
  [[nodiscard]] Secret get();
  /// The same, but the file is read whatever its times say: for a secret that was not accepted.
  [[nodiscard]] Secret read_again();

 private:
  struct Version {
    std::int64_t seconds = -1;
    std::int64_t nanoseconds = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const Version&, const Version&) = default;
  };

  enum class Freshness : std::uint8_t { kIfChanged, kAlways };

  [[nodiscard]] Secret get(Freshness freshness);
  /// Reads the file; `version` receives which one. Needs no lock.
  [[nodiscard]] Secret read(Version& version) const;
  [[nodiscard]] Version look() const;

  const std::string path_;
  const HomeProcess home_;
  std::mutex mutex_;
  Secret secret_;    // guarded by mutex_ if there is a path, else constant
  Version version_;  // guarded by mutex_
};

}  // namespace quantjit::remote
