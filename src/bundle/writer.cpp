// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/writer.hpp"

#include "cache/context.hpp"
#include "src/bundle/compression.hpp"
#include "src/bundle/signature.hpp"

#include <quantjit/error.hpp>

#include <utility>

namespace quantjit::bundle {
namespace {

// Bundles are handed on, so others may read them; nobody else may write them.
constexpr std::uint32_t kMode = 0644;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Writer::Writer(cache::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {
  if (compression_version().empty()) {
    static_cast<void>(compress({}));  // throws what says so, before anything is made
  }
  const std::size_t name = path_.rfind('/') + 1;  // 0 if there is no slash
  std::string temporary = path_.substr(0, name) + ".tmp-" + cache::unique_token();
  const cache::IoResult<int> file = files_.create(temporary, kMode);
  check(file.error, "creating it");
  temporary_ = std::move(temporary);
  file_ = file.value;
}

Writer::~Writer() {
  if (file_ >= 0) {
    static_cast<void>(files_.close(file_));
  }
  if (!temporary_.empty()) {
    static_cast<void>(files_.unlink(temporary_));
  }
}

void Writer::check(cache::IoError error, std::string_view doing) const {
  if (error != 0) {
    throw Error("the bundle " + path_ + " cannot be written: " + std::string(doing) + " gave " +
                cache::describe_error(error));
  }
}

void Writer::append(std::string_view bytes) {
  check(cache::write_all(files_, file_, at_, bytes), "writing");
  at_ += bytes.size();
}

void Writer::add(const cache::Entry& entry) {
  std::optional<IndexEntry> described = describe(entry);
  if (!described) {
    throw Error("the entry " + entry.key.name() +
                " cannot go into a bundle: its key text has an unknown form");
  }
  const std::string bytes = cache::serialize(entry);
  unpacked_ += bytes.size();
  if (entries_.size() == kMaxEntries || unpacked_ > kMaxUnpackedBytes) {
    throw Error("the bundle " + path_ +
                " would be larger than a bundle may be (131,072 entries, 16 GiB unpacked); "
                "make several, for instance one a target");
  }
  const std::string packed = compress(bytes);
  described->bytes = bytes.size();
  described->packed_bytes = packed.size();
  described->sha256 = base::to_hex(base::sha256(bytes));
  described->packed_sha256 = base::to_hex(base::sha256(packed));
  described->at = at_;
  append(packed);
  entries_.push_back(std::move(*described));
}

Header Writer::finish(const std::string& signing_key) {
  const std::string index = write_index(entries_);
  const std::string packed = compress(index);
  Header header{.file_bytes = at_ + packed.size(),
                .index_at = at_,
                .index_packed_bytes = packed.size(),
                .index_bytes = index.size(),
                .entries = entries_.size(),
                .index_sha256 = base::sha256(packed),
                .signature = std::nullopt};
  if (!signing_key.empty()) {
    header.signature = sign(signing_key, signed_bytes(header));
  }
  append(packed);
  check(cache::write_all(files_, file_, 0, encode(header)), "writing");
  check(files_.sync(file_), "fsync");
  check(files_.close(std::exchange(file_, -1)), "closing it");
  check(files_.rename(temporary_, path_), "renaming it");
  temporary_.clear();
  check(files_.sync_directory(directory_of(path_)), "fsync of its directory");
  return header;
}

}  // namespace quantjit::bundle
