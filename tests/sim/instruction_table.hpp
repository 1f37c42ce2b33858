// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Single instructions with random operands, as PTX that any driver can run: the simulator against
// arithmetic written another way, and the simulator against a GPU.
namespace quantjit::test {

/// One instruction. `text` reads registers %a, %b, %c, %e and writes %d; it may use the predicates
/// %p and %q.
///
/// `inputs` has one letter an operand: h, w, d = 16-, 32-, 64-bit integers; s = a small 32-bit
/// count; f, g = f32 (g: only normal numbers), e = f64; H, B = f16, bf16; P, Q = pairs of them;
/// x = a pair of f32 in 64 bits. `output` is h, w or d.
struct InstructionCase {
  std::string name;
  std::string text;
  std::string inputs;
  char output = 'w';
  unsigned min_sm = 0;
  bool specific = false;     ///< needs an 'a' target
  bool approximate = false;  ///< hardware may differ in the last place
};

/// Bytes of one operand.
[[nodiscard]] unsigned operand_bytes(char letter);

/// All cases, in a fixed order.
[[nodiscard]] std::vector<InstructionCase> instruction_cases();

/// `count` operands of one kind, widened to 64 bits. Half of them are special values or close to
/// each other; the same arguments always give the same operands.
[[nodiscard]] std::vector<std::uint64_t> operands(char letter, std::uint64_t seed,
                                                  std::size_t count);

/// FNV-1a, 64 bit: how recorded results are compared.
[[nodiscard]] std::uint64_t result_hash(const std::vector<std::uint8_t>& bytes);

/// Operands to an instruction: `count` of each input, reproducible from the seed.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> instruction_operands(
    const InstructionCase& instruction, std::uint64_t seed, std::size_t count);

/// Values as the kernel reads them, `width` bytes each.
[[nodiscard]] std::vector<std::uint8_t> operand_array(const std::vector<std::uint64_t>& values,
                                                      unsigned width);

/// A module with one kernel `run(u64 n, u64 out, u64 in0, ...)` that applies the instruction to n
/// elements; every array has operand_bytes of its letter per element.
[[nodiscard]] std::string instruction_ptx(const InstructionCase& instruction,
                                          const std::string& target);

}  // namespace quantjit::test
