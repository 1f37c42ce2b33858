// SPDX-License-Identifier: Apache-2.0
#include "cache/options.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <pwd.h>
#include <system_error>
#include <unistd.h>

namespace quantjit::cache {
namespace {

bool is_absolute(const std::optional<std::string>& path) {
  return path && !path->empty() && path->front() == '/';
}

std::string below(std::string directory, std::string_view name) {
  while (directory.size() > 1 && directory.back() == '/') {
    directory.pop_back();
  }
  if (directory.back() != '/') {
    directory.push_back('/');
  }
  return directory.append(name);
}

std::optional<std::string> home_of_user_database() {
  std::vector<char> buffer(16384);

  struct passwd record {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &record, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr || found->pw_dir == nullptr) {
    return std::nullopt;
  }
  return std::string(found->pw_dir);
}

std::string absolute_path(std::string_view text) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(text, error);
  return error ? std::string(text) : absolute.string();
}

std::vector<std::string_view> split_colons(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) {
      parts.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::optional<std::string> default_root(const std::optional<std::string>& xdg_cache_home,
                                        const std::optional<std::string>& home) {
  if (is_absolute(xdg_cache_home)) {
    return below(*xdg_cache_home, "quantjit");
  }
  const std::optional<std::string> base = is_absolute(home) ? home : home_of_user_database();
  if (!is_absolute(base)) {
    return std::nullopt;
  }
  return below(*base, ".cache/quantjit");
}

std::vector<RootSpec> parse_roots(std::string_view text) {
  std::vector<RootSpec> roots;
  for (const std::string_view part : split_colons(text)) {
    roots.push_back({absolute_path(part), {}});
  }
  return roots;
}

std::vector<RootSpec> parse_shared_roots(std::string_view text) {
  std::vector<RootSpec> roots;
  for (const std::string_view part : split_colons(text)) {
    const std::size_t equals = part.rfind('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size()) {
      throw InvalidArgument("QUANTJIT_CACHE_SHARED", std::string(part),
                            "must be <root>=<MAC key file>, several of them separated by colons");
    }
    roots.push_back(
        {absolute_path(part.substr(0, equals)), absolute_path(part.substr(equals + 1))});
  }
  return roots;
}

std::vector<RootSpec> merge_roots(std::vector<RootSpec> roots,
                                  const std::vector<RootSpec>& shared) {
  for (const RootSpec& spec : shared) {
    const auto same = std::find_if(roots.begin(), roots.end(),
                                   [&](const RootSpec& root) { return root.path == spec.path; });
    if (same == roots.end()) {
      roots.push_back(spec);
    } else {
      *same = spec;
    }
  }
  return roots;
}

std::uint64_t parse_size(std::string_view text) {
  const auto refuse = [&]() -> InvalidArgument {
    return {"QUANTJIT_CACHE_MAX_SIZE", std::string(text),
            "must be a number of bytes with an optional suffix K, M, G or T, e.g. 512M"};
  };
  std::string_view digits = text;
  unsigned shift = 0;
  if (!digits.empty()) {
    constexpr std::string_view kSuffixes = "KMGT";
    const char last = digits.back() >= 'a' && digits.back() <= 'z'
                          ? static_cast<char>(digits.back() - 'a' + 'A')
                          : digits.back();
    if (const std::size_t at = kSuffixes.find(last); at != std::string_view::npos) {
      shift = static_cast<unsigned>(10 * (at + 1));
      digits.remove_suffix(1);
    }
  }
  if (digits.empty() || digits.size() > 19) {
    throw refuse();
  }
  std::uint64_t value = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') {
      throw refuse();
    }
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    throw refuse();
  }
  return value << shift;
}

}  // namespace quantjit::cache
