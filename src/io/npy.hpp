// SPDX-License-Identifier: Apache-2.0
// NumPy .npy files, format versions 1 to 3, little-endian and row-major.
#pragma once

#include "src/io/host_tensor.hpp"

#include <cstdint>
#include <filesystem>

namespace quantjit::io {

/// What unsigned 16-bit integers in a file are.
enum class UInt16Reading : std::uint8_t {
  kRefuse,  ///< not a tensor of ours
  kBF16,    ///< bit patterns of bf16, as programs without a bf16 type store them
};

/// Reads an array. Types: '<f4' f32, '<f2' f16, '<V2' or 'bfloat16' bf16 (as ml_dtypes writes it),
/// '<V1' e4m3, '|u1' e8m0, '|i1' int8, '<i4' int32, '<i8' int64, and '<u2' bf16 if asked for.
/// Throws: InvalidArgument naming the file and what is wrong with it; nothing is allocated from a
/// size that the file does not have.
[[nodiscard]] HostTensor read_npy(const std::filesystem::path& path,
                                  UInt16Reading uint16 = UInt16Reading::kRefuse);

/// Writes an array with the types of `read_npy`. Throws: InvalidArgument if data and shape differ;
/// Error if the file cannot be written.
void write_npy(const std::filesystem::path& path, const HostTensorView& tensor);

}  // namespace quantjit::io
