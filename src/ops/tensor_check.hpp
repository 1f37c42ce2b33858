// SPDX-License-Identifier: Apache-2.0
// Rules that tensors must keep, checked on every launch before any CUDA call. Failing is out of
// line; a check that holds costs a few compares.
#pragma once

#include <quantjit/tensor.hpp>

#include <cstdint>
#include <string_view>

namespace quantjit::ops {

/// Throws InvalidArgument for `tensor.field`.
[[noreturn, gnu::cold, gnu::noinline]] void refuse(std::string_view tensor, std::string_view field,
                                                   std::int64_t value, std::string_view rule);
[[noreturn, gnu::cold, gnu::noinline]] void refuse(std::string_view tensor, std::string_view field,
                                                   std::string_view value, std::string_view rule);
/// As above with "it must be <expected>" as the rule.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_unless(std::string_view tensor,
                                                          std::string_view field,
                                                          std::int64_t value,
                                                          std::int64_t expected);

inline void require_equal(std::string_view tensor, std::string_view field, std::int64_t value,
                          std::int64_t expected) {
  if (value != expected) [[unlikely]] {
    refuse_unless(tensor, field, value, expected);
  }
}

/// A tensor under its name, for messages.
struct NamedTensor {
  const TensorView& view;
  std::string_view name;
};

/// Whether a tensor must have an address: one that only gives a shape need not.
enum class Memory : std::uint8_t { kNeeded, kNotNeeded };

/// Number of dimensions, no negative size, no negative stride, an extent that fits 63 bits, the
/// device, and an address where there are elements.
void require_shape(const NamedTensor& tensor, int ndim, int device,
                   Memory memory = Memory::kNeeded);
void require_dtype(const NamedTensor& tensor, DType dtype);
/// Base address and the byte strides of all but the last dimension are multiples of `bytes`; the
/// last stride is 1. Strides of dimensions of size 1 are not looked at.
void require_aligned_rows(const NamedTensor& tensor, std::int64_t bytes);
/// No two elements share an address.
void require_no_self_overlap(const NamedTensor& tensor);
/// The two tensors share no byte. Tensors interleaved row by row in one buffer (equal row strides,
/// disjoint columns) are recognized as disjoint.
void require_disjoint(const NamedTensor& a, const NamedTensor& b);

/// Bytes from the first to one past the last element; 0 if there is none.
[[nodiscard]] std::int64_t extent_bytes(const TensorView& view);

}  // namespace quantjit::ops
