// SPDX-License-Identifier: Apache-2.0
#include "src/reference/operands.hpp"

#include "src/reference/soft_float.hpp"

#include <quantjit/error.hpp>

#include <cstring>
#include <utility>

namespace quantjit::reference {

void refuse(std::string parameter, std::string value, std::string rule) {
  throw InvalidArgument(std::move(parameter), std::move(value), std::move(rule));
}

void require_tensor(const char* name, const TensorView& tensor, DType dtype, int ndim) {
  if (tensor.dtype != dtype) {
    refuse(std::string(name) + ".dtype", std::string(to_string(tensor.dtype)),
           "the traits need " + std::string(to_string(dtype)));
  }
  if (tensor.ndim != ndim) {
    refuse(std::string(name) + ".ndim", std::to_string(tensor.ndim),
           "the traits need " + std::to_string(ndim));
  }
  for (int dim = 0; dim < ndim; ++dim) {
    if (tensor.size(dim) < 0) {
      refuse(std::string(name) + ".shape[" + std::to_string(dim) + "]",
             std::to_string(tensor.size(dim)), "it must not be negative");
    }
  }
  if (tensor.data == nullptr && tensor.numel() != 0) {
    refuse(std::string(name) + ".data", "null", "a tensor with elements needs an address");
  }
}

void require_size(const char* name, const TensorView& tensor, int dim, std::int64_t size) {
  if (tensor.size(dim) != size) {
    const int index = dim < 0 ? dim + tensor.ndim : dim;
    refuse(std::string(name) + ".shape[" + std::to_string(index) + "]",
           std::to_string(tensor.size(dim)), "it must be " + std::to_string(size));
  }
}

void require_unit_stride(const char* name, const TensorView& tensor, int dim) {
  if (tensor.size(dim) > 1 && tensor.stride(dim) != 1) {
    refuse(std::string(name) + ".strides[" + std::to_string(dim) + "]",
           std::to_string(tensor.stride(dim)), "it must be 1");
  }
}

std::byte* element_at(const TensorView& tensor, std::int64_t offset) {
  return static_cast<std::byte*>(tensor.data) +
         offset * static_cast<std::int64_t>(size_in_bytes(tensor.dtype));
}

std::uint32_t load_bits(const TensorView& tensor, std::int64_t offset) {
  const std::byte* address = element_at(tensor, offset);
  if (tensor.dtype == DType::kF32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, address, sizeof bits);
    return bits;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, address, sizeof bits);
  return bits;
}

float load_value(const TensorView& tensor, std::int64_t offset) {
  const std::uint32_t bits = load_bits(tensor, offset);
  switch (tensor.dtype) {
    case DType::kBF16: return bf16_to_float(static_cast<std::uint16_t>(bits));
    case DType::kF16: return f16_to_float(static_cast<std::uint16_t>(bits));
    default: return float_from_bits(bits);
  }
}

}  // namespace quantjit::reference
