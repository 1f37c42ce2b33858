// SPDX-License-Identifier: Apache-2.0
// What every part of a store works with.
#pragma once

#include "cache/clock.hpp"
#include "cache/counters.hpp"
#include "cache/file_system.hpp"
#include "cache/options.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace quantjit::cache {

/// Says each cause once. Thread safe.
class Warnings {
 public:
  explicit Warnings(std::function<void(std::string_view)> sink);
  /// Writes `message` unless `cause` was written before.
  void warn(const std::string& cause, const std::string& message);

 private:
  // A directory full of damage must not fill memory or the log.
  static constexpr std::size_t kMaxCauses = 1000;

  std::mutex mutex_;
  std::set<std::string> causes_;
  std::function<void(std::string_view)> sink_;
};

/// Shared by all parts of one store.
struct Context {
  explicit Context(StoreOptions store_options);

  StoreOptions options;
  FileSystem& files;
  Clock& clock;
  std::shared_ptr<Counters> counters;  ///< shared with leases, which may outlive the store
  Warnings warnings;
  std::uint32_t user;  ///< effective user id

  /// Counts an answer of the operating system and warns once per root and answer.
  void report_error(const std::string& root, IoError error, std::string_view doing);
};

/// 32 hexadecimal digits that no other call in any process returns.
[[nodiscard]] std::string unique_token();
/// "ENOSPC (No space left on device)".
[[nodiscard]] std::string describe_error(IoError error);

}  // namespace quantjit::cache
