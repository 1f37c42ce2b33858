// SPDX-License-Identifier: Apache-2.0
// Where scales go: every format in every layout.
#pragma once

#include "src/reference/quantize.hpp"

#include <quantjit/traits.hpp>

#include <cstdint>

namespace quantjit::reference {

/// Writes the scales of one operation. Experts, tokens and groups count from 0; a flat schedule has
/// one expert.
class ScaleStore {
 public:
  /// Checks `tensor` against the traits. Throws: InvalidArgument.
  ScaleStore(const PerTokenGroupQuant& traits, const TensorView& tensor, std::int64_t num_experts,
             std::int64_t num_tokens, std::int64_t num_groups);

  void put(std::int64_t expert, std::int64_t token, std::int64_t group,
           const Scaling& scaling) const;
  /// Zeroes what a token's groups leave of its last pack or tile.
  void finish_token(std::int64_t expert, std::int64_t token) const;
  /// Zeroes what `live_tokens` leave of the last tile that they reach (swizzle128x4 only).
  void finish_expert(std::int64_t expert, std::int64_t live_tokens) const;
  /// fill=zero: zeroes the pad words of every packed column but the last, whose pad words lie
  /// beyond the tensor.
  void zero_pad_words() const;

 private:
  void check_tiles() const;
  void check_matrix() const;
  [[nodiscard]] std::byte* byte_at(std::int64_t expert, std::int64_t token,
                                   std::int64_t group) const;

  PerTokenGroupQuant traits_;
  TensorView tensor_;
  std::int64_t num_experts_;
  std::int64_t num_tokens_;
  std::int64_t num_groups_;
  std::int64_t padded_groups_;  ///< groups with their pack or tile padding
};

}  // namespace quantjit::reference
