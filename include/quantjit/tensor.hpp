// SPDX-License-Identifier: Apache-2.0
// Element types and the tensor view that every operation takes.
#pragma once

#include <quantjit/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

struct CUstream_st;  // opaque; `CUstream` and `cudaStream_t` are pointers to it

namespace quantjit {

/// Element types. Values are part of the ABI; new ones are appended.
enum class DType : std::uint8_t {
  kBF16 = 0,
  kF16 = 1,
  kF32 = 2,
  kE4M3 = 3,  ///< FP8 with 4 exponent and 3 mantissa bits, no infinity (torch.float8_e4m3fn)
  kInt8 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kE8M0 = 7,  ///< one biased exponent byte, 255 = NaN (torch.float8_e8m0fnu)
};

/// Size of one element in bytes.
constexpr std::size_t size_in_bytes(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
    case DType::kF16: return 2;
    case DType::kF32:
    case DType::kInt32: return 4;
    case DType::kInt64: return 8;
    case DType::kE4M3:
    case DType::kInt8:
    case DType::kE8M0: return 1;
  }
  return 0;
}

/// "bf16", "f16", "f32", "e4m3", "int8", "int32", "int64" or "e8m0".
QUANTJIT_API std::string_view to_string(DType dtype);

/// A stream of the caller, `CUstream` or `cudaStream_t`; null is the legacy default stream. Not
/// owned.
using Stream = CUstream_st*;

/// The device of the context that is current on the calling thread; of a request with a stream, the
/// stream's.
inline constexpr int kCurrentDevice = -1;

/// A strided view of device (or, for the CPU reference, host) memory. It owns nothing: the memory
/// must live until the work that uses it has finished on its stream. Strides are in elements. Value
/// type.
struct TensorView {
  static constexpr int kMaxDims = 4;  ///< most dimensions

  void* data = nullptr;                          ///< address of the first element
  DType dtype = DType::kBF16;                    ///< element type
  std::uint8_t ndim = 0;                         ///< dimensions
  std::int32_t device = 0;                       ///< CUDA device ordinal the memory lives on
  std::array<std::int64_t, kMaxDims> shape{};    ///< in elements
  std::array<std::int64_t, kMaxDims> strides{};  ///< in elements

  /// View of contiguous (row-major) memory. Throws: InvalidArgument if there are more than kMaxDims
  /// dimensions or a negative one.
  QUANTJIT_API static TensorView contiguous(void* data, DType dtype,
                                            std::initializer_list<std::int64_t> shape,
                                            std::int32_t device = 0);
  /// View with strides in elements. Throws: InvalidArgument if the lists differ in length or are
  /// too long.
  QUANTJIT_API static TensorView strided(void* data, DType dtype,
                                         std::initializer_list<std::int64_t> shape,
                                         std::initializer_list<std::int64_t> strides,
                                         std::int32_t device = 0);

  /// Product of the shape.
  [[nodiscard]] std::int64_t numel() const {
    std::int64_t product = 1;
    for (int i = 0; i < ndim; ++i) {
      product *= shape[static_cast<std::size_t>(i)];
    }
    return product;
  }

  /// Size of dimension `i`; negative counts from the end (-1 is the last).
  [[nodiscard]] std::int64_t size(int i) const {
    return shape[static_cast<std::size_t>(i < 0 ? i + ndim : i)];
  }

  /// Stride of dimension `i` in elements; negative counts from the end.
  [[nodiscard]] std::int64_t stride(int i) const {
    return strides[static_cast<std::size_t>(i < 0 ? i + ndim : i)];
  }
};

}  // namespace quantjit
