// SPDX-License-Identifier: Apache-2.0
// Lists of remote tiers: what is accepted keeps to its limits and has labels without secrets; what
// is refused is refused by an InvalidArgument with one line that repeats nothing long.
#include "src/remote/url.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <quantjit/error.hpp>

#include <string>
#include <vector>

namespace quantjit::fuzz {
namespace {

bool has_control(std::string_view text) {
  for (const char character : text) {
    if (static_cast<unsigned char>(character) < 0x20 || character == 0x7f) {
      return true;
    }
  }
  return false;
}

void check_tier(const remote::TierSpec& tier) {
  const bool is_file = tier.scheme == remote::Scheme::kFile;
  require(is_file == tier.hosts.empty(), "all tiers but directories have hosts");
  require(!is_file || tier.path.starts_with('/'), "directories have absolute paths");
  require(!tier.path.ends_with('/'), "no path ends with a slash");
  require(tier.hosts.size() <= 64 && tier.database <= 65535, "numbers keep to their limits");
  require(tier.timeout.count() > 0 && tier.connect_timeout.count() > 0 &&
              tier.compile_timeout.count() > 0 && tier.timeout <= std::chrono::hours(1),
          "time limits are limits");
  require(tier.max_entry > 0 && tier.ttl.count() >= 0, "sizes and ages are positive");
  require(!tier.prefix.empty() && tier.prefix.find_first_of("{} ") == std::string::npos,
          "prefixes fit into keys");
  for (const std::string* const text :
       {&tier.path, &tier.user, &tier.password, &tier.sigv4_region, &tier.token_file,
        &tier.password_file, &tier.ca_file, &tier.proxy, &tier.mac_key_file}) {
    require(!has_control(*text), "no text holds a control character");
  }
  for (std::size_t i = 0; i < tier.servers(); ++i) {
    const std::string label = tier.label(i);
    require_message(label);
    require(is_file || (tier.hosts[i].port != 0 && label.find('@') == std::string::npos),
            "a label is scheme and host");
  }
}

}  // namespace

void fuzz_remote_url(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const std::vector<remote::TierSpec> tiers = remote::parse_remote(text);
    require(tiers.size() <= 16, "there are at most 16 tiers");
    for (const remote::TierSpec& tier : tiers) {
      check_tier(tier);
    }
  } catch (const InvalidArgument& refusal) {
    const std::string_view message = refusal.what();
    require_message(message);
    require(message.size() < 300, "a refusal repeats nothing long");
  }
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_remote_url)
