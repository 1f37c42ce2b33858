// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/format.hpp"
#include "src/service/body.hpp"
#include "src/service/listing.hpp"
#include "src/service/metadata.hpp"
#include "src/service/request.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace quantjit {
namespace {

/// Fills in what the key text of an entry says.
void describe(CacheEntry& entry, std::string_view key_text) {
  for (auto& [label, value] : service::parse_key_text(key_text)) {
    if (label == "traits") {
      entry.traits = std::move(value);
    } else if (label == "arch") {
      entry.arch = std::move(value);
    } else if (label == "math") {
      entry.math = std::move(value);
    } else if (label == "code") {
      entry.code_kind = std::move(value);
    }
  }
}

CacheRemoval to_removal(cache::RemovalReport&& report) {
  return {report.entries, report.bytes, report.kept_bytes, std::move(report.paths)};
}

cache::EntryKey parse_key(std::string_view key) {
  std::optional<cache::EntryKey> parsed = cache::EntryKey::parse(key);
  if (!parsed) {
    throw InvalidArgument("key", "\"" + std::string(key) + "\"",
                          "it must be <64 hexadecimal digits>-<16 hexadecimal digits>");
  }
  return std::move(*parsed);
}

cache::Execution to_execution(CacheRemovalMode mode) {
  return mode == CacheRemovalMode::kDryRun ? cache::Execution::kDryRun : cache::Execution::kReal;
}

}  // namespace

CacheAdmin::CacheAdmin(ServiceOptions options)
    : service_(std::make_unique<KernelService>(std::move(options))) {}

CacheAdmin::~CacheAdmin() = default;
CacheAdmin::CacheAdmin(CacheAdmin&&) noexcept = default;
CacheAdmin& CacheAdmin::operator=(CacheAdmin&&) noexcept = default;

std::vector<CacheEntry> CacheAdmin::list() {
  std::vector<CacheEntry> entries;
  for (const auto& [listed, key_text] : service::list_entries(service_->body().store)) {
    CacheEntry& entry = entries.emplace_back();
    entry.key = listed.key.name();
    entry.path = listed.path;
    entry.bytes = listed.bytes;
    entry.last_used_s = std::chrono::duration_cast<std::chrono::seconds>(listed.last_used).count();
    entry.pinned = listed.pinned;
    describe(entry, key_text);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const CacheEntry& a, const CacheEntry& b) { return a.key < b.key; });
  return entries;
}

CacheStats CacheAdmin::stats() {
  cache::StoreStats found = service_->body().store.stats();
  CacheStats stats{.entries = found.entries,
                   .bytes = found.bytes,
                   .max_bytes = service_->options().cache_max_bytes,
                   .roots = {},
                   .counters = {}};
  for (cache::RootStatus& root : found.roots) {
    std::error_code ignored;
    const bool is_bundle = !root.shared && bundle::is_bundle_path(root.path) &&
                           !std::filesystem::is_directory(root.path, ignored);
    stats.roots.push_back({.path = std::move(root.path),
                           .exists = root.exists,
                           .writable = root.writable,
                           .trusted = root.trusted,
                           .shared = root.shared,
                           .bundle = is_bundle,
                           .reason = std::move(root.reason)});
  }
  for (std::size_t i = 0; i < found.accumulated.size(); ++i) {
    if (const std::string_view name = cache::counter_name(i); !name.empty()) {
      stats.counters.emplace_back(name, found.accumulated[i]);
    }
  }
  return stats;
}

std::optional<CacheInspection> CacheAdmin::inspect(std::string_view key) {
  const cache::EntryKey parsed = parse_key(key);
  const cache::LookupResult result = service_->body().store.peek(parsed);
  if (result.status == cache::LookupStatus::kAbsent) {
    return std::nullopt;
  }
  std::optional<ImageInfo> info;
  if (result.found()) {
    info = service::from_metadata(result.entry->metadata);
  }
  if (!info) {
    throw Error("the cache entry " + result.path + " cannot be used: " +
                (result.reason.empty() ? "its metadata has an unknown form" : result.reason) +
                "; it is rebuilt when it is asked for");
  }
  info->key = parsed.name();
  info->key_text = result.entry->key_text;
  info->path = result.path;
  return CacheInspection{.info = std::move(*info),
                         .metadata = result.entry->metadata,
                         .code_bytes = result.entry->code.size()};
}

CacheVerification CacheAdmin::verify(CacheRepair repair) {
  cache::VerifyReport report = service_->body().store.verify(repair == CacheRepair::kMoveAside
                                                                 ? cache::VerifyAction::kQuarantine
                                                                 : cache::VerifyAction::kReport);
  CacheVerification verification{.checked = report.checked, .bad = {}};
  for (cache::BadEntry& bad : report.bad) {
    verification.bad.push_back({std::move(bad.path), std::move(bad.reason)});
  }
  return verification;
}

CacheRemoval CacheAdmin::evict(std::optional<std::uint64_t> target_bytes, CacheRemovalMode mode) {
  return to_removal(service_->body().store.evict(target_bytes, to_execution(mode)));
}

CacheRemoval CacheAdmin::clear(CacheRemovalMode mode) {
  return to_removal(service_->body().store.clear(to_execution(mode)));
}

std::vector<std::string> CacheAdmin::keys_of(const std::vector<PrewarmItem>& items) {
  KernelService::Body& body = service_->body();
  const service::Toolchain::Found* const found = body.toolchain.find();
  std::vector<std::string> keys;
  for (const PrewarmItem& item : items) {
    const service::Request request = body.request_for(item.descriptor, item.arch);
    if (found != nullptr) {
      keys.push_back(cache::EntryKey{request.id, found->identity.short_form()}.name());
      continue;
    }
    const cache::LookupResult stored =
        body.store.lookup_any_toolchain(request.id, request.key_text);
    if (!stored.found()) {
      throw Error(request.traits_text + " for " + request.arch.to_string() +
                  " has no key here, because no libnvrtc was found and no entry is there; compile "
                  "it, or set QUANTJIT_NVRTC");
    }
    keys.push_back(stored.entry->key.name());
  }
  return keys;
}

bool CacheAdmin::pin(std::string_view key) {
  return service_->body().store.pin(parse_key(key));
}

bool CacheAdmin::unpin(std::string_view key) {
  return service_->body().store.unpin(parse_key(key));
}

std::size_t CacheAdmin::release_dead_leases() {
  return service_->body().store.release_dead_leases();
}

std::vector<std::string> CacheAdmin::pins() {
  std::vector<std::string> keys;
  for (const cache::EntryKey& key : service_->body().store.pins()) {
    keys.push_back(key.name());
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::uint64_t CacheAdmin::parse_size(std::string_view text) {
  return cache::parse_size(text);
}

}  // namespace quantjit
