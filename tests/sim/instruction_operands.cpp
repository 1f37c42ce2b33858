// SPDX-License-Identifier: Apache-2.0
#include "instruction_table.hpp"

#include <cstring>

namespace quantjit::test {

namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// A format's sign, exponent and mantissa widths.
struct Layout {
  unsigned exponent;
  unsigned mantissa;
};

/// Special values, values near 1, tiny and huge values, or any bits.
std::uint64_t float_bits(Layout layout, std::uint64_t h) {
  const std::uint64_t ones = (std::uint64_t{1} << layout.exponent) - 1;
  const std::uint64_t mantissa_mask = (std::uint64_t{1} << layout.mantissa) - 1;
  const std::uint64_t sign = (h >> 62 & 1) << (layout.exponent + layout.mantissa);
  const std::uint64_t mantissa = h & mantissa_mask;
  const std::uint64_t bias = ones >> 1;
  const auto with = [&](std::uint64_t e, std::uint64_t m) {
    return sign | ((e & ones) << layout.mantissa) | (m & mantissa_mask);
  };
  const std::uint64_t pick = (h >> 54) & 0xFF;
  if (pick < 32) {
    const std::uint64_t specials[] = {
        with(0, 0),        with(0, 1),        with(0, mantissa_mask),
        with(1, 0),        with(1, 1),        with(ones - 1, mantissa_mask),
        with(ones, 0),     with(ones, 1),     with(ones, mantissa_mask),
        with(bias, 0),     with(bias, 1),     with(bias - 1, mantissa_mask),
        with(bias - 1, 0), with(bias + 1, 0), with(ones, mantissa | 1),
        with(0, mantissa)};
    return specials[pick % 16];
  }
  if (pick < 96) {
    return with(bias - 4 + ((h >> 40) & 7), mantissa);
  }
  if (pick < 128) {
    return with((h >> 40) & 3, mantissa);
  }
  if (pick < 160) {
    return with(ones - 1 - ((h >> 40) & 3), mantissa);
  }
  if (pick < 192) {  // few significant bits: ties and exact results
    const unsigned keep = static_cast<unsigned>((h >> 32) & 7);
    const std::uint64_t low = keep >= layout.mantissa ? 0 : mantissa_mask >> keep;
    return with(bias - 16 + ((h >> 40) & 31), mantissa & ~low);
  }
  return mix(h) >> (63 - layout.exponent - layout.mantissa);
}

std::uint64_t integer_bits(unsigned bits, std::uint64_t h) {
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t value = mix(h);
  switch (h >> 61) {
    case 0: return value & 0xF & mask;
    case 1: return (0 - (value & 0xF)) & mask;
    case 2: return ((std::uint64_t{1} << (bits - 1)) + (value & 3) - 2) & mask;
    case 3: return (value & mask) >> (value >> 58) % bits;
    default: return value & mask;
  }
}

}  // namespace

std::vector<std::uint64_t> operands(char letter, std::uint64_t seed, std::size_t count) {
  constexpr Layout kF16{5, 10};
  constexpr Layout kBf16{8, 7};
  constexpr Layout kF32{8, 23};
  constexpr Layout kF64{11, 52};
  std::vector<std::uint64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t h = mix((seed << 32) + i);
    const std::uint64_t second = mix(h);
    switch (letter) {
      case 'h': values[i] = integer_bits(16, h); break;
      case 'w': values[i] = integer_bits(32, h); break;
      case 'd': values[i] = integer_bits(64, h); break;
      case 's': values[i] = (h >> 60) == 0 ? integer_bits(32, h) : (h & 0x7F); break;
      case 'f': values[i] = float_bits(kF32, h); break;
      case 'e': values[i] = float_bits(kF64, h); break;
      case 'H': values[i] = float_bits(kF16, h); break;
      case 'B': values[i] = float_bits(kBf16, h); break;
      case 'P': values[i] = float_bits(kF16, h) | float_bits(kF16, second) << 16; break;
      case 'Q': values[i] = float_bits(kBf16, h) | float_bits(kBf16, second) << 16; break;
      case 'x': values[i] = float_bits(kF32, h) | float_bits(kF32, second) << 32; break;
      case 'g': values[i] = ((h & 0x7FFFFF) | ((127 - 8 + (h >> 40) % 16) << 23)); break;
      default: break;
    }
  }
  return values;
}

std::uint64_t result_hash(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::uint8_t byte : bytes) {
    hash = (hash ^ byte) * 0x100000001B3;
  }
  return hash;
}

std::vector<std::vector<std::uint64_t>> instruction_operands(const InstructionCase& instruction,
                                                             std::uint64_t seed,
                                                             std::size_t count) {
  std::vector<std::vector<std::uint64_t>> inputs;
  for (std::size_t k = 0; k < instruction.inputs.size(); ++k) {
    inputs.push_back(operands(instruction.inputs[k], seed * 8 + k, count));
  }
  return inputs;
}

std::vector<std::uint8_t> operand_array(const std::vector<std::uint64_t>& values, unsigned width) {
  std::vector<std::uint8_t> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(bytes.data() + i * width, &values[i], width);
  }
  return bytes;
}

}  // namespace quantjit::test
