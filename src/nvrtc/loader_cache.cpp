// SPDX-License-Identifier: Apache-2.0
#include "src/nvrtc/loader_cache.hpp"

#include "src/nvrtc/elf64.hpp"

#include <cstdint>
#include <string>

namespace quantjit::nvrtc {
namespace {

// <cache>   ::= [<old part>] <header> <entry>* <strings>
// <header>  ::= magic "glibc-ld.so.cache1.1" (20 bytes), entry count, strings size, 20 more bytes
// <entry>   ::= flags, offset of the name, offset of the path, OS version, hardware (8 bytes)
// Offsets count from the start of <header>. The old part is there for very old programs.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::uint64_t kHeaderBytes = 48;
constexpr std::uint64_t kEntryBytes = 24;
constexpr std::uint64_t kOldHeaderBytes = 16;
constexpr std::uint64_t kOldCountOffset = 12;
constexpr std::uint64_t kOldEntryBytes = 12;

#if defined(__x86_64__)
constexpr std::uint32_t kThisMachine = 0x0303;  // x86-64, libc6
#elif defined(__aarch64__)
constexpr std::uint32_t kThisMachine = 0x0a03;  // AArch64, libc6
#else
constexpr std::uint32_t kThisMachine = 0x0003;
#endif

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

std::string_view text_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) {
    return {};
  }
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + offset,
                              bytes.size() - offset);
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

/// The part that begins with <header>; empty if there is none.
std::span<const std::byte> current_part(std::span<const std::byte> cache) {
  if (starts_with(cache, kOldMagic)) {
    const auto count = read_at<std::uint32_t>(cache, kOldCountOffset);
    const std::uint64_t end = count ? kOldHeaderBytes + *count * kOldEntryBytes : cache.size();
    const std::uint64_t aligned = (end + 7) / 8 * 8;
    cache = aligned < cache.size() ? cache.subspan(aligned) : std::span<const std::byte>{};
  }
  return starts_with(cache, kMagic) ? cache : std::span<const std::byte>{};
}

}  // namespace

std::vector<std::filesystem::path> libraries_in_loader_cache(std::span<const std::byte> cache,
                                                             std::string_view prefix) {
  std::vector<std::filesystem::path> result;
  const auto part = current_part(cache);
  const auto count = read_at<std::uint32_t>(part, kMagic.size());
  for (std::uint64_t index = 0; count && index < *count; ++index) {
    const std::uint64_t at = kHeaderBytes + index * kEntryBytes;
    const auto flags = read_at<std::uint32_t>(part, at);
    const auto name_at = read_at<std::uint32_t>(part, at + 4);
    const auto path_at = read_at<std::uint32_t>(part, at + 8);
    if (!flags || !name_at || !path_at) {
      break;
    }
    const std::string_view path = text_at(part, *path_at);
    if (*flags == kThisMachine && text_at(part, *name_at).starts_with(prefix) && !path.empty()) {
      result.emplace_back(std::string(path));
    }
  }
  return result;
}

}  // namespace quantjit::nvrtc
