// SPDX-License-Identifier: Apache-2.0
#include "cache/scan.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace quantjit::cache {
namespace {

// How many writers like this one a process allows for when it decides whether to look again.
constexpr std::uint64_t kAssumedWriters = 16;
// At least this part of a limit is written between two looks, so that looking stays cheap.
constexpr std::uint64_t kLookShare = 256;

/// How much may be written until the next look, if `used` of `limit` was taken at the last one.
std::uint64_t until_next_look(std::uint64_t limit, std::uint64_t used, std::uint64_t least) {
  const std::uint64_t room = limit > used ? limit - used : 0;
  return std::max(room / kAssumedWriters, least);
}

constexpr std::chrono::hours kStaleLease{24};

bool is_shard_name(std::string_view name) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 2 && is_digit(name[0]) && is_digit(name[1]);
}

/// Deletes a file if nothing has happened to it for `age`.
void sweep_file(Context& context, const std::string& path, std::chrono::nanoseconds age) {
  const IoResult<FileStatus> status = context.files.status(path);
  if (status.ok() && context.clock.since_epoch() - status.value.modified > age &&
      context.files.unlink(path) == 0) {
    context.counters->add(Counter::kSweptTemporary);
  }
}

void sweep_area(Context& context, const std::string& directory,
                std::chrono::nanoseconds age_of_others) {
  for (const std::string& name : context.files.list(directory).value) {
    sweep_file(
        context, directory + "/" + name,
        name.starts_with(kTemporaryPrefix) ? context.options.stale_temporary : age_of_others);
  }
}

void scan_shard(Context& context, const std::string& shard, Sweep sweep, ScanResult& result) {
  for (const std::string& name : context.files.list(shard).value) {
    const std::string path = shard + "/" + name;
    if (name.starts_with(kTemporaryPrefix)) {
      if (sweep == Sweep::kYes) {
        sweep_file(context, path, context.options.stale_temporary);
      }
      continue;
    }
    std::optional<EntryKey> key = name.ends_with(".qjc") ? EntryKey::parse(name) : std::nullopt;
    if (!key) {
      continue;
    }
    const IoResult<FileStatus> status = context.files.status(path);
    if (status.ok()) {
      result.bytes += status.value.bytes;
      result.entries.push_back({std::move(*key), path, status.value.bytes, status.value.modified});
    }
  }
}

struct Limits {
  std::uint64_t bytes;
  std::size_t entries;
};

RemovalReport evict_oldest(Context& context, const Root& root, ScanResult found, Limits limits,
                           Execution execution) {
  RemovalReport report;
  report.kept_bytes = found.bytes;
  std::size_t kept = found.entries.size();
  if (report.kept_bytes <= limits.bytes && kept <= limits.entries) {
    return report;
  }
  const std::set<std::string> pins = read_pins(context, root);
  std::sort(found.entries.begin(), found.entries.end(),
            [](const ScannedEntry& a, const ScannedEntry& b) { return a.modified < b.modified; });
  for (const ScannedEntry& entry : found.entries) {
    if (report.kept_bytes <= limits.bytes && kept <= limits.entries) {
      break;
    }
    if (pins.contains(entry.key.name())) {
      continue;
    }
    bool removed = execution == Execution::kDryRun;
    if (execution == Execution::kReal) {
      const IoResult<FileStatus> now = context.files.status(entry.path);
      if (now.ok() && now.value.modified != entry.modified) {
        continue;  // used or replaced since the scan
      }
      const IoError error = now.ok() ? context.files.unlink(entry.path) : now.error;
      removed = error == 0;
      if (error != 0 && error != ENOENT) {
        context.counters->add_error(error);
        continue;
      }
    }
    // What another process evicted first is gone as well.
    report.kept_bytes -= std::min(report.kept_bytes, entry.bytes);
    --kept;
    if (removed) {
      ++report.entries;
      report.bytes += entry.bytes;
      report.paths.push_back(entry.path);
    }
  }
  if (execution == Execution::kReal) {
    context.counters->add(Counter::kEvicted, report.entries);
    context.counters->add(Counter::kEvictedBytes, report.bytes);
  }
  return report;
}

}  // namespace

ScanResult scan(Context& context, const Root& root, Sweep sweep) {
  ScanResult result;
  const std::string base = root.version_path();
  for (const std::string& name : context.files.list(base).value) {
    if (is_shard_name(name)) {
      scan_shard(context, base + "/" + name, sweep, result);
    }
  }
  if (sweep == Sweep::kYes) {
    sweep_area(context, root.area_path("leases"), kStaleLease);
    sweep_area(context, root.area_path("counters"), std::chrono::nanoseconds::max());
  }
  return result;
}

std::vector<EntryKey> scan_request(Context& context, const Root& root, const std::string& request) {
  std::vector<EntryKey> keys;
  for (const std::string& name : context.files.list(root.shard_path(request)).value) {
    if (name.starts_with(request) && name.ends_with(".qjc")) {
      if (std::optional<EntryKey> key = EntryKey::parse(name)) {
        keys.push_back(std::move(*key));
      }
    }
  }
  return keys;
}

std::set<std::string> read_pins(Context& context, const Root& root) {
  const std::vector<std::string> names = context.files.list(root.area_path("pins")).value;
  return {names.begin(), names.end()};
}

std::uint64_t Trimmer::high_water() const {
  const std::uint64_t limit = context_.options.max_bytes;
  return limit == 0 ? std::numeric_limits<std::uint64_t>::max()
                    : limit / 100 * context_.options.high_water;
}

std::uint64_t Trimmer::low_water() const {
  const std::uint64_t limit = context_.options.max_bytes;
  return limit == 0
             ? std::numeric_limits<std::uint64_t>::max()
             : limit / 100 * std::min(context_.options.low_water, context_.options.high_water);
}

void Trimmer::written(const Root& root, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  unseen_bytes_ += bytes;
  ++unseen_entries_;
  const StoreOptions& options = context_.options;
  if (!looked_ ||
      unseen_bytes_ >=
          until_next_look(high_water(), known_bytes_, options.max_bytes / kLookShare) ||
      unseen_entries_ >=
          until_next_look(options.max_entries, known_entries_, options.max_entries / kLookShare)) {
    look(root);
  }
}

void Trimmer::finish(const Root& root) {
  const std::lock_guard lock(mutex_);
  if (unseen_bytes_ > 0 && context_.options.max_bytes > 0 &&
      known_bytes_ + 2 * kAssumedWriters * unseen_bytes_ > high_water()) {
    look(root);
  }
}

void Trimmer::look(const Root& root) {
  ScanResult found = scan(context_, root, Sweep::kYes);
  looked_ = true;
  unseen_bytes_ = 0;
  unseen_entries_ = 0;
  known_bytes_ = found.bytes;
  known_entries_ = found.entries.size();
  const std::size_t most = context_.options.max_entries;
  if (known_bytes_ > high_water() || known_entries_ > most) {
    const Limits limits{low_water(), most - most / 8};
    const RemovalReport report =
        evict_oldest(context_, root, std::move(found), limits, Execution::kReal);
    known_bytes_ = report.kept_bytes;
    known_entries_ -= std::min<std::uint64_t>(known_entries_, report.entries);
  }
}

RemovalReport Trimmer::evict(const Root& root, std::optional<std::uint64_t> target_bytes,
                             Execution execution) {
  const std::lock_guard lock(mutex_);
  ScanResult found = scan(context_, root, execution == Execution::kReal ? Sweep::kYes : Sweep::kNo);
  const bool over = found.bytes > high_water();
  const Limits limits{target_bytes.value_or(over ? low_water() : high_water()),
                      context_.options.max_entries};
  return evict_oldest(context_, root, std::move(found), limits, execution);
}

}  // namespace quantjit::cache
