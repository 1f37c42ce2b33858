// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace quantjit::base {
namespace {

std::uint32_t load_big_endian(const std::byte* p) {
  return std::to_integer<std::uint32_t>(p[0]) << 24 | std::to_integer<std::uint32_t>(p[1]) << 16 |
         std::to_integer<std::uint32_t>(p[2]) << 8 | std::to_integer<std::uint32_t>(p[3]);
}

void compress_block(Sha256State& state, const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = load_big_endian(block + 4 * i);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto s = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t e = s[4];
    const std::uint32_t a = s[0];
    const std::uint32_t t1 = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & s[5]) ^ (~e & s[6])) + kSha256RoundConstants[i] + w[i];
    const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                             ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) {
    state[i] += s[i];
  }
}

/// The fastest that this processor can.
Sha256Compress best_compress() {
  static const Sha256Compress best = [] {
    const Sha256Compress x86 = sha256_compress_x86();
    return x86 != nullptr ? x86 : &sha256_compress_portable;
  }();
  return best;
}

}  // namespace

void sha256_compress_portable(Sha256State& state, const std::byte* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    compress_block(state, blocks + 64 * i);
  }
}

Sha256::Sha256() : Sha256(best_compress()) {}

Sha256::Sha256(Sha256Compress compress)
    : compress_(compress), state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::update(std::span<const std::byte> bytes) {
  total_bytes_ += bytes.size();
  if (buffered_ != 0) {
    const std::size_t taken = std::min(bytes.size(), buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, bytes.data(), taken);
    buffered_ += taken;
    bytes = bytes.subspan(taken);
    if (buffered_ < buffer_.size()) {
      return;
    }
    compress_(state_, buffer_.data(), 1);
    buffered_ = 0;
  }
  if (const std::size_t blocks = bytes.size() / buffer_.size(); blocks != 0) {
    compress_(state_, bytes.data(), blocks);
    bytes = bytes.subspan(blocks * buffer_.size());
  }
  if (!bytes.empty()) {
    std::memcpy(buffer_.data(), bytes.data(), bytes.size());
    buffered_ = bytes.size();
  }
}

Sha256Digest Sha256::finish() {
  const std::uint64_t total_bits = total_bytes_ * 8;
  std::array<std::byte, 72> padding{};
  padding[0] = std::byte{0x80};
  const std::size_t zeros = (buffered_ < 56 ? 56 : 120) - buffered_;
  for (std::size_t i = 0; i < 8; ++i) {
    padding[zeros + i] = static_cast<std::byte>(total_bits >> (56 - 8 * i));
  }
  update(std::span(padding).first(zeros + 8));
  Sha256Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Sha256Digest sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

Sha256Digest hmac_sha256(std::string_view key, std::span<const std::byte> bytes) {
  std::array<std::byte, 64> block{};
  if (key.size() > block.size()) {
    const Sha256Digest digest = sha256(key);
    std::memcpy(block.data(), digest.data(), digest.size());
  } else {
    std::memcpy(block.data(), key.data(), key.size());
  }
  const auto keyed = [&block](std::byte pad) {
    auto out = block;
    std::transform(out.begin(), out.end(), out.begin(), [pad](std::byte b) { return b ^ pad; });
    return out;
  };
  Sha256 inner;
  inner.update(keyed(std::byte{0x36}));
  inner.update(bytes);
  const Sha256Digest inner_digest = inner.finish();
  Sha256 outer;
  outer.update(keyed(std::byte{0x5c}));
  outer.update(std::as_bytes(std::span(inner_digest)));
  return outer.finish();
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace quantjit::base
