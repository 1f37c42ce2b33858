// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quantjit::sim {

/// Op::detail >> 1 of atom and red.
enum class AtomicOperation : std::uint8_t {
  kAdd,
  kMin,
  kMax,
  kInc,
  kDec,
  kAnd,
  kOr,
  kXor,
  kExch,
  kCas
};

/// Op::kind of atom and red.
enum class AtomicType : std::uint8_t {
  kUnsigned,
  kSigned,
  kF32,
  kF64,
  kF16,
  kBf16,
  kF16x2,
  kBf16x2
};

}  // namespace quantjit::sim
