// SPDX-License-Identifier: Apache-2.0
// The on-disk store of compiled kernels: layered roots of verified entries. It sees bytes, never
// CUDA. Layout, formats and protocols are specified in cache/README.md.
//
//   CubinStore store(options);
//   if (auto result = store.lookup(key, key_text); result.found()) { use(result.entry->code); }
//   auto turn = store.wait_for_entry_or_lease(key, key_text);
//   if (turn.found()) { use(turn.entry->code); }
//   else { Entry entry = compile(); use(entry.code); store.publish(entry); }  // turn.lease ends
//   here
#pragma once

#include "cache/counters.hpp"
#include "cache/entry.hpp"
#include "cache/lease.hpp"
#include "cache/options.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::cache {

enum class LookupStatus : std::uint8_t {
  kFound,
  kAbsent,
  kRejected,  ///< there was an entry, and it was damaged, foreign or could not be read
};

struct LookupResult {
  LookupStatus status = LookupStatus::kAbsent;
  std::optional<Entry> entry;  ///< set if and only if found; these bytes are the verified ones
  std::string path;            ///< of the entry that was found or (the last that was) rejected
  std::string reason;          ///< why it was rejected

  [[nodiscard]] bool found() const { return status == LookupStatus::kFound; }
};

enum class PublishStatus : std::uint8_t {
  kPublished,
  kFailed,          ///< the operating system refused; `step` and `error` say what
  kNoWritableRoot,  ///< no root takes writes: the caller's copy in memory is the only one
};

struct PublishOutcome {
  PublishStatus status = PublishStatus::kNoWritableRoot;
  std::string path;  ///< of the entry, if published
  std::string step;  ///< e.g. "rename"
  int error = 0;     ///< errno
};

enum class TurnStatus : std::uint8_t {
  kFound,    ///< another process has published the entry
  kLease,    ///< this caller shall compile; others wait for it
  kCompile,  ///< compile without a lease: none can be had, or the wait reached its limit
};

/// What a caller that missed shall do.
struct Turn {
  TurnStatus status = TurnStatus::kCompile;
  std::optional<Entry> entry;
  std::string path;  ///< of the entry, if found
  Lease lease;
  std::string reason;  ///< for kCompile

  [[nodiscard]] bool found() const { return status == TurnStatus::kFound; }
};

enum class LeaseStatus : std::uint8_t { kAcquired, kHeld, kUnavailable };

struct LeaseAttempt {
  LeaseStatus status = LeaseStatus::kUnavailable;
  Lease lease;         ///< if acquired
  LeaseHolder holder;  ///< if held
  int error = 0;       ///< errno, if unavailable
};

struct ListedEntry {
  EntryKey key;
  std::string path;
  std::size_t layer = 0;  ///< index of its root
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds last_used{0};  ///< since 1970
  bool pinned = false;
};

/// An entry's head as it stands on disk, not verified: for finding what is near a missing key.
struct ListedHead {
  EntryHead head;
  std::string path;
};

struct RootStatus {
  std::string path;
  bool exists = false;
  bool writable = false;
  bool trusted = false;
  bool shared = false;
  std::string reason;  ///< why it is not trusted or not writable; empty if it is both
};

struct StoreStats {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<RootStatus> roots;
  CounterValues counters{};     ///< of this store object
  CounterValues accumulated{};  ///< of all processes of the written root, this one included
};

struct BadEntry {
  std::string path;
  std::string reason;
};

struct VerifyReport {
  std::uint64_t checked = 0;
  std::vector<BadEntry> bad;
};

enum class VerifyAction : std::uint8_t { kReport, kQuarantine };
enum class Execution : std::uint8_t { kReal, kDryRun };

struct RemovalReport {
  std::uint64_t entries = 0;  ///< removed, or to be removed in a dry run
  std::uint64_t bytes = 0;
  std::uint64_t kept_bytes = 0;  ///< what the root holds afterwards
  std::vector<std::string> paths;
};

/// The store. All members are thread safe, and any number of stores in any number of processes may
/// share roots. No member throws for anything the environment does (full disks, missing
/// permissions, damaged files, network file systems): such things end in the result, a counter and
/// one warning a cause.
class CubinStore {
 public:
  /// Touches no file; roots are examined at first use.
  explicit CubinStore(StoreOptions options);
  CubinStore(const CubinStore&) = delete;
  CubinStore& operator=(const CubinStore&) = delete;
  /// Writes the counters out and trims the written root if this object may have overfilled it.
  ~CubinStore();

  /// Entry of exactly this key, from the first root that has a good one. Bad ones are moved aside.
  /// @param key_text must equal the entry's, else it is rejected
  /// REQUIRES: key.valid().
  [[nodiscard]] LookupResult lookup(const EntryKey& key, std::string_view key_text);
  /// Entry of a request by whichever toolchain has the highest rank and is good.
  /// @param request 64 lower-case hexadecimal digits
  [[nodiscard]] LookupResult lookup_any_toolchain(const std::string& request,
                                                  std::string_view key_text);
  /// Keys of a request's entries in all trusted roots, the highest rank first; nothing is verified.
  [[nodiscard]] std::vector<EntryKey> keys_of(const std::string& request);
  /// Entry of a key for display: nothing is counted, moved or promoted, no key text is compared.
  [[nodiscard]] LookupResult peek(const EntryKey& key);

  /// Writes an entry to the first root that takes it, replacing one of the same key.
  /// REQUIRES: serializable(entry).
  PublishOutcome publish(const Entry& entry);

  /// One try to get the lease of a key, taking over from a holder that is dead or silent as far as
  /// this one look can tell.
  [[nodiscard]] LeaseAttempt acquire_lease(const EntryKey& key);
  /// Gives back the leases of processes of this machine that have ended, so that nobody has to
  /// find out. Returns how many.
  std::size_t release_dead_leases();
  /// Waits until the entry is there or this caller holds the lease, at most `lease.limit`.
  /// Looks the entry up again after the lease is gained, so a caller that got kLease is the one.
  [[nodiscard]] Turn wait_for_entry_or_lease(const EntryKey& key, std::string_view key_text);

  /// All entries of all trusted roots, by file name; nothing is opened.
  [[nodiscard]] std::vector<ListedEntry> list();
  /// Heads of all entries. Reads only the beginning of each file.
  [[nodiscard]] std::vector<ListedHead> list_heads();
  [[nodiscard]] StoreStats stats();
  /// Reads and verifies every entry of every trusted root.
  VerifyReport verify(VerifyAction action = VerifyAction::kReport);
  /// Removes least recently used entries of the written root that are not pinned, until it holds at
  /// most `target_bytes` (default: the low-water mark, if it is above the high-water mark).
  RemovalReport evict(std::optional<std::uint64_t> target_bytes, Execution execution);
  /// Removes all entries of the written root, pinned ones too, and what was moved aside.
  RemovalReport clear(Execution execution);
  /// Removes the entries of one key from the written root. False if there was none.
  bool remove(const EntryKey& key);

  /// Keeps the entry of a key, now or later in the written root, from eviction; over all processes,
  /// until unpin(). False if the root cannot be written.
  bool pin(const EntryKey& key);
  bool unpin(const EntryKey& key);
  [[nodiscard]] std::vector<EntryKey> pins();

  /// Adds what was counted since the last call to the written root's counters.
  void flush_counters();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace quantjit::cache
