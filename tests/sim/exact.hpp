// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

// A slow oracle for rounding: numbers as 896-bit integers in units of 2^-450, formats as ordered
// lists of their finite values. It shares nothing with the simulator's arithmetic.
namespace quantjit::test {

/// An exact number between -2^445 and 2^445.
class Exact {
 public:
  static constexpr int kUnit = 450;

  /// Adds mantissa * 2^exponent; exponent >= -kUnit.
  void add(std::int64_t mantissa, int exponent) {
    const bool negative = mantissa < 0;
    std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(mantissa) : static_cast<std::uint64_t>(mantissa);
    const unsigned shift = static_cast<unsigned>(exponent + kUnit);
    std::array<std::uint64_t, kLimbs> term{};
    term[shift / 64] = magnitude << (shift % 64);
    if (shift % 64 != 0) {
      term[shift / 64 + 1] = magnitude >> (64 - shift % 64);
    }
    std::uint64_t carry = negative ? 1 : 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      const std::uint64_t t = negative ? ~term[i] : term[i];
      const std::uint64_t sum = limbs_[i] + t;
      const std::uint64_t with_carry = sum + carry;
      carry = (sum < t ? 1U : 0U) + (with_carry < sum ? 1U : 0U);
      limbs_[i] = with_carry;
    }
  }

  /// -1, 0 or 1.
  [[nodiscard]] int sign() const {
    if ((limbs_[kLimbs - 1] >> 63) != 0) {
      return -1;
    }
    for (const std::uint64_t limb : limbs_) {
      if (limb != 0) {
        return 1;
      }
    }
    return 0;
  }

 private:
  static constexpr std::size_t kLimbs = 14;
  std::array<std::uint64_t, kLimbs> limbs_{};
};

/// A binary format with `exponent` and `mantissa` bits below a sign, IEEE-like.
struct BinaryFormat {
  int exponent;
  int mantissa;

  [[nodiscard]] std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent) - 1) << mantissa;
  }

  [[nodiscard]] std::uint64_t sign_bit() const { return std::uint64_t{1} << (exponent + mantissa); }

  [[nodiscard]] bool negative(std::uint64_t bits) const { return (bits & sign_bit()) != 0; }

  [[nodiscard]] std::uint64_t magnitude(std::uint64_t bits) const { return bits & ~sign_bit(); }

  [[nodiscard]] bool is_nan(std::uint64_t bits) const { return magnitude(bits) > infinity(); }

  [[nodiscard]] bool is_infinite(std::uint64_t bits) const { return magnitude(bits) == infinity(); }

  /// The significand with its sign; infinity's pattern counts as the next power of two.
  [[nodiscard]] std::int64_t significand(std::uint64_t bits) const {
    const std::uint64_t m = magnitude(bits);
    const std::uint64_t field = m & ((std::uint64_t{1} << mantissa) - 1);
    const auto value = static_cast<std::int64_t>(
        (m >> mantissa) == 0 ? field : field | (std::uint64_t{1} << mantissa));
    return negative(bits) ? -value : value;
  }

  /// The power of two of the significand's last bit.
  [[nodiscard]] int scale(std::uint64_t bits) const {
    const int e = static_cast<int>(magnitude(bits) >> mantissa);
    const int bias = (1 << (exponent - 1)) - 1;
    return (e == 0 ? 1 : e) - bias - mantissa;
  }
};

inline constexpr BinaryFormat kBinary16{5, 10};
inline constexpr BinaryFormat kBrain16{8, 7};
inline constexpr BinaryFormat kBinary32{8, 23};

enum class Mode { kNearest, kZero, kDown, kUp };

/// Rounds a number that is not zero. `subtract(x, bits)` takes a format's value from x.
inline std::uint64_t round_exact(const Exact& number, BinaryFormat format, Mode mode) {
  const bool negative = number.sign() < 0;
  const auto compare = [&](std::uint64_t magnitude, std::uint64_t next, bool midpoint) {
    // The sign of |number| minus the value, or minus the middle between it and the next.
    Exact difference = number;
    const std::int64_t flip = negative ? 1 : -1;
    if (!midpoint) {
      difference.add(flip * format.significand(magnitude), format.scale(magnitude));
    } else {
      difference.add(flip * format.significand(magnitude), format.scale(magnitude) - 1);
      difference.add(flip * format.significand(next), format.scale(next) - 1);
    }
    return negative ? -difference.sign() : difference.sign();
  };
  std::uint64_t low = 0;  // the largest finite value that is not above |number|
  std::uint64_t high = format.infinity();
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (compare(middle, 0, false) >= 0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const bool exact = compare(low, 0, false) == 0;
  bool up = false;
  if (!exact) {
    const int half = compare(low, low + 1, true);
    up = mode == Mode::kNearest
             ? half > 0 || (half == 0 && (low & 1) != 0)
             : (mode == Mode::kDown && negative) || (mode == Mode::kUp && !negative);
  }
  return (low + (up ? 1 : 0)) | (negative ? format.sign_bit() : 0);
}

}  // namespace quantjit::test
