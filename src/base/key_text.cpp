// SPDX-License-Identifier: Apache-2.0
#include "src/base/key_text.hpp"

#include <charconv>
#include <system_error>

namespace quantjit::base {

void append_key_field(std::string& text, std::string_view label, std::string_view value) {
  text += label;
  text += ' ';
  text += std::to_string(value.size());
  text += ':';
  text += value;
  text += '\n';
}

std::vector<KeyField> parse_key_text(std::string_view text) {
  std::vector<KeyField> fields;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::size_t colon = text.find(':', blank == std::string_view::npos ? 0 : blank);
    if (blank == std::string_view::npos || colon == std::string_view::npos) {
      return {};
    }
    std::size_t length = 0;
    const char* const digits = text.data() + blank + 1;
    const auto [end, status] = std::from_chars(digits, text.data() + colon, length);
    const std::string_view rest = text.substr(colon + 1);
    if (status != std::errc{} || end != text.data() + colon || rest.size() <= length ||
        rest[length] != '\n') {
      return {};
    }
    fields.emplace_back(text.substr(0, blank), rest.substr(0, length));
    text = rest.substr(length + 1);
  }
  return fields;
}

}  // namespace quantjit::base
