// SPDX-License-Identifier: Apache-2.0
// What a remote tier is made from, and the text form that settings give it in:
//
//   <remote> ::= [<tier> (" " <tier>)*]
//   <tier>   ::= <scheme> "://" [<user> [":" <password>] "@"] <host> [":" <port>]
//                ("," <host> [":" <port>])* ["/" <path>] ["?" <option> "=" <value> ("&" ...)*]
//
// Several hosts are the shards of one tier. User, password, path and values may be percent-encoded.
// No message ever repeats user, password or the value of an option that may hold a secret.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::remote {

enum class Scheme : std::uint8_t {
  kFile,        ///< a directory, e.g. of a shared mount
  kHttp,        ///< GET, PUT, HEAD and DELETE of any HTTP server
  kHttps,       ///< the same over TLS
  kRedis,       ///< a Redis server
  kRediss,      ///< the same over TLS
  kService,     ///< a compile service of quantjit ("qj+http")
  kServiceTls,  ///< the same over TLS ("qj+https")
};

/// "redis", "qj+http", ...
[[nodiscard]] std::string_view to_string(Scheme scheme);

enum class Access : std::uint8_t { kReadWrite, kReadOnly };

/// Where an HTTP server keeps entries below the path.
enum class Layout : std::uint8_t {
  kPlain,  ///< `<2 digits of the request>/<request>-<part>`
  kBazel,  ///< `ac/<SHA-256 of "<request>-<part>">`, as caches for Bazel want it
};

struct Host {
  std::string name;  ///< name or address; an IPv6 address without brackets
  std::uint16_t port = 0;

  /// As URLs write it: with brackets around an IPv6 address.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Host&, const Host&) = default;
};

/// One tier. Options that a scheme does not have keep their defaults.
struct TierSpec {
  Scheme scheme = Scheme::kFile;
  std::vector<Host> hosts;  ///< at least one; none for kFile
  /// kFile: an absolute path. HTTP: begins with a slash or is empty. Neither ends with one.
  std::string path;
  unsigned database = 0;  ///< Redis
  std::string user;
  std::string password;

  std::chrono::milliseconds timeout{1000};         ///< of a whole call
  std::chrono::milliseconds connect_timeout{250};  ///< of its first part, if a connection is made
  std::chrono::milliseconds compile_timeout{60000};
  /// Redis: how long another machine's compile is waited for at most, before compiling anyway.
  std::chrono::milliseconds lease_wait{30000};
  Access access = Access::kReadWrite;
  std::size_t max_entry = std::size_t{32} << 20;  ///< longest entry in bytes, read or written
  std::chrono::seconds ttl{0};      ///< Redis: entries expire so long after a put; 0: never
  std::string prefix = "quantjit";  ///< of Redis keys
  Layout layout = Layout::kPlain;
  std::string sigv4_region;   ///< not empty: requests are signed for S3 with user and password
  std::string token_file;     ///< holds a bearer token
  std::string password_file;  ///< holds the password
  std::string ca_file;        ///< certificates that TLS servers are checked with
  std::string proxy;          ///< URL; may hold a password
  std::string mac_key_file;   ///< entries are sealed with a MAC under this key

  /// Number of servers: what make_backend() takes as `index` is below it.
  [[nodiscard]] std::size_t servers() const { return hosts.empty() ? 1 : hosts.size(); }

  /// Scheme and host (or path) of one server, for messages and metrics. No secrets.
  [[nodiscard]] std::string label(std::size_t index) const;
};

/// Reads a list of tiers separated by blanks, e.g. `QUANTJIT_REMOTE`. Throws: InvalidArgument.
[[nodiscard]] std::vector<TierSpec> parse_remote(std::string_view text);
/// Reads one tier. Throws: InvalidArgument.
[[nodiscard]] TierSpec parse_tier(std::string_view text);

}  // namespace quantjit::remote
