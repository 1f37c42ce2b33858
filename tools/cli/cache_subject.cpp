// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/cache_subject.hpp"

#include "tools/cli/kernel_list.hpp"

#include <quantjit/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quantjit::cli {
namespace {

/// Shortest prefix of a key that stands for it.
constexpr std::size_t kShortestPrefix = 4;

bool is_traits(const CacheOptions& options) {
  return options.subject.find(':') != std::string::npos || !options.archs.empty();
}

std::vector<Arch> required_archs(const CacheOptions& options) {
  if (options.archs.empty()) {
    throw InvalidArgument("--arch", "missing",
                          "a trait text needs it, since the target is part of the key");
  }
  return parse_archs(options.archs);
}

/// The key that begins like `prefix`; `prefix` itself if there is none.
std::string complete_key(CacheAdmin& cache, const std::string& prefix) {
  std::vector<std::string> matches;
  for (const CacheEntry& entry : cache.list()) {
    if (prefix.size() >= kShortestPrefix && entry.key.starts_with(prefix) &&
        std::find(matches.begin(), matches.end(), entry.key) == matches.end()) {
      matches.push_back(entry.key);
    }
  }
  if (matches.size() > 1) {
    throw InvalidArgument("KEY", "\"" + prefix + "\"",
                          fmt::format("{} entries begin like that", matches.size()));
  }
  return matches.empty() ? prefix : matches.front();
}

}  // namespace

std::string find_key(const Context& context, CacheAdmin& cache, const CacheOptions& options) {
  if (!is_traits(options)) {
    return complete_key(cache, options.subject);
  }
  const std::vector<Arch> archs = required_archs(options);
  if (archs.size() > 1) {
    throw InvalidArgument("--arch", fmt::format("{} targets", archs.size()),
                          "one entry has one target");
  }
  KernelService service(context.service_options());
  const Explanation explanation = service.explain(parse_descriptor(options.subject), archs.front());
  if (!explanation.hit) {
    throw CommandFailure("there is no entry of " + explanation.traits + " for " +
                         archs.front().to_string() + "; quantjit explain shows why");
  }
  return explanation.key;
}

std::vector<std::string> find_keys(CacheAdmin& cache, const CacheOptions& options) {
  if (!options.manifest.empty()) {
    return cache.keys_of(read_manifest(options.manifest, parse_archs(options.archs)));
  }
  if (!is_traits(options)) {
    return {complete_key(cache, options.subject)};
  }
  std::vector<PrewarmItem> items;
  for (const Arch& arch : required_archs(options)) {
    items.push_back({parse_descriptor(options.subject), arch});
  }
  return cache.keys_of(items);
}

}  // namespace quantjit::cli
