// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quantjit::sim::ptx {

struct Token {
  enum class Kind : unsigned char { kWord, kNumber, kString, kMark, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;
  unsigned line = 0;
  std::size_t begin = 0;  ///< position in the source
  std::size_t end = 0;
};

/// Splits PTX into words (with their dots and double colons), numbers, strings and single marks.
/// Comments, and .loc, .file and .section directives, are left out. Throws ParseError.
[[nodiscard]] std::vector<Token> split(std::string_view source);

/// The text of a source range on one line, without comments and repeated blanks.
[[nodiscard]] std::string one_line(std::string_view source);

}  // namespace quantjit::sim::ptx
