// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::serve {

/// The tokens that clients may show. The file is read again when it changes, so that tokens can be
/// replaced while the service runs: write both, then remove the old one. Thread safe.
class TokenFile {
 public:
  /// Without a file every client is welcome. Throws: InvalidArgument if the file cannot be read or
  /// holds no token.
  explicit TokenFile(std::string path);

  [[nodiscard]] bool asks() const { return !path_.empty(); }

  /// Whether an `Authorization` header holds one of the tokens. Takes the same time for each wrong
  /// token of a length.
  [[nodiscard]] bool welcomes(std::string_view authorization);

 private:
  using Digest = std::vector<std::uint8_t>;

  /// What tells a changed file.
  struct Stamp {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t size = -1;
    std::uint64_t inode = 0;

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  [[nodiscard]] Stamp stamp() const;
  [[nodiscard]] std::vector<Digest> read() const;
  [[nodiscard]] Digest digest_of(std::string_view token) const;
  void refresh();

  const std::string path_;
  std::string salt_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point looked_;
  Stamp stamp_;
  std::vector<Digest> tokens_;
};

}  // namespace quantjit::serve
