// SPDX-License-Identifier: Apache-2.0
// A bounds-checked view of the sections of an ELF64 little-endian image. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quantjit::nvrtc {

/// Copies a trivially copyable value out of `bytes`; nothing if it does not lie inside.
template <typename T>
[[nodiscard]] std::optional<T> read_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// True for the header of an ELF64 little-endian file.
[[nodiscard]] bool is_elf64(const Elf64_Ehdr& header);

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint32_t info = 0;
  std::uint32_t link = 0;
  std::uint64_t size = 0;
  std::span<const std::byte> bytes;  ///< empty for a section without content in the file
};

/// The sections of an image. Views point into the image, which must outlive this.
class Elf64 {
 public:
  /// Nothing if the image is no ELF64 or if a section or a table lies outside it.
  [[nodiscard]] static std::optional<Elf64> parse(std::span<const std::byte> image);

  [[nodiscard]] const Elf64_Ehdr& header() const noexcept { return header_; }

  [[nodiscard]] const std::vector<ElfSection>& sections() const noexcept { return sections_; }

  /// The section of that name, or null.
  [[nodiscard]] const ElfSection* find(std::string_view name) const;
  /// The symbols of the section ".symtab"; empty without one.
  [[nodiscard]] std::vector<Elf64_Sym> symbols() const;
  /// Name of a symbol; empty if its offset is damaged.
  [[nodiscard]] std::string_view name_of(const Elf64_Sym& symbol) const;

 private:
  Elf64_Ehdr header_{};
  std::vector<ElfSection> sections_;
};

}  // namespace quantjit::nvrtc
