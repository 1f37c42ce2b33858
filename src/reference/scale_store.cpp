// SPDX-License-Identifier: Apache-2.0
#include "src/reference/scale_store.hpp"

#include "src/reference/operands.hpp"

#include <algorithm>
#include <cstring>

namespace quantjit::reference {

namespace {

constexpr std::int64_t kPack = 4;          // exponents a word; groups a tile
constexpr std::int64_t kTileTokens = 128;  // tokens a tile
constexpr std::int64_t kTileBytes = kPack * kTileTokens;
constexpr std::int64_t kRowAlignment = 4;  // tokens of a TMA-aligned column of 32-bit elements

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

DType scale_dtype(ScaleFormat format) {
  switch (format) {
    case ScaleFormat::kUE8M0: return DType::kInt32;
    case ScaleFormat::kE8M0: return DType::kE8M0;
    default: return DType::kF32;
  }
}

bool is_float(ScaleFormat format) {
  return format == ScaleFormat::kF32 || format == ScaleFormat::kF32Pow2;
}

}  // namespace

ScaleStore::ScaleStore(const PerTokenGroupQuant& traits, const TensorView& tensor,
                       std::int64_t num_experts, std::int64_t num_tokens, std::int64_t num_groups)
    : traits_(traits),
      tensor_(tensor),
      num_experts_(num_experts),
      num_tokens_(num_tokens),
      num_groups_(num_groups),
      padded_groups_(num_groups) {
  if (traits.scale == ScaleFormat::kUE8M0 || traits.layout == ScaleLayout::kSwizzle128x4) {
    padded_groups_ = round_up(num_groups, kPack);
  }
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    check_tiles();
  } else {
    check_matrix();
  }
}

void ScaleStore::check_tiles() const {
  const std::int64_t bytes = round_up(num_tokens_, kTileTokens) * padded_groups_;
  const bool masked = traits_.schedule == Schedule::kMasked;
  require_tensor("output_s", tensor_, DType::kE8M0, masked ? 2 : 1);
  if (masked) {
    require_size("output_s", tensor_, 0, num_experts_);
  }
  require_size("output_s", tensor_, -1, bytes);
  require_unit_stride("output_s", tensor_, tensor_.ndim - 1);
}

void ScaleStore::check_matrix() const {
  const bool masked = traits_.schedule == Schedule::kMasked;
  require_tensor("output_s", tensor_, scale_dtype(traits_.scale), masked ? 3 : 2);
  if (masked) {
    require_size("output_s", tensor_, 0, num_experts_);
  }
  require_size("output_s", tensor_, -2, num_tokens_);
  require_size("output_s", tensor_, -1,
               traits_.scale == ScaleFormat::kUE8M0 ? padded_groups_ / kPack : num_groups_);
  require_unit_stride("output_s", tensor_,
                      tensor_.ndim - (traits_.layout == ScaleLayout::kRow ? 1 : 2));
}

std::byte* ScaleStore::byte_at(std::int64_t expert, std::int64_t token, std::int64_t group) const {
  if (traits_.layout == ScaleLayout::kSwizzle128x4) {
    const std::int64_t expert_stride = tensor_.ndim == 2 ? tensor_.stride(0) : 0;
    const std::int64_t tile = token / kTileTokens * (padded_groups_ / kPack) + group / kPack;
    const std::int64_t inside = token % 32 * 16 + token % kTileTokens / 32 * 4 + group % kPack;
    return element_at(tensor_, expert * expert_stride + tile * kTileBytes + inside);
  }
  const std::int64_t expert_stride = tensor_.ndim == 3 ? tensor_.stride(0) : 0;
  const std::int64_t row = expert * expert_stride + token * tensor_.stride(-2);
  if (traits_.scale == ScaleFormat::kUE8M0) {
    // The lowest byte of a little-endian word comes first.
    return element_at(tensor_, row + group / kPack * tensor_.stride(-1)) + group % kPack;
  }
  return element_at(tensor_, row + group * tensor_.stride(-1));
}

void ScaleStore::put(std::int64_t expert, std::int64_t token, std::int64_t group,
                     const Scaling& scaling) const {
  std::byte* address = byte_at(expert, token, group);
  if (is_float(traits_.scale)) {
    std::memcpy(address, &scaling.stored, sizeof scaling.stored);
  } else {
    *address = std::byte{scaling.exponent};
  }
}

void ScaleStore::finish_token(std::int64_t expert, std::int64_t token) const {
  for (std::int64_t group = num_groups_; group < padded_groups_; ++group) {
    *byte_at(expert, token, group) = std::byte{0};
  }
}

void ScaleStore::finish_expert(std::int64_t expert, std::int64_t live_tokens) const {
  if (traits_.layout != ScaleLayout::kSwizzle128x4) {
    return;
  }
  for (std::int64_t token = live_tokens; token < round_up(live_tokens, kTileTokens); ++token) {
    for (std::int64_t group = 0; group < padded_groups_; ++group) {
      *byte_at(expert, token, group) = std::byte{0};
    }
  }
}

void ScaleStore::zero_pad_words() const {
  const std::int64_t columns = padded_groups_ / kPack;
  // A column that is shorter than its aligned size has no more room than its stride.
  const std::int64_t end = std::min(round_up(num_tokens_, kRowAlignment), tensor_.stride(-1));
  for (std::int64_t column = 0; column + 1 < columns; ++column) {
    for (std::int64_t token = num_tokens_; token < end; ++token) {
      std::memset(byte_at(0, token, column * kPack), 0, kPack);
    }
  }
}

}  // namespace quantjit::reference
