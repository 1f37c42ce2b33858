// SPDX-License-Identifier: Apache-2.0
// The regular expressions of ignore lists, matched in time linear in pattern and text, so that a
// hostile config cannot stall or crash the reader.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace quantjit::models {

class Pattern {
 public:
  /// Understands literals, `.`, classes, groups, `|`, `*`, `+`, `?`, `^`, `$` and the escapes
  /// `\d \w \s` and of punctuation. Nothing for other syntax, or for more than 512 characters.
  static std::optional<Pattern> compile(std::string_view text);

  /// Whether a prefix of `text` matches, as with Python's `re.match`.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  friend class PatternCompiler;

  enum class Op : std::uint8_t { kByte, kSplit, kBegin, kEnd, kMatch };

  /// Steps to other instructions are relative.
  struct Instruction {
    Op op = Op::kMatch;
    int first = 1;
    int second = 1;
    std::size_t set = 0;
  };

  using Code = std::vector<Instruction>;
  struct State;
  void follow(State& state, std::size_t start, bool at_begin, bool at_end) const;

  Code code_;
  std::vector<std::bitset<256>> sets_;
};

}  // namespace quantjit::models
