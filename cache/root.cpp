// SPDX-License-Identifier: Apache-2.0
// Examining a root and reading its entries; root_write.cpp has what changes it.
#include "cache/root.hpp"

#include "cache/mac_key.hpp"
#include "cache/trust.hpp"

#include <cerrno>

namespace quantjit::cache {
namespace {

/// Modes of what is made in a shared root: those who may read or write the root may read entries
/// and make files, but only the writer of an entry may change it in place.
void derive_shared_modes(RootState& state, std::uint32_t root_mode) {
  state.directory_mode = 0700U | (root_mode & 07077U);
  state.file_mode = 0600U | (root_mode & 0044U);
}

}  // namespace

Root::Root(RootSpec spec, Context& context) : spec_(std::move(spec)), context_(context) {
  while (spec_.path.size() > 1 && spec_.path.back() == '/') {
    spec_.path.pop_back();
  }
}

std::string Root::shard_path(std::string_view request) const {
  return version_path().append("/").append(request.substr(0, 2));
}

std::string Root::entry_path(const EntryKey& key) const {
  return shard_path(key.request).append("/").append(key.file_name());
}

std::string Root::area_path(std::string_view area) const {
  return version_path().append("/").append(area);
}

std::shared_ptr<const RootState> Root::state() {
  const std::lock_guard lock(mutex_);
  if (state_ == nullptr || !state_->settled || (state_->trusted && !state_->exists)) {
    state_ = examine();
  }
  return state_;
}

std::shared_ptr<const RootState> Root::examine() {
  auto state = std::make_shared<RootState>();
  const TrustVerdict verdict =
      shared() ? check_shared_directory(context_.files, spec_.path, context_.user)
               : check_private_directory(context_.files, spec_.path, context_.user);
  state->settled = verdict.settled;
  state->exists = verdict.exists;
  state->trusted = verdict.trusted;
  state->reason = verdict.reason;
  if (!state->trusted) {
    return state;
  }
  if (shared()) {
    examine_sharing(*state, verdict.exists ? verdict.status.mode : 0700U);
  } else if (verdict.exists) {
    const TrustVerdict inner =
        check_private_directory(context_.files, version_path(), context_.user);
    state->settled = inner.settled;
    state->trusted = inner.trusted;
    state->reason = inner.reason;
  }
  if (state->trusted) {
    const IoError error = context_.files.may_write(verdict.nearest);
    state->writable = error == 0;
    state->settled = error == 0 || error == EACCES || error == EROFS || error == EPERM;
    if (error != 0) {
      state->reason = verdict.nearest + " cannot be written: " + describe_error(error);
    }
  }
  return state;
}

void Root::examine_sharing(RootState& state, std::uint32_t root_mode) {
  derive_shared_modes(state, root_mode);
  MacKey key = read_mac_key(context_.files, spec_.mac_key_file, context_.user);
  state.settled = key.settled;
  state.trusted = key.usable;
  state.reason = std::move(key.reason);
  state.mac_key = std::move(key.bytes);
}

ReadOutcome Root::read(const EntryKey& key, std::optional<std::string_view> key_text) {
  const std::shared_ptr<const RootState> root = state();
  if (!root->trusted || !root->exists) {
    return {};
  }
  ReadOutcome outcome = read_file(entry_path(key), *root);
  if (outcome.status != ReadStatus::kFound) {
    return outcome;
  }
  if (outcome.entry->key != key) {
    outcome.rejection = Rejection::kKey;
  } else if (key_text && outcome.entry->key_text != *key_text) {
    outcome.rejection = Rejection::kKeyText;
  }
  if (outcome.rejection != Rejection::kNone) {
    outcome.status = ReadStatus::kRejected;
    outcome.entry.reset();
  }
  return outcome;
}

ReadOutcome Root::read_file(const std::string& path, const RootState& state) {
  ReadOutcome outcome;
  outcome.path = path;
  const auto fail = [&](IoError error) {
    outcome.status = error == ENOENT ? ReadStatus::kAbsent : ReadStatus::kFailed;
    outcome.error = error;
    return outcome;
  };
  const auto reject = [&](Rejection rejection, const FileStatus& file) {
    outcome.status = ReadStatus::kRejected;
    outcome.rejection = rejection;
    outcome.file = file;
    return outcome;
  };
  // Asked before opening: to open a device can set it going.
  IoResult<FileStatus> status = context_.files.status(path);
  if (status.error == ENOTDIR) {
    outcome.path = path.substr(0, path.rfind('/'));
    status = context_.files.status(outcome.path);
    return status.ok() ? reject(Rejection::kFileType, status.value) : fail(status.error);
  }
  if (!status.ok()) {
    return fail(status.error);
  }
  if (status.value.kind != FileKind::kRegular) {
    return reject(Rejection::kFileType, status.value);
  }
  const IoResult<int> file = context_.files.open_read(path);
  if (!file.ok()) {
    return file.error == ELOOP ? reject(Rejection::kFileType, status.value) : fail(file.error);
  }
  status = context_.files.status(file.value);
  std::string bytes;
  IoError error = status.error;
  Rejection rejection = Rejection::kNone;
  if (error == 0 && status.value.kind != FileKind::kRegular) {
    rejection = Rejection::kFileType;
  } else if (error == 0 && state.mac_key.empty() && !is_private(status.value, context_.user)) {
    rejection = Rejection::kOwner;
  } else if (error == 0 && status.value.bytes > kMaxFileBytes) {
    rejection = Rejection::kSize;
  } else if (error == 0) {
    error = load(file.value, status.value, bytes);
  }
  static_cast<void>(context_.files.close(file.value));
  if (error != 0) {
    return fail(error);
  }
  if (rejection == Rejection::kNone) {
    ParsedEntry parsed = parse(bytes, state.mac_key);
    rejection = parsed.rejection;
    outcome.entry = std::move(parsed.entry);
  }
  if (rejection != Rejection::kNone) {
    return reject(rejection, status.value);
  }
  outcome.status = ReadStatus::kFound;
  outcome.file = status.value;
  return outcome;
}

IoError Root::load(int file, const FileStatus& status, std::string& bytes) {
  bytes.resize(static_cast<std::size_t>(status.bytes));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const IoResult<std::size_t> got = context_.files.read_at(
        file, filled, std::span(bytes.data() + filled, bytes.size() - filled));
    if (!got.ok()) {
      return got.error;
    }
    if (got.value == 0) {
      break;  // shorter than a moment ago: the parser will say so
    }
    filled += got.value;
  }
  bytes.resize(filled);
  return 0;
}

}  // namespace quantjit::cache
