// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/parse_cache.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace quantjit::cli {
namespace {

void add_archs(CLI::App& leaf, CacheOptions& cache, const char* help) {
  leaf.add_option("--arch", cache.archs, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ARCH,...");
}

/// What is to be pinned, or not any more.
void add_pinned(CLI::App& leaf, CacheOptions& cache) {
  CLI::Option* const manifest =
      leaf.add_option("--manifest", cache.manifest, "all kernels of a prewarm manifest")
          ->type_name("FILE");
  leaf.add_option("subject", cache.subject, "a key, or a trait text with --arch")
      ->type_name("KEY|TRAITS")
      ->excludes(manifest);
  add_archs(leaf, cache, "targets of the trait text, or of what the manifest gives none");
}

}  // namespace

void add_cache_command(CLI::App& app, CommandOptions& command, CacheOptions& cache) {
  CLI::App* const group = app.add_subcommand("cache", "Look into and maintain the disk cache");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, CacheAction action) {
    CLI::App* const leaf = group->add_subcommand(name, help);
    leaf->callback([&command, &cache, action] {
      cache.action = action;
      command = cache;
    });
    return leaf;
  };
  add("list", "List all entries", CacheAction::kList);
  add("stats", "Show roots, sizes and counters", CacheAction::kStats);
  CLI::App* const inspect = add("inspect", "Show one entry's metadata", CacheAction::kInspect);
  inspect->add_option("subject", cache.subject, "a key, or a trait text with --arch")
      ->type_name("KEY|TRAITS")
      ->required();
  add_archs(*inspect, cache, "target, such as sm_90a or sm_100f");
  CLI::App* const verify =
      add("verify", "Read and verify every entry; exit 1 if one is bad", CacheAction::kVerify);
  verify->add_flag("--repair", cache.repair, "move bad entries aside, so that they are rebuilt");
  CLI::App* const evict =
      add("evict", "Remove the entries that were not used for longest", CacheAction::kEvict);
  evict->add_option("--to", cache.target_size, "bytes to keep at most, with suffix K, M, G or T")
      ->type_name("BYTES");
  CLI::App* const clear = add("clear", "Remove all entries", CacheAction::kClear);
  for (CLI::App* const leaf : {verify, evict, clear}) {
    leaf->add_flag("--dry-run", cache.dry_run, "only say what would be done");
  }
  add_pinned(
      *add("pin",
           "Keep entries from eviction, now or when they are there; alone, list what is pinned",
           CacheAction::kPin),
      cache);
  add_pinned(*add("unpin", "Let entries be evicted again", CacheAction::kUnpin), cache);
}

}  // namespace quantjit::cli
