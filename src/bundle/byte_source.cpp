// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/byte_source.hpp"

#include "cache/context.hpp"

#include <quantjit/error.hpp>

#include <cerrno>
#include <span>
#include <utility>

namespace quantjit::bundle {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(cache::FileSystem& files, std::string path, int file, std::uint64_t size)
      : files_(files), path_(std::move(path)), file_(file), size_(size) {}

  ~FileSource() override { static_cast<void>(files_.close(file_)); }

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  [[nodiscard]] const std::string& name() const override { return path_; }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  [[nodiscard]] cache::IoResult<std::string> read(std::uint64_t offset,
                                                  std::uint64_t count) const override {
    std::string bytes(static_cast<std::size_t>(count), '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      const cache::IoResult<std::size_t> got = files_.read_at(
          file_, offset + filled, std::span(bytes.data() + filled, bytes.size() - filled));
      if (!got.ok() || got.value == 0) {
        return {got.ok() ? EIO : got.error, {}};
      }
      filled += got.value;
    }
    return {0, std::move(bytes)};
  }

 private:
  cache::FileSystem& files_;
  std::string path_;
  int file_;
  std::uint64_t size_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::string bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

  [[nodiscard]] cache::IoResult<std::string> read(std::uint64_t offset,
                                                  std::uint64_t count) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset) {
      return {EIO, {}};
    }
    return {0, bytes_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(count))};
  }

 private:
  std::string name_;
  std::string bytes_;
};

}  // namespace

ByteSource::~ByteSource() = default;

OpenedFile open_file(cache::FileSystem& files, const std::string& path) {
  const cache::IoResult<int> file = files.open_read(path);
  if (!file.ok()) {
    throw Error("the bundle " + path + " cannot be opened: " +
                (file.error == ELOOP ? "it is a symbolic link; name the file that it leads to"
                                     : cache::describe_error(file.error)));
  }
  const cache::IoResult<cache::FileStatus> status = files.status(file.value);
  if (!status.ok() || status.value.kind != cache::FileKind::kRegular) {
    static_cast<void>(files.close(file.value));
    throw Error("the bundle " + path + " cannot be opened: " +
                (status.ok() ? "it is not a regular file" : cache::describe_error(status.error)));
  }
  return {std::make_unique<FileSource>(files, path, file.value, status.value.bytes), status.value};
}

std::unique_ptr<ByteSource> from_memory(std::string name, std::string bytes) {
  return std::make_unique<MemorySource>(std::move(name), std::move(bytes));
}

}  // namespace quantjit::bundle
