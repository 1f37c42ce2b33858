// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::sim {

/// A spelling that the decoder accepts.
///
/// `operands` has one letter for each operand, the destination first: h, w, d = 16, 32, 64 bits;
/// f, e = 32- and 64-bit floats (they differ in how decimal literals are read); q = 128 bits;
/// p = predicate; '-' as the first letter: no destination.
struct Instruction {
  std::string operands;
  Handler run = nullptr;
  unsigned min_sm = 0;
  bool specific = false;  ///< needs an 'a' or 'f' target
  std::uint8_t detail = 0;
};

/// All spellings that are plain register to register operations.
class InstructionSet {
 public:
  /// Adds the spelling made of the concatenated parts.
  void add(std::initializer_list<const char*> parts, const char* operands, Handler run,
           unsigned min_sm = 0, bool specific = false);
  /// Null when there is none. Several may differ in their operand count.
  [[nodiscard]] const Instruction* find(std::string_view name, std::size_t operand_count) const;

  [[nodiscard]] const std::multimap<std::string, Instruction, std::less<>>& all() const {
    return entries_;
  }

 private:
  std::multimap<std::string, Instruction, std::less<>> entries_;
};

/// Handlers for memory and warp-level operations, chosen by the decoder.
struct SpecialHandlers {
  Handler load[6] = {};  ///< by log2 of the element width (1, 2, 4, 8, 16 bytes)
  Handler store[6] = {};
  Handler atomic = nullptr;
};

/// The handlers compiled for the best instruction set that this host has.
[[nodiscard]] const InstructionSet& instruction_set();

}  // namespace quantjit::sim
