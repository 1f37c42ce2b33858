// SPDX-License-Identifier: Apache-2.0
#include "src/remote/url.hpp"

#include "cache/entry.hpp"
#include "cache/options.hpp"
#include "src/remote/url_text.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr std::size_t kMaxTiers = 16;
constexpr std::size_t kMaxText = std::size_t{16} << 10;  // of a tier
constexpr std::chrono::milliseconds kMaxTimeout = std::chrono::hours(1);
constexpr std::chrono::milliseconds kMaxTtl = std::chrono::hours(24 * 3650);

// Kinds of schemes, for options that only some have.
constexpr unsigned kFileKind = 1;
constexpr unsigned kRedisKind = 2;
constexpr unsigned kHttpKind = 4;
constexpr unsigned kServiceKind = 8;
constexpr unsigned kTlsKind = 16;

struct SchemeRow {
  Scheme scheme;
  std::uint16_t port;
  unsigned kinds;
};

constexpr std::array<SchemeRow, 7> kSchemes{{
    {Scheme::kFile, 0, kFileKind},
    {Scheme::kHttp, 80, kHttpKind},
    {Scheme::kHttps, 443, kHttpKind | kTlsKind},
    {Scheme::kRedis, 6379, kRedisKind},
    {Scheme::kRediss, 6379, kRedisKind | kTlsKind},
    {Scheme::kService, 9871, kServiceKind},
    {Scheme::kServiceTls, 443, kServiceKind | kTlsKind},
}};

struct OptionRow {
  std::string_view name;
  unsigned kinds;  ///< one of them makes the option allowed
  void (*set)(TierSpec& spec, std::string_view name, const std::string& value);
};

bool is_word(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [&](char character) {
           return (character >= '0' && character <= '9') ||
                  (character >= 'a' && character <= 'z') ||
                  (character >= 'A' && character <= 'Z') ||
                  more.find(character) != std::string_view::npos;
         });
}

template <std::chrono::milliseconds TierSpec::*Member>
void set_timeout(TierSpec& spec, std::string_view name, const std::string& value) {
  spec.*Member = parse_duration(value, name, kMaxTimeout);
}

template <std::string TierSpec::*Member>
void set_path(TierSpec& spec, std::string_view name, const std::string& value) {
  if (!value.starts_with('/')) {
    throw malformed(name, "it must be the absolute path of a file");
  }
  spec.*Member = value;
}

void set_ttl(TierSpec& spec, std::string_view name, const std::string& value) {
  const std::chrono::milliseconds ttl = parse_duration(value, name, kMaxTtl);
  spec.ttl = std::chrono::duration_cast<std::chrono::seconds>(ttl);
  if (spec.ttl != ttl) {
    throw malformed(name, "it must be whole seconds");
  }
}

void set_access(TierSpec& spec, std::string_view name, const std::string& value) {
  if (value != "0" && value != "1") {
    throw malformed(name, "it must be 0 or 1");
  }
  spec.access = value == "1" ? Access::kReadOnly : Access::kReadWrite;
}

void set_max_entry(TierSpec& spec, std::string_view name, const std::string& value) {
  std::uint64_t bytes = 0;
  try {
    bytes = cache::parse_size(value);
  } catch (const InvalidArgument&) {
    bytes = 0;  // refused below, by this option's name
  }
  if (bytes == 0 || bytes > cache::kMaxFileBytes) {
    throw malformed(name, "it must be a size such as 512K or 32M, at most " +
                              std::to_string(cache::kMaxFileBytes >> 20) + "M");
  }
  spec.max_entry = static_cast<std::size_t>(bytes);
}

void set_prefix(TierSpec& spec, std::string_view name, const std::string& value) {
  if (!is_word(value, "._:-")) {
    throw malformed(name, "it must be 1 to 64 letters, digits, dots, colons, dashes or underlines");
  }
  spec.prefix = value;
}

void set_layout(TierSpec& spec, std::string_view name, const std::string& value) {
  if (value != "plain" && value != "bazel") {
    throw malformed(name, "it must be plain or bazel");
  }
  spec.layout = value == "bazel" ? Layout::kBazel : Layout::kPlain;
}

void set_sigv4(TierSpec& spec, std::string_view name, const std::string& value) {
  if (!is_word(value, "-")) {
    throw malformed(name, "it must be the name of a region, e.g. us-east-1");
  }
  spec.sigv4_region = value;
}

void set_proxy(TierSpec& spec, std::string_view name, const std::string& value) {
  constexpr std::array<std::string_view, 4> kProxies{"http://", "https://", "socks5://",
                                                     "socks5h://"};
  if (std::none_of(kProxies.begin(), kProxies.end(), [&](std::string_view start) {
        return value.starts_with(start) && value.size() > start.size();
      })) {
    throw malformed(name, "it must be a URL that begins with http, https, socks5 or socks5h");
  }
  spec.proxy = value;
}

constexpr unsigned kNetwork = kRedisKind | kHttpKind | kServiceKind;
constexpr std::array<OptionRow, 15> kOptions{{
    {"timeout", kNetwork | kFileKind, set_timeout<&TierSpec::timeout>},
    {"connect_timeout", kNetwork, set_timeout<&TierSpec::connect_timeout>},
    {"compile_timeout", kServiceKind, set_timeout<&TierSpec::compile_timeout>},
    {"lease_wait", kRedisKind, set_timeout<&TierSpec::lease_wait>},
    {"readonly", kNetwork | kFileKind, set_access},
    {"max_entry", kNetwork | kFileKind, set_max_entry},
    {"mac", kNetwork | kFileKind, set_path<&TierSpec::mac_key_file>},
    {"ttl", kRedisKind, set_ttl},
    {"prefix", kRedisKind, set_prefix},
    {"layout", kHttpKind, set_layout},
    {"sigv4", kHttpKind, set_sigv4},
    {"token_file", kHttpKind | kServiceKind, set_path<&TierSpec::token_file>},
    {"password_file", kNetwork, set_path<&TierSpec::password_file>},
    {"ca", kTlsKind, set_path<&TierSpec::ca_file>},
    {"proxy", kHttpKind | kServiceKind, set_proxy},
}};

std::string allowed_options(unsigned kinds) {
  std::string list;
  for (const OptionRow& row : kOptions) {
    if ((row.kinds & kinds) != 0) {
      list += (list.empty() ? "" : ", ") + std::string(row.name);
    }
  }
  return list;
}

/// A name that is not one of the options, if it can be repeated: it has no room for a secret.
std::string unknown_option(std::string_view name) {
  return is_word(name, "_") && name.size() <= 20 ? "option " + std::string(name)
                                                 : std::string("option");
}

void parse_options(TierSpec& spec, unsigned kinds, std::string_view text) {
  std::set<std::string_view> seen;
  bool more = true;
  while (more) {
    std::string_view item = take_until(text, '&', more);
    bool has_value = false;
    const std::string_view name = take_until(item, '=', has_value);
    const auto row = std::find_if(kOptions.begin(), kOptions.end(),
                                  [&](const OptionRow& each) { return each.name == name; });
    if (!has_value) {
      throw malformed(row == kOptions.end() ? "option" : name, "it must be written option=value");
    }
    if (row == kOptions.end() || (row->kinds & kinds) == 0) {
      const std::string allowed = allowed_options(kinds);
      throw malformed(unknown_option(name),
                      std::string(to_string(spec.scheme)) + " tiers have " + allowed + " alone",
                      "unknown");
    }
    if (!seen.insert(name).second) {
      throw malformed(name, "an option must be given once", "doubled");
    }
    row->set(spec, name, percent_decode(item, name));
  }
}

void parse_credentials(TierSpec& spec, std::string_view text) {
  bool has_password = false;
  const std::string_view user = take_until(text, ':', has_password);
  spec.user = percent_decode(user, "user");
  spec.password = percent_decode(text, "password");
}

/// A path as it stands in a URL, without slashes at its end.
std::string parse_url_path(std::string_view text) {
  constexpr std::string_view kAllowed = "/-._~%!$&'()*+,;=:";
  while (text.ends_with('/')) {
    text.remove_suffix(1);
  }
  static_cast<void>(percent_decode(text, "path"));
  for (std::string_view rest = text; !rest.empty();) {
    bool more = false;
    const std::string_view segment = take_until(rest, '/', more);
    const bool is_plain = std::all_of(segment.begin(), segment.end(), [&](char character) {
      return is_word({&character, 1}, kAllowed);
    });
    if (!is_plain || segment == "." || segment == "..") {
      throw malformed("path",
                      "other characters than those of URLs must be percent-encoded, and no part "
                      "of it may be . or ..");
    }
  }
  return std::string(text);
}

/// `text` begins with a slash or is empty.
void parse_path(TierSpec& spec, unsigned kinds, std::string_view text) {
  if ((kinds & kRedisKind) != 0) {
    if (text.size() > 1) {
      spec.database = static_cast<unsigned>(parse_number(text.substr(1), "database", 65535));
    }
  } else if ((kinds & kFileKind) != 0) {
    spec.path = percent_decode(text, "path");
    while (spec.path.ends_with('/')) {
      spec.path.pop_back();
    }
    if (spec.path.empty()) {
      throw malformed("path", "it must be a directory, as in file:///srv/kernels", "missing");
    }
  } else {
    spec.path = parse_url_path(text);
  }
}

/// What concerns more than one part of a tier.
void check_authentication(const TierSpec& spec, unsigned kinds) {
  if ((kinds & kRedisKind) == 0 && spec.user.find(':') != std::string::npos) {
    throw malformed("user", "HTTP has none with a colon");
  }
  const bool has_password = !spec.password.empty() || !spec.password_file.empty();
  if (!spec.password.empty() && !spec.password_file.empty()) {
    throw malformed("password_file", "the URL must hold no password beside it", "doubled");
  }
  if (!spec.token_file.empty() && (!spec.user.empty() || has_password)) {
    throw malformed("token_file", "the tier must have no user or password beside it", "doubled");
  }
  if (!spec.sigv4_region.empty() && (spec.user.empty() || !has_password)) {
    throw malformed(
        "sigv4", "the tier must have an access key as user and a secret key as password", "given");
  }
  if (!spec.user.empty() && !has_password) {
    throw malformed("password", "a tier with a user must have one, or password_file", "missing");
  }
}

/// `<user>:<password>@<hosts>`, or nothing for files.
void parse_authority(TierSpec& spec, const SchemeRow& row, std::string_view text) {
  if ((row.kinds & kFileKind) != 0) {
    if (!text.empty()) {
      throw malformed("host", "file tiers have none: file:///srv/kernels", "given");
    }
    return;
  }
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    parse_credentials(spec, text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  spec.hosts = parse_hosts(text, row.port);
}

const SchemeRow& parse_scheme(std::string_view& text) {
  for (const SchemeRow& row : kSchemes) {
    const std::string start = std::string(to_string(row.scheme)) + "://";
    if (text.starts_with(start)) {
      text.remove_prefix(start.size());
      return row;
    }
  }
  throw malformed("scheme",
                  "a tier must begin with file://, http://, https://, redis://, rediss://, "
                  "qj+http:// or qj+https://",
                  "unknown");
}

}  // namespace

TierSpec parse_tier(std::string_view text) {
  if (text.size() > kMaxText) {
    throw malformed("URL", "it must have at most " + std::to_string(kMaxText) + " bytes",
                    "too long");
  }
  if (!std::all_of(text.begin(), text.end(),
                   [](char character) { return character > 0x20 && character < 0x7f; })) {
    throw malformed("URL", "bytes other than printable ASCII must be percent-encoded");
  }
  const SchemeRow& row = parse_scheme(text);
  TierSpec spec;
  spec.scheme = row.scheme;
  bool has_options = false;
  std::string_view location = take_until(text, '?', has_options);
  const std::string_view authority = location.substr(0, location.find('/'));
  location.remove_prefix(authority.size());
  // A password with a raw / or ? in it ends up here: what follows must not be repeated then.
  if (location.find('@') != std::string_view::npos || text.find('@') != std::string_view::npos) {
    throw malformed("part after the host",
                    "it must hold no @ (write %40; and %2F and %3F for / and ? in a password)");
  }
  parse_authority(spec, row, authority);
  parse_path(spec, row.kinds, location);
  if (has_options) {
    parse_options(spec, row.kinds, text);
  }
  if ((row.kinds & kServiceKind) != 0) {
    spec.access = Access::kReadOnly;
  }
  check_authentication(spec, row.kinds);
  return spec;
}

std::vector<TierSpec> parse_remote(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  std::vector<TierSpec> tiers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) {
      return tiers;
    }
    if (tiers.size() == kMaxTiers) {
      throw InvalidArgument("the list of remote tiers", "too long",
                            "there must be at most " + std::to_string(kMaxTiers));
    }
    const std::string_view tier = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(tier.size());
    tiers.push_back(parse_tier(tier));
  }
}

}  // namespace quantjit::remote
