// SPDX-License-Identifier: Apache-2.0
#include "src/io/host_tensor.hpp"

#include <quantjit/error.hpp>

#include <limits>

namespace quantjit::io {

TensorView HostTensor::view() {
  if (shape.size() > TensorView::kMaxDims) {
    throw InvalidArgument("tensor", "of " + std::to_string(shape.size()) + " dimensions",
                          "at most " + std::to_string(TensorView::kMaxDims) + " are supported");
  }
  TensorView view;
  view.data = data.data();
  view.dtype = dtype;
  view.ndim = static_cast<std::uint8_t>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    view.shape[i] = shape[i];
    view.strides[i] = stride;
    stride *= shape[i] > 1 ? shape[i] : 1;
  }
  return view;
}

std::uint64_t checked_bytes(const std::string& what, std::span<const std::int64_t> shape,
                            std::size_t element_size) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t strided = element_size;  // a dimension of 0 counts as 1, so that strides fit, too
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) {
      throw InvalidArgument(what + " shape", "holding " + std::to_string(size),
                            "no dimension may be negative");
    }
    empty = empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(size > 1 ? size : 1);
    if (strided > kLargest / factor) {
      throw InvalidArgument(what + " shape", "of more than 2^63 - 1 bytes",
                            "a tensor's size must fit 64 bits");
    }
    strided *= factor;
  }
  return empty ? 0 : strided;
}

void validate(const std::string& what, const HostTensorView& tensor) {
  const std::uint64_t bytes = checked_bytes(what, tensor.shape, size_in_bytes(tensor.dtype));
  if (tensor.data.size() != bytes) {
    throw InvalidArgument(what + " data", std::to_string(tensor.data.size()) + " bytes",
                          "the shape needs " + std::to_string(bytes));
  }
}

}  // namespace quantjit::io
