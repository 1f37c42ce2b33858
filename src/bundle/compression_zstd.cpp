// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/compression.hpp"

#include <quantjit/error.hpp>

#include <new>
#include <zstd.h>

namespace quantjit::bundle {
namespace {

// Machine code of this size gains little beyond it, and it still packs tens of megabytes a second.
constexpr int kLevel = 12;

}  // namespace

std::string compression_version() {
  return ZSTD_versionString();
}

std::string compress(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0U) {
    throw std::bad_alloc();  // the one thing that can fail when the room is large enough
  }
  packed.resize(size);
  return packed;
}

std::optional<std::string> decompress(std::string_view packed, std::uint64_t bytes) {
  if (ZSTD_findFrameCompressedSize(packed.data(), packed.size()) != packed.size() ||
      ZSTD_getFrameContentSize(packed.data(), packed.size()) != bytes) {
    return std::nullopt;
  }
  std::string content(static_cast<std::size_t>(bytes), '\0');
  const std::size_t size =
      ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0U || size != content.size()) {
    return std::nullopt;
  }
  return content;
}

}  // namespace quantjit::bundle
