// SPDX-License-Identifier: Apache-2.0
// Counters over all processes of a root, best effort. Each flush leaves a small file with what was
// counted since the last one; now and then a process adds such files up into one. No file is ever
// written by two processes, so nothing needs a lock and no count is lost to a race.
#pragma once

#include "cache/context.hpp"
#include "cache/root.hpp"

#include <mutex>

namespace quantjit::cache {

class CounterLog {
 public:
  explicit CounterLog(Context& context) : context_(context) {}

  /// Writes what was counted since the last call. Failures are silent: counters are a courtesy.
  void flush(Root& root);
  /// Sum of all files of `root` and of what this object has not flushed yet.
  [[nodiscard]] CounterValues total(const Root& root);

 private:
  void merge(Root& root);
  bool write_values(Root& root, const CounterValues& values);

  Context& context_;
  std::mutex mutex_;
  CounterValues flushed_{};  // guarded by mutex_
};

/// Text of a counter file: a title, then `<number> <value>` lines, then `end`.
[[nodiscard]] std::string format_counters(const CounterValues& values);
/// Adds a counter file's values to `sum`; false, and no change, if the text is not a whole one.
bool add_counters(std::string_view text, CounterValues& sum);

}  // namespace quantjit::cache
