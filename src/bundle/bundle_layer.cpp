// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/bundle_layer.hpp"

#include "cache/trust.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>
#include <unistd.h>
#include <utility>

namespace quantjit::bundle {

using cache::FileKind;
using cache::FileStatus;
using cache::IoError;
using cache::IoResult;

namespace {

// Descriptors of the operating system are small; these are not taken for one.
constexpr int kFirstHandle = 1 << 30;
constexpr std::string_view kVersionFolder = "v1";

/// What the store takes for an entry of this key and rejects for its checksum.
std::string damaged_file(const cache::EntryKey& key) {
  cache::Entry nothing;
  nothing.key = key;
  std::string bytes = cache::serialize(nothing);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  return bytes;
}

}  // namespace

/// One bundle.
class BundleLayers::Layer {
 public:
  Layer(cache::FileSystem& base, std::string path) : base_(base), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Status of the file itself; a directory's if it is a bundle.
  [[nodiscard]] IoResult<FileStatus> root() {
    return load().is_bundle ? IoResult<FileStatus>{0, directory()} : base_.status(path_);
  }

  [[nodiscard]] bool is_plain_directory() { return load().file.kind == FileKind::kDirectory; }

  [[nodiscard]] const std::string& problem() { return load().problem; }

  [[nodiscard]] bool usable() { return load().reader != nullptr; }

  /// A directory of the bundle. Whoever may write the file counts as who may write the directory.
  [[nodiscard]] FileStatus directory() {
    FileStatus status = load().file;
    status.kind = FileKind::kDirectory;
    return status;
  }

  /// Status of a file of the bundle.
  [[nodiscard]] FileStatus file(const IndexEntry& entry) {
    FileStatus status = load().file;
    status.bytes = entry.bytes;
    status.inode = entry.at;
    return status;
  }

  [[nodiscard]] bool is_shard(std::string_view name) { return load().shards.contains(name); }

  [[nodiscard]] std::vector<std::string> shards() {
    return {load().shards.begin(), load().shards.end()};
  }

  [[nodiscard]] std::vector<std::string> names_in(std::string_view shard) {
    const std::vector<IndexEntry>& entries = load().reader->entries();
    std::vector<std::string> names;
    for (auto it = lower_bound({std::string(shard), {}});
         it != entries.end() && it->key.request.starts_with(shard); ++it) {
      names.push_back(it->key.file_name());
    }
    return names;
  }

  /// The entry at `<2 hex>/<key>.qjc`, or null.
  [[nodiscard]] const IndexEntry* find(std::string_view inside) {
    const std::size_t slash = inside.find('/');
    const std::optional<cache::EntryKey> key =
        slash == 2 ? cache::EntryKey::parse(inside.substr(slash + 1)) : std::nullopt;
    if (!key || !inside.ends_with(key->file_name()) ||
        !key->request.starts_with(inside.substr(0, slash))) {
      return nullptr;
    }
    const auto found = lower_bound(*key);
    return found != load().reader->entries().end() && found->key == *key ? &*found : nullptr;
  }

  /// The file of an entry. In place of one that is damaged something that the store rejects, so
  /// that it does and says what it does and says of damaged files.
  [[nodiscard]] std::shared_ptr<const std::string> read(const IndexEntry& entry) {
    {
      const std::lock_guard lock(mutex_);
      if (last_at_ == entry.at && last_ != nullptr) {
        return last_;  // a head that was read is often followed by the whole
      }
    }
    EntryBytes file = load().reader->read_bytes(entry);
    auto bytes = std::make_shared<const std::string>(file.bytes ? std::move(*file.bytes)
                                                                : damaged_file(entry.key));
    const std::lock_guard lock(mutex_);
    last_ = bytes;
    last_at_ = entry.at;
    return bytes;
  }

 private:
  struct Content {
    bool is_bundle = false;
    std::unique_ptr<Reader> reader;  ///< null if it is none, or one that strangers may write
    std::string problem;             ///< why it is no bundle
    FileStatus file;
    std::set<std::string, std::less<>> shards;
  };

  const Content& load() {
    std::call_once(loaded_, [this] {
      try {
        open();
      } catch (const Error& error) {
        content_.problem = error.what();
      }
    });
    return content_;
  }

  void open() {
    const IoResult<FileStatus> status = base_.status(path_);
    content_.file = status.value;
    if (status.error == ENOENT) {
      content_.problem = "there is no bundle " + path_;
    }
    if (!status.ok() || status.value.kind != FileKind::kRegular) {
      return;
    }
    OpenedFile opened = open_file(base_, path_);
    content_.file = opened.status;
    if (cache::is_private(opened.status, ::geteuid())) {
      content_.reader = std::make_unique<Reader>(std::move(opened.source));
      for (const IndexEntry& entry : content_.reader->entries()) {
        content_.shards.insert(entry.key.request.substr(0, 2));
      }
    }
    content_.is_bundle = true;  // if it is not private, the store refuses it like any such root
  }

  [[nodiscard]] std::vector<IndexEntry>::const_iterator lower_bound(const cache::EntryKey& key) {
    const std::vector<IndexEntry>& entries = load().reader->entries();
    return std::lower_bound(
        entries.begin(), entries.end(), key,
        [](const IndexEntry& a, const cache::EntryKey& b) { return a.key < b; });
  }

  cache::FileSystem& base_;
  std::string path_;
  std::once_flag loaded_;
  Content content_;  // constant once loaded
  std::mutex mutex_;
  std::shared_ptr<const std::string> last_;  // guarded by mutex_
  std::uint64_t last_at_ = 0;                // guarded by mutex_
};

BundleLayers::BundleLayers(cache::FileSystem& base, std::vector<std::string> bundles)
    : base_(base), next_handle_(kFirstHandle) {
  for (std::string& path : bundles) {
    layers_.push_back(std::make_unique<Layer>(base_, std::move(path)));
  }
}

BundleLayers::~BundleLayers() = default;

std::optional<BundleLayers::Place> BundleLayers::place_of(const std::string& path) {
  for (const std::unique_ptr<Layer>& layer : layers_) {
    if (!path.starts_with(layer->path())) {
      continue;
    }
    std::string_view inside = std::string_view(path).substr(layer->path().size());
    if ((!inside.empty() && inside.front() != '/') || layer->is_plain_directory()) {
      continue;
    }
    inside.remove_prefix(inside.empty() ? 0 : 1);
    return Place{layer.get(), inside};
  }
  return std::nullopt;
}

std::optional<BundleLayers::Handle> BundleLayers::handle_of(int file) {
  if (file < kFirstHandle) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(file);
  return found != handles_.end() ? std::optional(found->second) : std::nullopt;
}

IoResult<FileStatus> BundleLayers::status(const std::string& path) {
  const std::optional<Place> place = place_of(path);
  if (!place) {
    return base_.status(path);
  }
  Layer& layer = *place->layer;
  if (place->inside.empty()) {
    IoResult<FileStatus> root = layer.root();
    if (root.error == ENOENT) {
      return {};  // there, but of no kind: the store shall not make a directory of this name
    }
    return root;
  }
  if (!layer.usable()) {
    return {ENOTDIR, {}};
  }
  std::string_view inside = place->inside;
  if (inside == kVersionFolder) {
    return {0, layer.directory()};
  }
  if (!inside.starts_with("v1/")) {
    return {ENOENT, {}};
  }
  inside.remove_prefix(3);
  if (layer.is_shard(inside)) {
    return {0, layer.directory()};
  }
  const IndexEntry* const entry = layer.find(inside);
  return entry != nullptr ? IoResult<FileStatus>{0, layer.file(*entry)}
                          : IoResult<FileStatus>{ENOENT, {}};
}

IoResult<std::vector<std::string>> BundleLayers::list(const std::string& path) {
  const std::optional<Place> place = place_of(path);
  if (!place) {
    return base_.list(path);
  }
  Layer& layer = *place->layer;
  if (!layer.usable()) {
    return {ENOTDIR, {}};
  }
  if (place->inside.empty()) {
    return {0, {std::string(kVersionFolder)}};
  }
  if (place->inside == kVersionFolder) {
    return {0, layer.shards()};
  }
  if (place->inside.starts_with("v1/") && layer.is_shard(place->inside.substr(3))) {
    return {0, layer.names_in(place->inside.substr(3))};
  }
  return {ENOENT, {}};
}

IoResult<int> BundleLayers::open_read(const std::string& path) {
  const std::optional<Place> place = place_of(path);
  if (!place) {
    return base_.open_read(path);
  }
  Layer& layer = *place->layer;
  const IndexEntry* const entry = layer.usable() && place->inside.starts_with("v1/")
                                      ? layer.find(place->inside.substr(3))
                                      : nullptr;
  if (entry == nullptr) {
    return {ENOENT, {}};
  }
  Handle handle{layer.read(*entry), layer.file(*entry)};
  handle.status.bytes = handle.bytes->size();
  const std::lock_guard lock(mutex_);
  while (handles_.contains(next_handle_)) {
    next_handle_ =
        next_handle_ == std::numeric_limits<int>::max() ? kFirstHandle : next_handle_ + 1;
  }
  handles_.emplace(next_handle_, std::move(handle));
  return {0, next_handle_};
}

IoResult<std::size_t> BundleLayers::read_at(int file, std::uint64_t offset, std::span<char> into) {
  const std::optional<Handle> handle = handle_of(file);
  if (!handle) {
    return base_.read_at(file, offset, into);
  }
  const std::string& bytes = *handle->bytes;
  const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(offset, bytes.size()));
  return {0, bytes.copy(into.data(), into.size(), from)};
}

IoResult<FileStatus> BundleLayers::status(int file) {
  const std::optional<Handle> handle = handle_of(file);
  return handle ? IoResult<FileStatus>{0, handle->status} : base_.status(file);
}

IoError BundleLayers::close(int file) {
  if (file < kFirstHandle) {
    return base_.close(file);
  }
  const std::lock_guard lock(mutex_);
  return handles_.erase(file) == 1 ? 0 : EBADF;
}

std::string BundleLayers::why_no_directory(const std::string& path) {
  const std::optional<Place> place = place_of(path);
  return place && place->inside.empty() ? place->layer->problem() : std::string();
}

IoError BundleLayers::may_write(const std::string& path) {
  return place_of(path) ? EROFS : base_.may_write(path);
}

IoResult<std::string> BundleLayers::read_link(const std::string& path) {
  return base_.read_link(path);  // a link in a bundle's place is still one
}

IoResult<int> BundleLayers::create(const std::string& path, std::uint32_t mode) {
  return place_of(path) ? IoResult<int>{EROFS, {}} : base_.create(path, mode);
}

IoResult<std::size_t> BundleLayers::write_at(int file, std::uint64_t offset,
                                             std::string_view bytes) {
  return base_.write_at(file, offset, bytes);
}

IoError BundleLayers::sync(int file) {
  return base_.sync(file);
}

IoError BundleLayers::sync_directory(const std::string& path) {
  return place_of(path) ? EROFS : base_.sync_directory(path);
}

IoError BundleLayers::rename(const std::string& from, const std::string& to) {
  return place_of(from) || place_of(to) ? EROFS : base_.rename(from, to);
}

IoError BundleLayers::link(const std::string& from, const std::string& to) {
  return place_of(from) || place_of(to) ? EROFS : base_.link(from, to);
}

IoError BundleLayers::unlink(const std::string& path) {
  return place_of(path) ? EROFS : base_.unlink(path);
}

IoError BundleLayers::remove_directory(const std::string& path) {
  return place_of(path) ? EROFS : base_.remove_directory(path);
}

IoError BundleLayers::make_directory(const std::string& path, std::uint32_t mode) {
  return place_of(path) ? EROFS : base_.make_directory(path, mode);
}

IoError BundleLayers::set_modified(const std::string& path, std::chrono::nanoseconds since_epoch) {
  return place_of(path) ? EROFS : base_.set_modified(path, since_epoch);
}

}  // namespace quantjit::bundle
