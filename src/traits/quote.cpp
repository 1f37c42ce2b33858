// SPDX-License-Identifier: Apache-2.0
#include "src/traits/quote.hpp"

#include <cstddef>

namespace quantjit::traits {

namespace {

constexpr std::size_t kLongest = 80;

void append_escaped(std::string& out, char character) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  if (character == '"' || character == '\\') {
    out += '\\';
    out += character;
  } else if (byte >= 0x20 && byte < 0x7F) {
    out += character;
  } else {
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  std::size_t shown = 0;
  for (; shown < text.size() && out.size() < kLongest; ++shown) {
    append_escaped(out, text[shown]);
  }
  out += '"';
  if (shown < text.size()) {
    out += "... (" + std::to_string(text.size()) + " bytes)";
  }
  return out;
}

}  // namespace quantjit::traits
