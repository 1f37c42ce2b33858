// SPDX-License-Identifier: Apache-2.0
#include <quantjit/error.hpp>
#include <quantjit/tensor.hpp>

#include <limits>

namespace quantjit {

namespace {

using Dims = std::initializer_list<std::int64_t>;

void check_shape(Dims shape) {
  if (shape.size() > TensorView::kMaxDims) {
    throw InvalidArgument("shape", "of " + std::to_string(shape.size()) + " dimensions",
                          "a tensor has at most " + std::to_string(TensorView::kMaxDims));
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) {
      throw InvalidArgument("shape", "holding " + std::to_string(size),
                            "no dimension may be negative");
    }
    // A dimension of 0 counts as 1: the strides of an empty tensor must fit, too.
    if (size > 1 && elements > std::numeric_limits<std::int64_t>::max() / size) {
      throw InvalidArgument("shape", "of more than 2^63 - 1 elements",
                            "the number of elements must fit 64 bits");
    }
    elements *= size > 1 ? size : 1;
  }
}

TensorView make_view(void* data, DType dtype, Dims shape, std::int32_t device) {
  check_shape(shape);
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.ndim = static_cast<std::uint8_t>(shape.size());
  view.device = device;
  std::size_t i = 0;
  for (const std::int64_t size : shape) {
    view.shape[i++] = size;
  }
  return view;
}

}  // namespace

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::kBF16: return "bf16";
    case DType::kF16: return "f16";
    case DType::kF32: return "f32";
    case DType::kE4M3: return "e4m3";
    case DType::kInt8: return "int8";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kE8M0: return "e8m0";
  }
  return "invalid";
}

TensorView TensorView::contiguous(void* data, DType dtype, Dims shape, std::int32_t device) {
  TensorView view = make_view(data, dtype, shape, device);
  std::int64_t stride = 1;
  for (std::size_t i = view.ndim; i-- > 0;) {
    view.strides[i] = stride;
    stride *= view.shape[i] > 1 ? view.shape[i] : 1;
  }
  return view;
}

TensorView TensorView::strided(void* data, DType dtype, Dims shape, Dims strides,
                               std::int32_t device) {
  if (shape.size() != strides.size()) {
    throw InvalidArgument("strides", "a list of " + std::to_string(strides.size()),
                          "the shape has " + std::to_string(shape.size()) + " dimensions");
  }
  TensorView view = make_view(data, dtype, shape, device);
  std::size_t i = 0;
  for (const std::int64_t stride : strides) {
    view.strides[i++] = stride;
  }
  return view;
}

}  // namespace quantjit
