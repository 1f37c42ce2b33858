// SPDX-License-Identifier: Apache-2.0
#include "src/nvrtc/build_id.hpp"

#include "src/base/sha256.hpp"
#include "src/nvrtc/elf64.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace quantjit::nvrtc {
namespace {

constexpr std::uint64_t kMaxNoteBytes = 1U << 20U;  // notes are some hundred bytes
constexpr std::size_t kMinBuildIdHex = 16;          // what an entry name carries
constexpr std::uint32_t kMaxBuildIdBytes = 64;

/// Reads parts of an image in memory.
class SpanSource {
 public:
  explicit SpanSource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> to) const {
    if (offset > bytes_.size() || to.size() > bytes_.size() - offset) {
      return false;
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Reads parts of a file, so that identifying a library of a hundred megabytes touches a few
/// pages. Unlike a mapping it cannot fault if the file is cut off meanwhile.
class FileSource {
 public:
  explicit FileSource(const std::filesystem::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  FileSource(FileSource&&) = delete;
  FileSource& operator=(FileSource&&) = delete;

  ~FileSource() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }

  [[nodiscard]] bool status(struct stat& to) const {
    return descriptor_ >= 0 && fstat(descriptor_, &to) == 0 && S_ISREG(to.st_mode);
  }

  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> to) const {
    std::size_t done = 0;
    while (done < to.size()) {
      const ssize_t count =
          pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
      if (count <= 0) {
        return false;
      }
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  int descriptor_;
};

template <typename T, typename Source>
bool read_value(const Source& source, std::uint64_t offset, T& value) {
  return source.read(offset, std::as_writable_bytes(std::span(&value, 1)));
}

std::string to_hex(std::span<const std::byte> bytes) {
  return base::to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

/// Looks through a block of notes, whose parts are padded to `alignment`.
std::optional<std::string> build_id_in_notes(std::span<const std::byte> notes,
                                             std::uint64_t alignment) {
  const auto padded = [alignment](std::uint64_t size) {
    return (size + alignment - 1) / alignment * alignment;
  };
  std::uint64_t offset = 0;
  while (const auto note = read_at<Elf64_Nhdr>(notes, offset)) {
    const std::uint64_t name_at = offset + sizeof(Elf64_Nhdr);
    const std::uint64_t content_at = offset + padded(sizeof(Elf64_Nhdr) + note->n_namesz);
    if (content_at > notes.size() || note->n_descsz > notes.size() - content_at) {
      return std::nullopt;
    }
    const bool is_gnu =
        note->n_namesz == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(notes.data() + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
    if (is_gnu && note->n_type == NT_GNU_BUILD_ID && note->n_descsz != 0 &&
        note->n_descsz <= kMaxBuildIdBytes) {
      return to_hex(notes.subspan(content_at, note->n_descsz));
    }
    offset = content_at + padded(note->n_descsz);
  }
  return std::nullopt;
}

template <typename Source>
std::optional<std::string> build_id_at(const Source& source, std::uint64_t offset,
                                       std::uint64_t size, std::uint64_t alignment) {
  if (size > kMaxNoteBytes) {
    return std::nullopt;
  }
  std::vector<std::byte> notes(size);
  if (!source.read(offset, notes)) {
    return std::nullopt;
  }
  return build_id_in_notes(notes, alignment == 8 ? 8 : 4);
}

template <typename Source>
std::optional<std::string> find_build_id(const Source& source) {
  Elf64_Ehdr header{};
  if (!read_value(source, 0, header) || !is_elf64(header)) {
    return std::nullopt;
  }
  for (std::uint64_t index = 0; header.e_phentsize == sizeof(Elf64_Phdr) && index < header.e_phnum;
       ++index) {
    Elf64_Phdr segment{};
    if (!read_value(source, header.e_phoff + index * sizeof(segment), segment)) {
      break;
    }
    if (segment.p_type == PT_NOTE) {
      if (auto id = build_id_at(source, segment.p_offset, segment.p_filesz, segment.p_align)) {
        return id;
      }
    }
  }
  // Some files have the section but no segment for it.
  for (std::uint64_t index = 0; header.e_shentsize == sizeof(Elf64_Shdr) && index < header.e_shnum;
       ++index) {
    Elf64_Shdr section{};
    if (!read_value(source, header.e_shoff + index * sizeof(section), section)) {
      break;
    }
    if (section.sh_type == SHT_NOTE) {
      if (auto id = build_id_at(source, section.sh_offset, section.sh_size, section.sh_addralign)) {
        return id;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> content_hash(const FileSource& file, std::uint64_t size) {
  base::Sha256 hash;
  std::vector<std::byte> chunk(std::size_t{1} << 20U);
  for (std::uint64_t offset = 0; offset < size; offset += chunk.size()) {
    const auto part = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), size - offset));
    if (!file.read(offset, part)) {
      return std::nullopt;
    }
    hash.update(std::span<const std::byte>(part));
  }
  return base::to_hex(hash.finish());
}

}  // namespace

std::optional<std::string> gnu_build_id(std::span<const std::byte> image) {
  return find_build_id(SpanSource(image));
}

std::optional<LibraryIdentity> IdentityCache::identify(const std::filesystem::path& path) {
  const FileSource file(path);

  struct stat status {};

  if (!file.status(status)) {
    return std::nullopt;
  }
  const Stamp stamp{static_cast<std::uint64_t>(status.st_size), status.st_ino, status.st_dev,
                    status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(path);
  if (found != known_.end() && found->second.stamp == stamp) {
    return found->second.identity;
  }
  LibraryIdentity identity;
  if (auto id = find_build_id(file); id && id->size() >= kMinBuildIdHex) {
    identity = {std::move(*id), IdentitySource::kBuildId};
  } else if (auto hash = content_hash(file, stamp.size)) {
    identity = {std::move(*hash), IdentitySource::kContentHash};
  } else {
    return std::nullopt;
  }
  known_[path] = {stamp, identity};
  return identity;
}

}  // namespace quantjit::nvrtc
