// SPDX-License-Identifier: Apache-2.0
// Template arguments of the kernels: the numeric values of the host's trait enumerators. The host
// asserts that both sides agree where it writes name expressions.
#pragma once

namespace quantjit::device {

enum : int { kBF16 = 0, kF16 = 1, kF32 = 2, kE4M3 = 3, kInt8 = 4 };  // in, out

enum : int { kScaleF32 = 0, kScaleUE8M0 = 1, kScaleF32Pow2 = 2, kScaleE8M0 = 3 };

enum : int { kRow = 0, kCol = 1, kSwizzle128x4 = 2 };

enum : int { kSglang = 0, kSglangV2 = 1, kVllm = 2, kExact = 3 };

enum : int { kFillNone = 0, kFillZero = 1 };

enum : int { kFast = 1, kPrecise = 2 };

/// Bytes of one input element.
template <int kIn>
constexpr int kInputBytes = kIn == kF32 ? 4 : 2;

}  // namespace quantjit::device
