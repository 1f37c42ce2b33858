// SPDX-License-Identifier: Apache-2.0
// Bundles as layers of a store. To the store a bundle looks like a read-only root directory: the
// file `/x/kernels.qjb` is the directory, `v1/<2 hex>/<key>.qjc` in it are the entries. So all that
// holds for roots holds for bundles too: who must own them and the ways to them, that every entry
// is verified when it is read, and that listings, searches and hits that move up include them.
#pragma once

#include "cache/file_system.hpp"
#include "src/bundle/reader.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::bundle {

/// A file system on top of another one, in which certain bundles are directories. Each bundle is
/// opened and its index read once, when it is first asked for. Thread safe.
class BundleLayers final : public cache::FileSystem {
 public:
  /// @param base    must outlive this object
  /// @param bundles absolute paths, without a slash at the end. One that is a directory is left
  /// one;
  ///                one that is missing or no good bundle is no directory, and why_no_directory()
  ///                says why.
  BundleLayers(cache::FileSystem& base, std::vector<std::string> bundles);
  ~BundleLayers() override;
  BundleLayers(const BundleLayers&) = delete;
  BundleLayers& operator=(const BundleLayers&) = delete;

  cache::IoResult<int> open_read(const std::string& path) override;
  cache::IoResult<int> create(const std::string& path, std::uint32_t mode) override;
  cache::IoResult<std::size_t> read_at(int file, std::uint64_t offset,
                                       std::span<char> into) override;
  cache::IoResult<std::size_t> write_at(int file, std::uint64_t offset,
                                        std::string_view bytes) override;
  cache::IoError sync(int file) override;
  cache::IoError close(int file) override;
  cache::IoError sync_directory(const std::string& path) override;
  cache::IoError rename(const std::string& from, const std::string& to) override;
  cache::IoError link(const std::string& from, const std::string& to) override;
  cache::IoError unlink(const std::string& path) override;
  cache::IoError remove_directory(const std::string& path) override;
  cache::IoError make_directory(const std::string& path, std::uint32_t mode) override;
  cache::IoResult<cache::FileStatus> status(const std::string& path) override;
  cache::IoResult<cache::FileStatus> status(int file) override;
  cache::IoError set_modified(const std::string& path,
                              std::chrono::nanoseconds since_epoch) override;
  cache::IoResult<std::vector<std::string>> list(const std::string& path) override;
  cache::IoResult<std::string> read_link(const std::string& path) override;
  cache::IoError may_write(const std::string& path) override;
  std::string why_no_directory(const std::string& path) override;

 private:
  class Layer;

  /// A file of a bundle that is open.
  struct Handle {
    std::shared_ptr<const std::string> bytes;
    cache::FileStatus status;
  };

  /// A bundle, and a path within it: empty for the bundle itself.
  struct Place {
    Layer* layer = nullptr;
    std::string_view inside;
  };

  /// Where a path leads to; nothing if it is outside of all bundles, or below one that is really a
  /// directory.
  [[nodiscard]] std::optional<Place> place_of(const std::string& path);
  [[nodiscard]] std::optional<Handle> handle_of(int file);

  cache::FileSystem& base_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::mutex mutex_;
  std::map<int, Handle> handles_;  // guarded by mutex_
  int next_handle_;                // guarded by mutex_
};

}  // namespace quantjit::bundle
