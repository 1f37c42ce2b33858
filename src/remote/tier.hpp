// SPDX-License-Identifier: Apache-2.0
// One remote tier: servers that share the requests among them. Believes nothing: what a server
// sends is an entry of the wanted key, verified in full, or it is nothing.
#pragma once

#include "cache/clock.hpp"
#include "cache/entry.hpp"
#include "cache/mac_key.hpp"
#include "src/remote/backend.hpp"
#include "src/remote/breaker.hpp"

#include <quantjit/remote.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::remote {

struct TierOptions {
  std::chrono::milliseconds timeout{1000};           ///< of each call
  std::chrono::milliseconds compile_timeout{60000};  ///< of a compile service's answer
  /// Of a wait for another machine's compile; nothing: as all tiers.
  std::optional<std::chrono::milliseconds> lease_wait = {};
  std::size_t max_entry = std::size_t{32} << 20;  ///< bytes of the longest entry
  bool readonly = false;
  BreakerTimings breaker = {};
  /// Asked at the first use, and again as long as the key is not usable. Empty: no key.
  std::function<cache::MacKey()> mac_key = {};
};

/// What is looked for.
struct Wanted {
  std::string_view request;    ///< 64 hexadecimal digits
  std::string_view toolchain;  ///< 16 hexadecimal digits; empty: any
  std::string_view key_text;
};

enum class LookStatus : std::uint8_t {
  kFound,
  kAbsent,
  kRejected,  ///< there was an answer, and it was no such entry
  kFailed,    ///< refused, no answer, or it makes no sense
  kBenched,   ///< not asked: the server failed a short while ago
};

struct Look {
  LookStatus status = LookStatus::kAbsent;
  std::optional<cache::Entry> entry;  ///< if and only if found
  bool busy = false;     ///< failed since the server has too much to do: worth another try
  bool of_this = false;  ///< failed, and something else may not

  [[nodiscard]] bool found() const { return status == LookStatus::kFound; }
};

enum class Counting : std::uint8_t {
  kAll,
  kNoMiss,  ///< one of many looks for the same entry: that it is not there yet is not counted
};

enum class TierCounter : std::uint8_t {
  kHits,
  kMisses,
  kFailures,
  kRejected,
  kPuts,
  kPutFailures,
  kDropped,
  kSkipped,
  kWaits,
  kServiceCompiles,
  kBytesRead,
  kBytesWritten,
  kCount,
};

/// Thread safe. Throws nothing but std::bad_alloc.
class RemoteTier {
 public:
  /// @param servers at least one
  /// @param clock outlives the tier
  RemoteTier(TierOptions options, std::vector<std::unique_ptr<Backend>> servers,
             cache::Clock& clock);

  [[nodiscard]] const std::string& label() const { return label_; }

  /// Whether entries are put here.
  [[nodiscard]] bool writable() const { return !options_.readonly && !compiles_; }

  [[nodiscard]] bool compiles() const { return compiles_; }

  [[nodiscard]] std::chrono::milliseconds compile_timeout() const {
    return options_.compile_timeout;
  }

  [[nodiscard]] std::optional<std::chrono::milliseconds> lease_wait() const {
    return options_.lease_wait;
  }

  /// Whether acquire() can work: who holds a lease must be able to show the result.
  [[nodiscard]] bool has_leases() const { return leases_ && writable(); }

  /// The entry of exactly this toolchain, or the newest one. One call, two for the newest.
  Look get(const Wanted& wanted, Counting counting = Counting::kAll);
  /// Lets the server compile. `order` is the JSON body; the entry must be the wanted one.
  Look compile(const Wanted& wanted, std::string_view order);
  /// Stores an entry, and names it the newest unless there is a newer one. True if it was stored.
  bool put(const cache::Entry& entry, std::chrono::steady_clock::time_point deadline =
                                          std::chrono::steady_clock::time_point::max());

  LeaseReply acquire(const Name& name, std::chrono::milliseconds duration, std::string& token);
  LeaseReply renew(const Name& name, std::chrono::milliseconds duration, const std::string& token);
  void release(const Name& name, const std::string& token);

  /// For a caller that found in an entry what cannot be.
  void reject(std::string_view what);
  void count(TierCounter counter, std::uint64_t by = 1);

  /// One call to each server: empty if it answered, else its label and what went wrong.
  [[nodiscard]] std::vector<std::string> probe();
  [[nodiscard]] RemoteTierStats stats();

 private:
  struct Server {
    Server(std::unique_ptr<Backend> its_backend, cache::Clock& clock,
           const BreakerTimings& timings);

    std::unique_ptr<Backend> backend;
    Breaker for_calls;     // all of them
    Breaker for_puts;      // and those that it refuses to this client only
    Breaker for_compiles;  // and those that it refuses
  };

  Server& server_of(std::string_view request);
  /// Whether a server that refuses a call is left alone as one that fails.
  enum class OnRefusal : std::uint8_t { kLeaveAlone, kGoOn };

  /// Makes a call if the server is not left alone; nothing if it is.
  template <typename Call>
  std::optional<Reply> ask(Server& server, OnRefusal on_refusal, Call call);
  Look look_at(std::optional<Reply>&& reply, const Wanted& wanted, Counting counting);
  Look get_part(Server& server, const Wanted& wanted, std::string_view part, Counting counting);
  Look get_newest(Server& server, const Wanted& wanted, Counting counting);
  bool put_bytes(Server& server, const Name& name, std::string_view bytes, const Limits& limits);
  void name_newest(Server& server, const cache::Entry& entry, const Limits& limits);

  [[nodiscard]] Limits limits() const { return {options_.timeout, options_.max_entry}; }

  cache::MacKey mac_key();
  void note_failure(const Server& server, const Reply& reply);

  const TierOptions options_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::string> server_labels_;
  std::string label_;
  bool leases_ = true;
  bool compiles_ = true;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(TierCounter::kCount)> counters_{};
  std::atomic<bool> warned_of_rejection_{false};
  std::mutex mutex_;  // guards what follows
  std::string last_error_;
  std::optional<cache::MacKey> mac_key_;
};

}  // namespace quantjit::remote
