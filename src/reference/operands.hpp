// SPDX-License-Identifier: Apache-2.0
// Host memory behind a TensorView, and the checks that both operations share.
#pragma once

#include <quantjit/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace quantjit::reference {

/// Throws InvalidArgument unless `tensor` has this dtype and number of dimensions and, where it has
/// elements, an address.
void require_tensor(const char* name, const TensorView& tensor, DType dtype, int ndim);
/// Throws InvalidArgument unless dimension `dim` (negative: from the end) has this size.
void require_size(const char* name, const TensorView& tensor, int dim, std::int64_t size);
/// Throws InvalidArgument unless dimension `dim` has stride 1 (sizes up to 1 are not looked at).
void require_unit_stride(const char* name, const TensorView& tensor, int dim);
[[noreturn]] void refuse(std::string parameter, std::string value, std::string rule);

/// Address of an element that lies `offset` elements from the first one.
[[nodiscard]] std::byte* element_at(const TensorView& tensor, std::int64_t offset);
/// Bit pattern and value of an input element (bf16, f16 or f32).
[[nodiscard]] std::uint32_t load_bits(const TensorView& tensor, std::int64_t offset);
[[nodiscard]] float load_value(const TensorView& tensor, std::int64_t offset);

}  // namespace quantjit::reference
