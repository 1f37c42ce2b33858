// SPDX-License-Identifier: Apache-2.0
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>
#include <quantjit/traits.hpp>

#include <array>

namespace quantjit {

namespace {

constexpr std::array kModes{MathMode::kAuto, MathMode::kFast, MathMode::kPrecise};

Numerics numerics_of(const Traits& traits) {
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&traits)) {
    return group->numerics;
  }
  const auto* const token = std::get_if<PerTokenQuant>(&traits);
  return token != nullptr ? token->numerics : Numerics::kSglang;  // a registered one is free
}

}  // namespace

std::string_view to_string(MathMode mode) {
  switch (mode) {
    case MathMode::kAuto: return "auto";
    case MathMode::kFast: return "fast";
    case MathMode::kPrecise: return "precise";
  }
  return "invalid";
}

MathMode parse_math_mode(std::string_view text) {
  for (const MathMode mode : kModes) {
    if (to_string(mode) == text) {
      return mode;
    }
  }
  throw InvalidArgument("math", traits::quote(text), "math allows only auto|fast|precise");
}

MathMode default_math(const Arch& arch) {
  return arch.is_blackwell_or_later() ? MathMode::kPrecise : MathMode::kFast;
}

MathMode resolve_math(const Descriptor& descriptor, const Arch& arch, MathMode preference) {
  const Numerics numerics = numerics_of(descriptor.traits);
  if (numerics == Numerics::kExact || numerics == Numerics::kVllm) {
    if (descriptor.math == MathMode::kFast) {
      throw InvalidArgument(
          "math", "fast",
          "numerics=" + std::string(to_string(numerics)) + " allows only math=auto|precise");
    }
    return MathMode::kPrecise;
  }
  if (descriptor.math != MathMode::kAuto) {
    return descriptor.math;
  }
  return preference != MathMode::kAuto ? preference : default_math(arch);
}

}  // namespace quantjit
