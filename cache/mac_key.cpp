// SPDX-License-Identifier: Apache-2.0
#include "cache/mac_key.hpp"

#include "cache/context.hpp"
#include "cache/trust.hpp"

namespace quantjit::cache {
namespace {

constexpr std::size_t kMinSecretBytes = 16;
constexpr std::size_t kMaxSecretBytes = 4096;

}  // namespace

MacKey read_mac_key(FileSystem& files, const std::string& path, std::uint32_t user) {
  const TrustVerdict secret = check_secret_file(files, path, user);
  MacKey key{.usable = false, .settled = secret.settled, .bytes = {}, .reason = {}};
  if (!secret.trusted) {
    key.reason = "the MAC key cannot be used: " + secret.reason;
    return key;
  }
  // The walk has followed and checked all links, so the file is opened where they lead.
  IoResult<std::string> bytes = read_small_file(files, secret.resolved, kMaxSecretBytes);
  if (!bytes.ok() || bytes.value.size() < kMinSecretBytes) {
    key.reason = "the MAC key cannot be used: " + path +
                 (bytes.ok() ? " holds less than 16 bytes" : ": " + describe_error(bytes.error));
    return key;
  }
  key.usable = true;
  key.bytes = std::move(bytes.value);
  return key;
}

}  // namespace quantjit::cache
