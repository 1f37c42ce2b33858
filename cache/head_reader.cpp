// SPDX-License-Identifier: Apache-2.0
#include "cache/head_reader.hpp"

namespace quantjit::cache {
namespace {

// Long enough for the heads of most entries, and one page.
constexpr std::size_t kFirstRead = 4096;

bool read_up_to(FileSystem& files, int file, std::string& bytes, std::size_t wanted) {
  std::size_t filled = bytes.size();
  bytes.resize(wanted);
  while (filled < wanted) {
    const IoResult<std::size_t> got =
        files.read_at(file, filled, std::span(bytes.data() + filled, wanted - filled));
    if (!got.ok()) {
      return false;
    }
    if (got.value == 0) {
      break;
    }
    filled += got.value;
  }
  bytes.resize(filled);
  return true;
}

}  // namespace

std::optional<EntryHead> read_head(FileSystem& files, const std::string& path) {
  const IoResult<FileStatus> status = files.status(path);
  if (!status.ok() || status.value.kind != FileKind::kRegular) {
    return std::nullopt;
  }
  const IoResult<int> file = files.open_read(path);
  if (!file.ok()) {
    return std::nullopt;
  }
  std::string bytes;
  std::optional<EntryHead> head;
  if (read_up_to(files, file.value, bytes, kFirstRead)) {
    const std::optional<std::uint64_t> needed = head_bytes(bytes);
    if (needed && (*needed <= bytes.size() ||
                   read_up_to(files, file.value, bytes, static_cast<std::size_t>(*needed)))) {
      head = parse_head(bytes);
    }
  }
  static_cast<void>(files.close(file.value));
  return head;
}

}  // namespace quantjit::cache
