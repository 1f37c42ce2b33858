// SPDX-License-Identifier: Apache-2.0
#include "cache/head_reader.hpp"
#include "cache/store.hpp"
#include "cache/store_core.hpp"

#include <cerrno>
#include <optional>

namespace quantjit::cache {
namespace {

bool readable(Root& root) {
  const std::shared_ptr<const RootState> state = root.state();
  return state->trusted && state->exists;
}

}  // namespace

std::vector<ListedEntry> CubinStore::list() {
  std::vector<ListedEntry> listed;
  const auto& roots = core_->roots();
  for (std::size_t layer = 0; layer < roots.size(); ++layer) {
    if (!readable(*roots[layer])) {
      continue;
    }
    const std::set<std::string> pinned = read_pins(core_->context, *roots[layer]);
    for (ScannedEntry& entry : scan(core_->context, *roots[layer], Sweep::kNo).entries) {
      const bool is_pinned = pinned.contains(entry.key.name());
      listed.push_back({std::move(entry.key), std::move(entry.path), layer, entry.bytes,
                        entry.modified, is_pinned});
    }
  }
  return listed;
}

std::vector<ListedHead> CubinStore::list_heads() {
  std::vector<ListedHead> heads;
  for (ListedEntry& entry : list()) {
    if (std::optional<EntryHead> head = read_head(core_->context.files, entry.path)) {
      heads.push_back({std::move(*head), std::move(entry.path)});
    }
  }
  return heads;
}

StoreStats CubinStore::stats() {
  StoreStats stats;
  for (const std::unique_ptr<Root>& root : core_->roots()) {
    const std::shared_ptr<const RootState> state = root->state();
    stats.roots.push_back({root->path(), state->exists, state->writable, state->trusted,
                           root->shared(), state->reason});
    if (readable(*root)) {
      const ScanResult found = scan(core_->context, *root, Sweep::kNo);
      stats.entries += found.entries.size();
      stats.bytes += found.bytes;
    }
  }
  stats.counters = core_->context.counters->values();
  Root* written = core_->existing_write_root();
  stats.accumulated = written != nullptr ? core_->counter_log.total(*written) : stats.counters;
  return stats;
}

VerifyReport CubinStore::verify(VerifyAction action) {
  VerifyReport report;
  for (const std::unique_ptr<Root>& root : core_->roots()) {
    if (!readable(*root)) {
      continue;
    }
    for (const ScannedEntry& entry : scan(core_->context, *root, Sweep::kNo).entries) {
      const ReadOutcome outcome = root->read(entry.key, std::nullopt);
      if (outcome.status == ReadStatus::kAbsent) {
        continue;  // evicted meanwhile
      }
      ++report.checked;
      if (outcome.status == ReadStatus::kRejected) {
        report.bad.push_back({outcome.path, std::string(rejection_text(outcome.rejection))});
        if (action == VerifyAction::kQuarantine) {
          root->quarantine(outcome);
        }
      } else if (outcome.status == ReadStatus::kFailed) {
        report.bad.push_back({outcome.path, "it cannot be read: " + describe_error(outcome.error)});
      }
    }
  }
  return report;
}

RemovalReport CubinStore::evict(std::optional<std::uint64_t> target_bytes, Execution execution) {
  Root* root = core_->existing_write_root();
  return root != nullptr ? core_->trimmer.evict(*root, target_bytes, execution) : RemovalReport{};
}

RemovalReport CubinStore::clear(Execution execution) {
  RemovalReport report;
  Root* root = core_->existing_write_root();
  if (root == nullptr) {
    return report;
  }
  const bool real = execution == Execution::kReal;
  ScanResult found = scan(core_->context, *root, real ? Sweep::kYes : Sweep::kNo);
  report.kept_bytes = found.bytes;
  for (ScannedEntry& entry : found.entries) {
    if (real) {
      remove_tree(core_->context.files, entry.path);
      if (core_->context.files.status(entry.path).error != ENOENT) {
        continue;
      }
    }
    ++report.entries;
    report.bytes += entry.bytes;
    report.kept_bytes -= entry.bytes;
    report.paths.push_back(std::move(entry.path));
  }
  if (real) {
    remove_tree(core_->context.files, root->area_path("quarantine"));
  }
  return report;
}

bool CubinStore::remove(const EntryKey& key) {
  Root* root = core_->existing_write_root();
  return root != nullptr && core_->context.files.unlink(root->entry_path(key)) == 0;
}

bool CubinStore::pin(const EntryKey& key) {
  Root* root = core_->write_root();
  if (root == nullptr) {
    return false;
  }
  FileSystem& files = core_->context.files;
  const std::string directory = root->area_path("pins");
  const std::string path = directory + "/" + key.name();
  IoResult<int> file = files.create(path, root->state()->file_mode);
  if (file.error == ENOENT && root->make_directories(directory) == 0) {
    file = files.create(path, root->state()->file_mode);
  }
  if (file.ok()) {
    static_cast<void>(files.close(file.value));
  } else if (file.error != EEXIST) {
    core_->context.report_error(root->path(), file.error, "pinning an entry");
  }
  return file.ok() || file.error == EEXIST;
}

bool CubinStore::unpin(const EntryKey& key) {
  Root* root = core_->existing_write_root();
  return root != nullptr &&
         core_->context.files.unlink(root->area_path("pins") + "/" + key.name()) == 0;
}

std::vector<EntryKey> CubinStore::pins() {
  std::vector<EntryKey> keys;
  if (Root* root = core_->existing_write_root()) {
    for (const std::string& name : read_pins(core_->context, *root)) {
      if (std::optional<EntryKey> key = EntryKey::parse(name)) {
        keys.push_back(std::move(*key));
      }
    }
  }
  return keys;
}

void CubinStore::flush_counters() {
  if (Root* root = core_->existing_write_root()) {
    core_->counter_log.flush(*root);
  }
}

}  // namespace quantjit::cache
