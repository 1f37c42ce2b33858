// SPDX-License-Identifier: Apache-2.0
// When two requests are for one kernel.
#pragma once

#include <quantjit/traits.hpp>

#include <compare>
#include <cstdint>

namespace quantjit::traits {

/// Requests with equal identities are one kernel.
struct KernelIdentity {
  std::uint64_t packed = 0;            ///< pack() of the traits
  MathMode math = MathMode::kPrecise;  ///< that a descriptor's mode resolves to
  Arch arch;

  friend auto operator<=>(const KernelIdentity&, const KernelIdentity&) = default;
};

/// Throws: InvalidArgument as resolve_math.
[[nodiscard]] inline KernelIdentity identify(const Descriptor& descriptor, const Arch& arch,
                                             MathMode preference) {
  return {pack(descriptor.traits), resolve_math(descriptor, arch, preference), arch};
}

}  // namespace quantjit::traits
