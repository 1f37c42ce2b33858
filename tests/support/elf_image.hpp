// SPDX-License-Identifier: Apache-2.0
// Small ELF64 images made by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::test {

/// Writes an image piece by piece.
class ElfImage {
 public:
  ElfImage() : bytes_(sizeof(Elf64_Ehdr)) {
    std::memcpy(header_.e_ident, ELFMAG, SELFMAG);
    header_.e_ident[EI_CLASS] = ELFCLASS64;
    header_.e_ident[EI_DATA] = ELFDATA2LSB;
    header_.e_phentsize = sizeof(Elf64_Phdr);
    header_.e_shentsize = sizeof(Elf64_Shdr);
  }

  [[nodiscard]] Elf64_Ehdr& header() { return header_; }

  /// Appends bytes and returns where they are.
  std::uint64_t append(const void* data, std::size_t size) {
    const auto at = bytes_.size();
    const auto* const begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
    return at;
  }

  void set_segments(const std::vector<Elf64_Phdr>& segments) {
    header_.e_phnum = static_cast<Elf64_Half>(segments.size());
    header_.e_phoff = append(segments.data(), segments.size() * sizeof(Elf64_Phdr));
  }

  void set_sections(const std::vector<Elf64_Shdr>& sections) {
    header_.e_shnum = static_cast<Elf64_Half>(sections.size());
    header_.e_shoff = append(sections.data(), sections.size() * sizeof(Elf64_Shdr));
  }

  [[nodiscard]] std::vector<std::byte> bytes() const {
    auto result = bytes_;
    std::memcpy(result.data(), &header_, sizeof(header_));
    return result;
  }

 private:
  Elf64_Ehdr header_{};
  std::vector<std::byte> bytes_;
};

/// One note: name with its NUL, content, both padded to `alignment`.
inline std::string note(std::string_view name, std::uint32_t type, std::string_view content,
                        std::size_t alignment = 4) {
  const Elf64_Nhdr header{static_cast<Elf64_Word>(name.size() + 1),
                          static_cast<Elf64_Word>(content.size()), type};
  std::string text(reinterpret_cast<const char*>(&header), sizeof(header));
  const auto pad = [&text, alignment] {
    text.append((alignment - text.size() % alignment) % alignment, '\0');
  };
  text += name;
  text += '\0';
  pad();
  text += content;
  pad();
  return text;
}

/// An image with one segment of notes, behind a segment of another kind.
inline std::vector<std::byte> image_with_segment(const std::string& notes,
                                                 std::uint64_t alignment = 4) {
  ElfImage image;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = image.append(notes.data(), notes.size());
  segment.p_filesz = notes.size();
  segment.p_align = alignment;
  Elf64_Phdr other{};
  other.p_type = PT_LOAD;
  image.set_segments({other, segment});
  return image.bytes();
}

}  // namespace quantjit::test
