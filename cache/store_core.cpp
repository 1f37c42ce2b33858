// SPDX-License-Identifier: Apache-2.0
#include "cache/store_core.hpp"

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace quantjit::cache {
namespace {

/// One line on layers that cannot be used as given, or nothing if all is well.
std::string describe_layers(const std::vector<std::unique_ptr<Root>>& roots) {
  std::string refused;
  std::string unwritable;
  bool any_writable = false;
  bool any_readable = false;
  for (const std::unique_ptr<Root>& root : roots) {
    const std::shared_ptr<const RootState> state = root->state();
    any_writable = any_writable || (state->trusted && state->writable);
    any_readable = any_readable || (state->trusted && state->exists);
    std::string& list = state->trusted ? unwritable : refused;
    if (!state->reason.empty()) {
      list += (list.empty() ? "" : "; ") + root->path() + ": " + state->reason;
    }
  }
  if (any_writable) {
    return refused.empty() ? std::string() : "cache roots are refused: " + refused;
  }
  std::string reasons = refused + (refused.empty() || unwritable.empty() ? "" : "; ") + unwritable;
  if (reasons.empty()) {
    return {};  // a store without roots is memory only by choice
  }
  return std::string(
             "no cache root can be written, so newly compiled kernels are kept in memory "
             "only") +
         (any_readable ? " (stored ones are still read)" : "") + ": " + reasons +
         "; set QUANTJIT_CACHE_DIR to a directory of your own to store them";
}

}  // namespace

CubinStore::Core::Core(StoreOptions options)
    : context(std::move(options)), trimmer(context), counter_log(context), creator_(::getpid()) {
  for (const RootSpec& spec : context.options.roots) {
    roots_.push_back(std::make_unique<Root>(spec, context));
  }
}

CubinStore::Core::~Core() {
  if (creator_ != ::getpid()) {
    return;  // a copy in a forked child: what it counted is the parent's
  }
  if (Root* root = existing_write_root()) {
    trimmer.finish(*root);
    counter_log.flush(*root);
  }
}

const std::vector<std::unique_ptr<Root>>& CubinStore::Core::roots() {
  std::call_once(examined_, [this] {
    if (const std::string problem = describe_layers(roots_); !problem.empty()) {
      context.warnings.warn("layers", problem);
    }
  });
  return roots_;
}

std::size_t CubinStore::Core::write_layer() {
  std::size_t layer = 0;
  for (const std::unique_ptr<Root>& root : roots()) {
    const std::shared_ptr<const RootState> state = root->state();
    if (state->trusted && state->writable) {
      break;
    }
    ++layer;
  }
  return layer;
}

Root* CubinStore::Core::write_root() {
  const std::size_t layer = write_layer();
  return layer < roots_.size() ? roots_[layer].get() : nullptr;
}

Root* CubinStore::Core::existing_write_root() {
  for (const std::unique_ptr<Root>& root : roots_) {
    const std::shared_ptr<const RootState> state = root->state();
    if (state->trusted && state->writable) {
      return state->exists ? root.get() : nullptr;
    }
  }
  return nullptr;
}

LookupResult CubinStore::Core::find(const EntryKey& key, std::string_view key_text) {
  LookupResult result;
  for (std::size_t layer = 0; layer < roots().size(); ++layer) {
    if (find_in_layer(layer, key, key_text, result)) {
      break;
    }
  }
  return result;
}

bool CubinStore::Core::find_in_layer(std::size_t layer, const EntryKey& key,
                                     std::string_view key_text, LookupResult& result) {
  Root& root = *roots_[layer];
  ReadOutcome outcome = root.read(key, key_text);
  if (outcome.status == ReadStatus::kFailed && outcome.error == ESTALE) {
    context.counters->add_error(ESTALE);
    outcome = root.read(key, key_text);  // the file was replaced on the server while we opened it
  }
  switch (outcome.status) {
    case ReadStatus::kAbsent: return false;
    case ReadStatus::kRejected: reject(root, outcome, result); return false;
    case ReadStatus::kFailed:
      context.counters->add(Counter::kReadFailed);
      context.report_error(root.path(), outcome.error, "reading " + outcome.path);
      result.status = LookupStatus::kRejected;
      result.path = outcome.path;
      result.reason = "it cannot be read: " + describe_error(outcome.error);
      return false;
    case ReadStatus::kFound: break;
  }
  context.counters->add(Counter::kHits);
  if (root.state()->writable) {
    root.touch(outcome.path);
  }
  promote(layer, *outcome.entry);
  result.status = LookupStatus::kFound;
  result.entry = std::move(outcome.entry);
  result.path = outcome.path;
  result.reason.clear();
  return true;
}

void CubinStore::Core::reject(Root& root, const ReadOutcome& outcome, LookupResult& result) {
  context.counters->add(Counter::kRejected);
  result.status = LookupStatus::kRejected;
  result.path = outcome.path;
  result.reason = rejection_text(outcome.rejection);
  const std::string moved = root.state()->writable ? root.quarantine(outcome) : std::string();
  context.warnings.warn("entry:" + outcome.path,
                        "cache entry " + outcome.path + " is not used because " + result.reason +
                            (moved.empty() ? std::string() : "; it was moved to " + moved) +
                            "; the kernel is compiled again");
}

/// Copies what a lower layer had into the one that takes writes, for the next lookup.
void CubinStore::Core::promote(std::size_t layer, const Entry& entry) {
  const std::size_t target = write_layer();
  if (target >= layer) {
    return;
  }
  Root& root = *roots_[target];
  const std::string bytes = serialize(entry, root.state()->mac_key);
  const WriteOutcome written = root.write(entry.key, bytes);
  if (written.ok()) {
    context.counters->add(Counter::kPromoted);
    trimmer.written(root, bytes.size());
  } else {
    context.report_error(root.path(), written.error, written.step);
  }
}

PublishOutcome CubinStore::Core::publish(const Entry& entry) {
  PublishOutcome outcome;
  for (const std::unique_ptr<Root>& root : roots()) {
    const std::shared_ptr<const RootState> state = root->state();
    if (!state->trusted || !state->writable) {
      continue;
    }
    const std::string bytes = serialize(entry, state->mac_key);
    const WriteOutcome written = root->write(entry.key, bytes);
    if (written.ok()) {
      context.counters->add(Counter::kPublished);
      trimmer.written(*root, bytes.size());
      return {PublishStatus::kPublished, written.path, {}, 0};
    }
    context.report_error(root->path(), written.error, written.step);
    outcome = {PublishStatus::kFailed, {}, std::string(written.step), written.error};
    if (written.error != EROFS && written.error != EACCES && written.error != EPERM) {
      break;  // it is the root that takes writes, only not now
    }
  }
  context.counters->add(outcome.status == PublishStatus::kFailed ? Counter::kPublishFailed
                                                                 : Counter::kNoWritableRoot);
  return outcome;
}

}  // namespace quantjit::cache
