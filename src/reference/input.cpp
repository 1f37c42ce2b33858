// SPDX-License-Identifier: Apache-2.0
// The generator of recorded and of random inputs.
#include "src/reference/soft_float.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>
#include <quantjit/reference.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace quantjit::reference {

namespace {

constexpr std::uint64_t kRun = 128;  // elements that share a power of two or a special treatment

constexpr std::array kKinds{InputKind::kUniform, InputKind::kBits, InputKind::kMidpoint,
                            InputKind::kSpecial, InputKind::kRows, InputKind::kNormal};

/// splitmix64.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// Bit patterns of one element type.
struct Patterns {
  DType dtype;
  std::uint32_t sign;
  std::uint32_t nan;
  std::uint32_t infinity;
  std::uint32_t largest;  ///< largest finite value
  std::uint32_t flip;     ///< the exponent bit that `bits` flips to leave NaN and infinity
  unsigned hash_shift;    ///< the hash's top bits that make a pattern

  [[nodiscard]] std::uint32_t round(double value) const {
    switch (dtype) {
      case DType::kBF16: return to_bf16(value);
      case DType::kF16: return to_f16(value);
      default: return bits_of(static_cast<float>(value));
    }
  }
};

Patterns patterns_of(DType dtype) {
  switch (dtype) {
    case DType::kBF16: return {dtype, 0x8000, 0x7FC0, 0x7F80, 0x7F7F, 0x4000, 48};
    case DType::kF16: return {dtype, 0x8000, 0x7E00, 0x7C00, 0x7BFF, 0x4000, 48};
    case DType::kF32:
      return {dtype, 0x80000000, 0x7FC00000, 0x7F800000, 0x7F7FFFFF, 0x40000000, 32};
    default:
      throw InvalidArgument("dtype", std::string(quantjit::to_string(dtype)),
                            "inputs are bf16, f16 or f32");
  }
}

/// Where an element stands and its hash.
struct Site {
  std::uint64_t seed;
  std::uint64_t hash;
  std::uint64_t run;     ///< index / 128
  std::uint64_t in_run;  ///< index % 128
  std::uint64_t row;
  std::uint64_t column;
  std::uint64_t row_length;
};

std::uint32_t uniform(const Patterns& patterns, const Site& site) {
  const auto step = static_cast<std::int64_t>(site.hash >> 40U) - (std::int64_t{1} << 23U);
  const int exponent = static_cast<int>((site.run * 7 + site.seed) % 9) - 4;
  return patterns.round(std::ldexp(static_cast<double>(step), exponent - 23));
}

std::uint32_t random_bits(const Patterns& patterns, const Site& site) {
  const auto bits = static_cast<std::uint32_t>(site.hash >> patterns.hash_shift);
  const bool finite = (bits & patterns.infinity) != patterns.infinity;
  return finite ? bits : bits ^ patterns.flip;
}

std::uint32_t midpoint(const Patterns& patterns, const Site& site) {
  if (site.in_run == 0) {
    return patterns.round(kMaxE4M3);
  }
  const int exponent = static_cast<int>((site.hash >> 8U) % 14) - 6;
  const auto odd = static_cast<double>((site.hash >> 32U) % 8 * 2 + 1);
  const double magnitude = std::ldexp((16 + odd) / 16, exponent);
  return patterns.round((site.hash & 1U) == 0 ? -magnitude : magnitude);
}

std::uint32_t denormal(const Site& site) {
  return static_cast<std::uint32_t>((site.hash >> 48U) & 0x7FU);
}

std::uint32_t largest(const Patterns& patterns, const Site& site) {
  return patterns.largest | (((site.hash >> 48U) & 1U) != 0 ? patterns.sign : 0);
}

std::uint32_t special(const Patterns& patterns, const Site& site) {
  const bool chosen = site.in_run == site.run * 5 % kRun;
  switch (site.run % 8) {
    case 0: return 0;
    case 1: return chosen ? patterns.nan : uniform(patterns, site);
    case 2: return chosen ? patterns.infinity : uniform(patterns, site);
    case 3: return chosen ? patterns.infinity | patterns.sign : uniform(patterns, site);
    case 4: return denormal(site);
    case 5: return patterns.sign;
    case 6: return largest(patterns, site);
    default: return uniform(patterns, site);
  }
}

std::uint32_t special_row(const Patterns& patterns, const Site& site) {
  const bool chosen = site.column == site.row * 5 % site.row_length;
  const std::uint32_t sign = (site.row / 8) % 2 == 0 ? 0 : patterns.sign;
  switch (site.row % 8) {
    case 0: return 0;
    case 1: return patterns.sign;
    case 2: return chosen ? patterns.nan : uniform(patterns, site);
    case 3: return patterns.nan;
    case 4: return chosen ? patterns.infinity | sign : uniform(patterns, site);
    case 5: return denormal(site);
    case 6: return largest(patterns, site);
    default: return uniform(patterns, site);
  }
}

/// Box-Muller on the two halves of the hash, the first of them in (0, 1].
std::uint32_t normal(const Patterns& patterns, const Site& site) {
  const double radius_draw = std::ldexp(static_cast<double>(site.hash >> 32U) + 1.0, -32);
  const double angle_draw = std::ldexp(static_cast<double>(site.hash & 0xFFFFFFFFU), -32);
  const double radius = std::sqrt(-2.0 * std::log(radius_draw));
  return patterns.round(radius * std::cos(2.0 * std::numbers::pi * angle_draw));
}

std::uint32_t element(InputKind kind, const Patterns& patterns, const Site& site) {
  switch (kind) {
    case InputKind::kUniform: return uniform(patterns, site);
    case InputKind::kBits: return random_bits(patterns, site);
    case InputKind::kMidpoint: return midpoint(patterns, site);
    case InputKind::kSpecial: return special(patterns, site);
    case InputKind::kRows: return special_row(patterns, site);
    case InputKind::kNormal: return normal(patterns, site);
  }
  throw InvalidArgument("kind", std::to_string(static_cast<int>(kind)),
                        "it must be an enumerator of InputKind");
}

}  // namespace

std::string_view to_string(InputKind kind) {
  switch (kind) {
    case InputKind::kUniform: return "uniform";
    case InputKind::kBits: return "bits";
    case InputKind::kMidpoint: return "midpoint";
    case InputKind::kSpecial: return "special";
    case InputKind::kRows: return "rows";
    case InputKind::kNormal: return "normal";
  }
  return "invalid";
}

InputKind parse_input_kind(std::string_view text) {
  for (const InputKind kind : kKinds) {
    if (to_string(kind) == text) {
      return kind;
    }
  }
  throw InvalidArgument("input kind", traits::quote(text),
                        "it must be uniform|bits|midpoint|special|rows|normal");
}

void generate(InputKind kind, DType dtype, std::uint64_t seed, std::size_t count,
              std::size_t row_length, void* data) {
  const Patterns patterns = patterns_of(dtype);
  if (kind == InputKind::kRows && row_length == 0) {
    throw InvalidArgument("row_length", "0", "kind rows needs the elements of a row");
  }
  const std::size_t row = row_length == 0 ? count + 1 : row_length;
  const std::size_t size = size_in_bytes(dtype);
  auto* bytes = static_cast<std::byte*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    const Site site{seed, mix((seed << 32U) + i), i / kRun, i % kRun, i / row, i % row, row};
    const std::uint32_t bits = element(kind, patterns, site);
    if (size == sizeof(std::uint32_t)) {
      std::memcpy(bytes + i * size, &bits, sizeof bits);
    } else {
      const auto narrow = static_cast<std::uint16_t>(bits);
      std::memcpy(bytes + i * size, &narrow, sizeof narrow);
    }
  }
}

}  // namespace quantjit::reference
