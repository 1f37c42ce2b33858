// SPDX-License-Identifier: Apache-2.0
#include "src/nvrtc/elf64.hpp"

#include <algorithm>

namespace quantjit::nvrtc {
namespace {

std::string_view text_at(std::span<const std::byte> table, std::uint64_t offset) {
  if (offset >= table.size()) {
    return {};
  }
  const auto* const begin = reinterpret_cast<const char*>(table.data()) + offset;
  const std::string_view rest(begin, table.size() - offset);
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace

bool is_elf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
}

std::optional<Elf64> Elf64::parse(std::span<const std::byte> image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || !is_elf64(*header) ||
      (header->e_shnum != 0 && header->e_shentsize != sizeof(Elf64_Shdr))) {
    return std::nullopt;
  }
  // Segments are not needed here, but a file without all of its table is cut off.
  const std::uint64_t segment_table_bytes =
      std::uint64_t{header->e_phnum} * std::uint64_t{header->e_phentsize};
  if (header->e_phoff > image.size() || segment_table_bytes > image.size() - header->e_phoff) {
    return std::nullopt;
  }
  Elf64 elf;
  elf.header_ = *header;
  std::vector<std::uint32_t> names;
  for (std::uint64_t index = 0; index < header->e_shnum; ++index) {
    // An offset that wraps around lands outside the image as well.
    const auto raw = header->e_shoff > image.size()
                         ? std::nullopt
                         : read_at<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
    if (!raw) {
      return std::nullopt;
    }
    ElfSection section;
    section.type = raw->sh_type;
    section.info = raw->sh_info;
    section.link = raw->sh_link;
    section.size = raw->sh_size;
    if (raw->sh_type != SHT_NOBITS && raw->sh_type != SHT_NULL) {
      if (raw->sh_offset > image.size() || raw->sh_size > image.size() - raw->sh_offset) {
        return std::nullopt;
      }
      section.bytes = image.subspan(raw->sh_offset, raw->sh_size);
    }
    names.push_back(raw->sh_name);
    elf.sections_.push_back(section);
  }
  if (header->e_shstrndx < elf.sections_.size()) {
    const auto table = elf.sections_[header->e_shstrndx].bytes;
    for (std::size_t index = 0; index < names.size(); ++index) {
      elf.sections_[index].name = text_at(table, names[index]);
    }
  }
  return elf;
}

const ElfSection* Elf64::find(std::string_view name) const {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(),
                   [name](const ElfSection& section) { return section.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<Elf64_Sym> Elf64::symbols() const {
  std::vector<Elf64_Sym> result;
  const ElfSection* const table = find(".symtab");
  if (table == nullptr) {
    return result;
  }
  for (std::uint64_t offset = 0; const auto symbol = read_at<Elf64_Sym>(table->bytes, offset);
       offset += sizeof(Elf64_Sym)) {
    result.push_back(*symbol);
  }
  return result;
}

std::string_view Elf64::name_of(const Elf64_Sym& symbol) const {
  const ElfSection* const table = find(".symtab");
  if (table == nullptr || table->link >= sections_.size()) {
    return {};
  }
  return text_at(sections_[table->link].bytes, symbol.st_name);
}

}  // namespace quantjit::nvrtc
