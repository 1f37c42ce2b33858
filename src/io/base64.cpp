// SPDX-License-Identifier: Apache-2.0
#include "src/io/base64.hpp"

#include <cstdint>

namespace quantjit::io {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') {
    ++padding;
  }
  const std::string_view digits = text.substr(0, text.size() - padding);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t pending = 0;
  unsigned pending_bits = 0;
  for (const char digit : digits) {
    const std::size_t value = kAlphabet.find(digit);
    if (value == std::string_view::npos) {
      return std::nullopt;
    }
    pending = (pending << 6U) | static_cast<std::uint32_t>(value);
    pending_bits += 6;
    if (pending_bits >= 8) {
      pending_bits -= 8;
      bytes.push_back(static_cast<std::byte>((pending >> pending_bits) & 0xFFU));
      pending &= (1U << pending_bits) - 1U;
    }
  }
  if (pending != 0) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace quantjit::io
