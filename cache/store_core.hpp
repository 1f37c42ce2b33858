// SPDX-License-Identifier: Apache-2.0
// The parts of a store, put together.
#pragma once

#include "cache/context.hpp"
#include "cache/counter_log.hpp"
#include "cache/root.hpp"
#include "cache/scan.hpp"
#include "cache/store.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <vector>

namespace quantjit::cache {

class CubinStore::Core {
 public:
  explicit Core(StoreOptions options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// All roots, after the one look at them that may end in a warning.
  const std::vector<std::unique_ptr<Root>>& roots();
  /// Index of the root that takes writes; roots().size() if there is none.
  std::size_t write_layer();
  /// The root that takes writes, or null.
  Root* write_root();
  /// The root that takes writes, if it exists already; for work that must not create it.
  Root* existing_write_root();

  struct Candidate {
    std::uint32_t rank = 0;
    std::size_t layer = 0;
    EntryKey key;
  };

  /// Entries of a request by whichever toolchain, the highest rank first.
  std::vector<Candidate> candidates(const std::string& request);

  /// Searches all layers. Counts damage and hits, but not misses.
  LookupResult find(const EntryKey& key, std::string_view key_text);
  /// Tries one layer. Sets `result` if the entry is found there or rejected; true if found.
  bool find_in_layer(std::size_t layer, const EntryKey& key, std::string_view key_text,
                     LookupResult& result);
  PublishOutcome publish(const Entry& entry);

  Context context;
  Trimmer trimmer;
  CounterLog counter_log;

 private:
  void reject(Root& root, const ReadOutcome& outcome, LookupResult& result);
  void promote(std::size_t layer, const Entry& entry);

  std::vector<std::unique_ptr<Root>> roots_;
  std::once_flag examined_;
  pid_t creator_;
};

}  // namespace quantjit::cache
