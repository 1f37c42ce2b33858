// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quantjit/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quantjit::io {

/// A contiguous (row-major) tensor in host memory.
struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  /// View of the data. Throws: InvalidArgument for more than TensorView::kMaxDims dimensions.
  [[nodiscard]] TensorView view();
};

/// A contiguous tensor that lives elsewhere, for writing.
struct HostTensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

/// Size of a contiguous tensor in bytes. `what` names it in messages ("file.npy").
/// Throws: InvalidArgument for a negative dimension or a size beyond 2^63 - 1.
[[nodiscard]] std::uint64_t checked_bytes(const std::string& what,
                                          std::span<const std::int64_t> shape,
                                          std::size_t element_size);

/// Throws InvalidArgument unless the data of `tensor` is as large as its shape says.
void validate(const std::string& what, const HostTensorView& tensor);

}  // namespace quantjit::io
