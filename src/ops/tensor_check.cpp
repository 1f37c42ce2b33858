// SPDX-License-Identifier: Apache-2.0
#include "src/ops/tensor_check.hpp"

#include <quantjit/error.hpp>

#include <array>
#include <string>
#include <utility>

namespace quantjit::ops {
namespace {

constexpr std::array<std::string_view, TensorView::kMaxDims> kShapeFields = {
    "shape[0]", "shape[1]", "shape[2]", "shape[3]"};
constexpr std::array<std::string_view, TensorView::kMaxDims> kStrideFields = {
    "strides[0]", "strides[1]", "strides[2]", "strides[3]"};

std::uint64_t address(const TensorView& view) {
  return reinterpret_cast<std::uint64_t>(view.data);
}

std::int64_t element_bytes(const TensorView& view) {
  return static_cast<std::int64_t>(size_in_bytes(view.dtype));
}

/// Byte stride between rows, for tensors whose rows are worth comparing; 0 for a single row.
std::int64_t row_stride_bytes(const TensorView& view) {
  return view.ndim < 2 || view.size(-2) <= 1 ? 0 : view.stride(-2) * element_bytes(view);
}

/// Whether the rows of both tensors lie beside each other in one buffer of rows.
bool interleaved(const TensorView& a, const TensorView& b) {
  const std::int64_t pitch = row_stride_bytes(a);
  if (pitch <= 0 || pitch != row_stride_bytes(b)) {
    return false;
  }
  const bool same_experts =
      a.ndim == b.ndim &&
      (a.ndim < 3 || a.stride(0) * element_bytes(a) == b.stride(0) * element_bytes(b)) &&
      (a.ndim < 3 || (a.stride(0) * element_bytes(a)) % pitch == 0);
  if (!same_experts || a.stride(-1) != 1 || b.stride(-1) != 1) {
    return false;
  }
  const std::int64_t a_bytes = a.size(-1) * element_bytes(a);
  const std::int64_t b_bytes = b.size(-1) * element_bytes(b);
  const auto distance =
      static_cast<std::int64_t>((address(b) - address(a)) % static_cast<std::uint64_t>(pitch));
  const std::int64_t offset =
      address(b) >= address(a)
          ? distance
          : (pitch - static_cast<std::int64_t>((address(a) - address(b)) %
                                               static_cast<std::uint64_t>(pitch))) %
                pitch;
  return offset >= a_bytes && offset + b_bytes <= pitch;
}

}  // namespace

void refuse(std::string_view tensor, std::string_view field, std::int64_t value,
            std::string_view rule) {
  refuse(tensor, field, std::to_string(value), rule);
}

void refuse(std::string_view tensor, std::string_view field, std::string_view value,
            std::string_view rule) {
  std::string parameter(tensor);
  if (!field.empty()) {
    parameter += '.';
    parameter += field;
  }
  throw InvalidArgument(std::move(parameter), std::string(value), std::string(rule));
}

void refuse_unless(std::string_view tensor, std::string_view field, std::int64_t value,
                   std::int64_t expected) {
  refuse(tensor, field, value, "it must be " + std::to_string(expected));
}

ByteRange require_shape(const NamedTensor& tensor, int ndim, Memory memory) {
  const TensorView& view = tensor.view;
  require_equal(tensor.name, "ndim", view.ndim, ndim);
  std::int64_t last = 0;
  bool empty = false;
  for (int i = 0; i < ndim; ++i) {
    const auto dim = static_cast<std::size_t>(i);
    if (view.shape[dim] < 0) [[unlikely]] {
      refuse(tensor.name, kShapeFields[dim], view.shape[dim], "a size cannot be negative");
    }
    empty |= view.shape[dim] == 0;
    if (view.shape[dim] <= 1) {
      continue;
    }
    if (view.strides[dim] < 0) [[unlikely]] {
      refuse(tensor.name, kStrideFields[dim], view.strides[dim], "a stride cannot be negative");
    }
    std::int64_t step = 0;
    if (__builtin_mul_overflow(view.shape[dim] - 1, view.strides[dim], &step) ||
        __builtin_add_overflow(last, step, &last)) [[unlikely]] {
      refuse(tensor.name, kStrideFields[dim], view.strides[dim],
             "the tensor's extent must fit 63 bits");
    }
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, element_bytes(view), &bytes)) [[unlikely]] {
    refuse(tensor.name, "shape", last, "the tensor's extent in bytes must fit 63 bits");
  }
  if (view.data == nullptr && !empty && memory == Memory::kNeeded) [[unlikely]] {
    refuse(tensor.name, "data", "null", "a tensor with elements needs an address");
  }
  const std::uint64_t begin = address(view);
  return {begin, empty ? begin : begin + static_cast<std::uint64_t>(bytes)};
}

void require_dtype(const NamedTensor& tensor, DType dtype) {
  if (tensor.view.dtype != dtype) [[unlikely]] {
    refuse(tensor.name, "dtype", to_string(tensor.view.dtype),
           "it must be " + std::string(to_string(dtype)));
  }
}

void require_aligned_rows(const NamedTensor& tensor, std::int64_t bytes) {
  const TensorView& view = tensor.view;
  const auto misaligned = [bytes](std::int64_t value) { return (value & (bytes - 1)) != 0; };
  if (misaligned(static_cast<std::int64_t>(address(view)))) [[unlikely]] {
    refuse(tensor.name, "data", static_cast<std::int64_t>(address(view)),
           "the address must be a multiple of " + std::to_string(bytes) + " bytes");
  }
  for (int i = 0; i + 1 < view.ndim; ++i) {
    const auto dim = static_cast<std::size_t>(i);
    // A row without elements, whose stride is whatever its maker found fit, starts nowhere.
    if (view.shape[dim] > 1 && misaligned(view.strides[dim] * element_bytes(view)) &&
        view.numel() != 0) [[unlikely]] {
      refuse(tensor.name, kStrideFields[dim], view.strides[dim],
             "rows must start on multiples of " + std::to_string(bytes) + " bytes");
    }
  }
  if (view.size(-1) > 1 && view.stride(-1) != 1) [[unlikely]] {
    refuse_unless(tensor.name, kStrideFields[static_cast<std::size_t>(view.ndim - 1)],
                  view.stride(-1), 1);
  }
}

void require_no_self_overlap_in_any_order(const NamedTensor& tensor) {
  const TensorView& view = tensor.view;
  if (view.numel() == 0) {
    return;  // strides of a shape without elements are whatever its maker found fit
  }
  // (stride, size), sorted by insertion: for std::sort on so short an array g++ 12 warns of
  // accesses that never happen.
  std::array<std::pair<std::int64_t, std::int64_t>, TensorView::kMaxDims> dims{};
  std::size_t count = 0;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.size(i) > 1) {
      const std::pair entry{view.stride(i), view.size(i)};
      std::size_t at = count++;
      for (; at > 0 && entry < dims[at - 1]; --at) {
        dims[at] = dims[at - 1];
      }
      dims[at] = entry;
    }
  }
  std::int64_t reach = 0;  // of all dimensions with smaller strides
  for (std::size_t i = 0; i < count; ++i) {
    const auto [stride, size] = dims[i];
    if (stride <= reach) [[unlikely]] {
      refuse(tensor.name, "strides", stride,
             "elements of an output must not share an address, so it must be greater than " +
                 std::to_string(reach));
    }
    reach += (size - 1) * stride;
  }
}

void require_interleaved(const NamedTensor& a, const NamedTensor& b) {
  if (!interleaved(a.view, b.view) && !interleaved(b.view, a.view)) {
    refuse(a.name, "data", static_cast<std::int64_t>(address(a.view)),
           "its memory must not overlap that of " + std::string(b.name));
  }
}

}  // namespace quantjit::ops
