// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/cache_subject.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/image_report.hpp"
#include "tools/cli/json_writer.hpp"

#include <quantjit/cache.hpp>

#include <fmt/format.h>

#include <ctime>

namespace quantjit::cli {
namespace {

std::string utc_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%SZ", &parts)};
}

int list(Console& console, CacheAdmin& cache) {
  const std::vector<CacheEntry> entries = cache.list();
  console.document(
      Value::Object{{"entries", array_of(entries, [](const CacheEntry& entry) -> Value {
                       return Value::Object{{"key", entry.key},
                                            {"traits", entry.traits},
                                            {"arch", entry.arch},
                                            {"math", entry.math},
                                            {"code", entry.code_kind},
                                            {"bytes", entry.bytes},
                                            {"last_used", entry.last_used_s},
                                            {"pinned", entry.pinned},
                                            {"path", entry.path}};
                     })}});
  for (const CacheEntry& entry : entries) {
    console.line(fmt::format("{}  {}  {:>8}  {:<7} {:<7} {:<5}  {}{}", short_key(entry.key),
                             utc_text(entry.last_used_s), entry.bytes, entry.arch, entry.math,
                             entry.code_kind, entry.traits, entry.pinned ? "  (pinned)" : ""));
  }
  return 0;
}

int stats(Console& console, CacheAdmin& cache) {
  const CacheStats stats = cache.stats();
  Value::Object counters;
  for (const auto& [name, count] : stats.counters) {
    counters.emplace_back(name, count);
  }
  console.document(Value::Object{{"entries", stats.entries},
                                 {"bytes", stats.bytes},
                                 {"max_bytes", stats.max_bytes},
                                 {"roots", array_of(stats.roots, root_value)},
                                 {"counters", std::move(counters)}});
  console.line(fmt::format("entries  {}, {} bytes (limit {})", stats.entries, stats.bytes,
                           stats.max_bytes == 0 ? "none" : fmt::format("{}", stats.max_bytes)));
  for (const CacheRootStatus& root : stats.roots) {
    console.line("root     " + root_text(root));
  }
  for (const auto& [name, count] : stats.counters) {
    if (count != 0) {
      console.line(fmt::format("count    {} {}", name, count));
    }
  }
  return 0;
}

int inspect(const Context& context, CacheAdmin& cache, const CacheOptions& options) {
  const std::string key = find_key(context, cache, options);
  const std::optional<CacheInspection> found = cache.inspect(key);
  if (!found) {
    throw CommandFailure("there is no entry of the key " + key);
  }
  const ImageInfo& info = found->info;
  Console& console = context.console;
  Value::Object document{{"key", info.key},
                         {"path", info.path},
                         {"code_bytes", found->code_bytes},
                         {"key_text", info.key_text}};
  const Value metadata = from_json(found->metadata);
  if (const auto* const members = std::get_if<Value::Object>(&metadata.content())) {
    document.insert(document.end(), members->begin(), members->end());
  }
  console.document(std::move(document));
  console.line(fmt::format("key      {}", info.key));
  console.line(fmt::format("file     {}", info.path));
  console.line(fmt::format("traits   {}", info.traits));
  console.line(fmt::format("target   {}, math {}", info.arch.to_string(), to_string(info.math)));
  console.line(fmt::format("code     {}, {} bytes", to_string(info.code_kind), found->code_bytes));
  console.line(fmt::format("compiler NVRTC {}, build {}, {:.1f} ms", info.nvrtc_version,
                           info.nvrtc_build_id, info.compile_ms));
  for (const EntryPointInfo& entry : info.entry_points) {
    console.line(fmt::format("entry    {}: {}", entry.name, resources_text(info, entry)));
    console.line(fmt::format("         {}", entry.lowered_name));
  }
  return 0;
}

int verify(Console& console, CacheAdmin& cache, const CacheOptions& options) {
  const bool repairing = options.repair && !options.dry_run;
  const CacheVerification report =
      cache.verify(repairing ? CacheRepair::kMoveAside : CacheRepair::kReport);
  console.document(Value::Object{
      {"checked", report.checked},
      {"bad", array_of(report.bad, [](const CacheVerification::BadEntry& bad) -> Value {
         return Value::Object{{"path", bad.path}, {"reason", bad.reason}};
       })}});
  for (const CacheVerification::BadEntry& bad : report.bad) {
    console.line(fmt::format("bad      {}: {}", bad.path, bad.reason));
  }
  console.line(fmt::format("{} checked, {} bad{}", report.checked, report.bad.size(),
                           repairing && !report.bad.empty() ? " and moved aside" : ""));
  return report.bad.empty() || repairing ? 0 : 1;
}

int report_removal(Console& console, const CacheRemoval& removal, bool dry_run) {
  console.document(Value::Object{
      {"dry_run", dry_run},
      {"entries", removal.entries},
      {"bytes", removal.bytes},
      {"kept_bytes", removal.kept_bytes},
      {"paths", array_of(removal.paths, [](const std::string& path) -> Value { return path; })}});
  for (const std::string& path : removal.paths) {
    console.line(path);
  }
  console.line(fmt::format("{} entries, {} bytes {}; {} bytes stay", removal.entries, removal.bytes,
                           dry_run ? "would be removed" : "removed", removal.kept_bytes));
  return 0;
}

}  // namespace

int execute(Context& context, const CacheOptions& options) {
  CacheAdmin cache(context.service_options());
  const CacheRemovalMode mode =
      options.dry_run ? CacheRemovalMode::kDryRun : CacheRemovalMode::kReal;
  switch (options.action) {
    case CacheAction::kList: return list(context.console, cache);
    case CacheAction::kStats: return stats(context.console, cache);
    case CacheAction::kInspect: return inspect(context, cache, options);
    case CacheAction::kVerify: return verify(context.console, cache, options);
    case CacheAction::kPin:
    case CacheAction::kUnpin: return set_pins(context, cache, options);
    case CacheAction::kClear:
      return report_removal(context.console, cache.clear(mode), options.dry_run);
    case CacheAction::kEvict: break;
  }
  std::optional<std::uint64_t> target;
  if (!options.target_size.empty()) {
    target = CacheAdmin::parse_size(options.target_size);
  }
  return report_removal(context.console, cache.evict(target, mode), options.dry_run);
}

}  // namespace quantjit::cli
