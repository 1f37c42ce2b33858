// SPDX-License-Identifier: Apache-2.0
// One server of a remote tier, as the tier sees it: names in, bytes out. A backend knows transport
// and nothing of entries; whoever reads verifies what it gets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quantjit::remote {

/// How a call to a server ended.
enum class Outcome : std::uint8_t {
  kFound,    ///< get, head: it is there. put, remove: done.
  kAbsent,   ///< the server answered that there is no such thing
  kKept,     ///< put with Overwrite::kKeep: something is there and was left as it is
  kRefused,  ///< the server answered and does not serve this client or this call (rights, space)
  kFailed,   ///< no answer in time, no connection, or an answer that makes no sense
};

struct Reply {
  Outcome outcome = Outcome::kFailed;
  std::string body;      ///< of get, if found
  std::string error;     ///< one phrase if refused or failed; holds no secret
  bool busy = false;     ///< refused since the server has too much to do now: another try may help
  bool of_this = false;  ///< refused for what was asked: the server may serve something else

  [[nodiscard]] bool found() const { return outcome == Outcome::kFound; }
};

/// What put() does where the name exists already.
enum class Overwrite : std::uint8_t { kReplace, kKeep };

/// What a call may cost.
struct Limits {
  /// From the call to its return, connecting included, whatever the server does.
  std::chrono::milliseconds timeout{1000};
  /// Longest body that is read; a longer one is a failure, and is not read to its end.
  std::size_t max_bytes = std::size_t{32} << 20;
};

/// A name as a backend stores it. Both parts consist of [0-9a-z-] only, so they fit into URLs, file
/// names and Redis keys as they are.
struct Name {
  std::string request;  ///< 64 hexadecimal digits; what belongs together (one Redis hash slot)
  std::string part;     ///< of the request, e.g. a toolchain's 16 digits, or "latest"
};

/// The right to compile one request, among all machines that share a server. Saves work, decides
/// nothing.
enum class LeaseReply : std::uint8_t {
  kAcquired,
  kHeld,     ///< by another one
  kRefused,  ///< the server answered and gives none (rights, space)
  kFailed,   ///< no answer in time, or one that makes no sense
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // All members may be called from any thread, throw nothing but std::bad_alloc, and keep to the
  // limits.

  virtual Reply get(const Name& name, const Limits& limits) = 0;
  virtual Reply put(const Name& name, std::string_view bytes, Overwrite overwrite,
                    const Limits& limits) = 0;
  virtual Reply head(const Name& name, const Limits& limits) = 0;
  virtual Reply remove(const Name& name, const Limits& limits) = 0;

  /// Whether the three calls below do anything.
  [[nodiscard]] virtual bool has_leases() const { return false; }

  /// Takes the lease `name` for `duration` if nobody holds it. `token` receives the fencing token,
  /// a number that grows with each lease of this server; as decimal digits.
  virtual LeaseReply acquire(const Name& /*name*/, std::chrono::milliseconds /*duration*/,
                             std::string& /*token*/, const Limits& /*limits*/) {
    return LeaseReply::kFailed;
  }

  /// Prolongs a lease that is still held under this token; kHeld: somebody else has it, or nobody.
  virtual LeaseReply renew(const Name& /*name*/, std::chrono::milliseconds /*duration*/,
                           const std::string& /*token*/, const Limits& /*limits*/) {
    return LeaseReply::kFailed;
  }

  /// Gives a lease back if it is still held under this token.
  virtual void release(const Name& /*name*/, const std::string& /*token*/,
                       const Limits& /*limits*/) {}

  /// Whether compile() does anything.
  [[nodiscard]] virtual bool compiles() const { return false; }

  /// Lets a compile service make an entry. `order` is the JSON body of POST /v1/compile.
  virtual Reply compile(std::string_view /*order*/, const Limits& /*limits*/) {
    return {Outcome::kRefused, {}, "this server does not compile"};
  }

  /// Scheme and host for messages, without user, password and token.
  [[nodiscard]] virtual const std::string& label() const = 0;
};

}  // namespace quantjit::remote
