// SPDX-License-Identifier: Apache-2.0
// What a held lease consists of.
#pragma once

#include "cache/clock.hpp"
#include "cache/counters.hpp"
#include "cache/file_system.hpp"
#include "cache/lease.hpp"
#include "cache/lease_record.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>

namespace quantjit::cache {

class Lease::State {
 public:
  struct Parts {
    FileSystem* files = nullptr;
    Clock* clock = nullptr;
    std::shared_ptr<Counters> counters;
    std::string path;
    int file = -1;  ///< open for writing; owned from here on
    FileStatus status;
    LeaseRecord record;
    std::chrono::nanoseconds interval{0};  ///< 0: no thread
  };

  explicit State(Parts parts);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  bool beat();
  /// Whether this is a copy in a forked child.
  [[nodiscard]] bool belongs_to_parent() const;

 private:
  void run();
  bool still_mine();
  void give_back();

  Parts parts_;
  pid_t creator_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  bool lost_ = false;      // guarded by mutex_
  std::thread thread_;
};

}  // namespace quantjit::cache
