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

/// Addresses from the first byte of a tensor to one past its last; empty if it has no elements.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Number of dimensions, no negative size, no negative stride, an extent that fits 63 bits, and an
/// address where there are elements. Returns the addresses that the tensor reaches.
ByteRange require_shape(const NamedTensor& tensor, int ndim, Memory memory = Memory::kNeeded);
void require_dtype(const NamedTensor& tensor, DType dtype);
/// Base address and the byte strides of all but the last dimension are multiples of `bytes`; the
/// last stride is 1. Strides of dimensions of size 1 are not looked at.
void require_aligned_rows(const NamedTensor& tensor, std::int64_t bytes);
/// Refuses a tensor in which two elements share an address.
[[gnu::noinline]] void require_no_self_overlap_in_any_order(const NamedTensor& tensor);

/// No two elements share an address.
inline void require_no_self_overlap(const NamedTensor& tensor) {
  const TensorView& view = tensor.view;
  std::int64_t reach = 0;  // of the dimensions so far, last one first
  for (int i = view.ndim - 1; i >= 0; --i) {
    if (view.size(i) > 1) {
      if (view.stride(i) <= reach) [[unlikely]] {
        require_no_self_overlap_in_any_order(tensor);  // dimensions that lie in another order
        return;
      }
      reach += (view.size(i) - 1) * view.stride(i);
    }
  }
}

/// Throws unless tensors whose ranges meet are interleaved row by row in one buffer (equal row
/// strides, disjoint columns).
[[gnu::noinline]] void require_interleaved(const NamedTensor& a, const NamedTensor& b);

/// The two tensors share no byte.
inline void require_disjoint(const NamedTensor& a, const ByteRange& range_a, const NamedTensor& b,
                             const ByteRange& range_b) {
  if (range_a.begin < range_b.end && range_b.begin < range_a.end) [[unlikely]] {
    require_interleaved(a, b);
  }
}

}  // namespace quantjit::ops
