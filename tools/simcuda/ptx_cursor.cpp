// SPDX-License-Identifier: Apache-2.0
#include "ptx_reader.hpp"

#include <charconv>
#include <cstring>

namespace quantjit::sim {

ParseError::ParseError(unsigned line, std::string text, const std::string& problem)
    : std::runtime_error("PTX line " + std::to_string(line) + ": " + problem + ": " + text),
      line_(line),
      text_(std::move(text)) {}

namespace ptx {

bool Cursor::accept(std::string_view text) {
  if (!at(text)) {
    return false;
  }
  take();
  return true;
}

void Cursor::expect(std::string_view text) {
  if (!accept(text)) {
    fail("expected '" + std::string(text) + "'");
  }
}

void Cursor::fail(const std::string& problem) const {
  fail_at(peek(), problem);
}

void Cursor::fail_at(const Token& token, const std::string& problem) const {
  const std::size_t end = source_.find('\n', token.begin);
  std::size_t begin = source_.rfind('\n', token.begin);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  const std::string_view rest =
      source_.substr(begin, end == std::string_view::npos ? end : end - begin);
  throw ParseError(token.line, one_line(rest), problem);
}

std::string Cursor::word(const char* what) {
  if (peek().kind != Token::Kind::kWord) {
    fail(std::string("expected ") + what);
  }
  return std::string(take().text);
}

std::uint64_t Cursor::integer() {
  std::uint64_t value = 0;
  if (!parse_integer(peek().text, value)) {
    fail("expected an integer");
  }
  take();
  return value;
}

bool parse_integer(std::string_view text, std::uint64_t& value) {
  int base = 10;
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) {
    text.remove_suffix(1);
  }
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

unsigned type_bits(std::string_view type) {
  if (type == ".pred") {
    return 1;
  }
  if (type == ".f16x2" || type == ".bf16x2") {
    return 32;
  }
  if (type == ".bf16") {
    return 16;
  }
  if (type.size() < 3 || type[0] != '.' || std::strchr("busf", type[1]) == nullptr) {
    return 0;
  }
  std::uint64_t bits = 0;
  if (!parse_integer(type.substr(2), bits)) {
    return 0;
  }
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128
             ? static_cast<unsigned>(bits)
             : 0;
}

namespace {

/// The bits of one initializer for elements of `type`.
std::uint64_t initializer(Cursor& cursor, std::string_view type) {
  const bool negative = cursor.accept("-");
  const Token token = cursor.take();
  std::uint64_t value = 0;
  if (token.text.size() > 2 &&
      (token.text.substr(0, 2) == "0f" || token.text.substr(0, 2) == "0d" ||
       token.text.substr(0, 2) == "0F" || token.text.substr(0, 2) == "0D")) {
    const std::string hexadecimal = "0x" + std::string(token.text.substr(2));
    if (!parse_integer(hexadecimal, value) || type[1] != 'f') {
      cursor.fail_at(token, "floating point initializer that does not fit its type");
    }
    return negative ? value ^ (std::uint64_t{1} << (type_bits(type) - 1)) : value;
  }
  if (!parse_integer(token.text, value)) {
    cursor.fail_at(token, "initializer that is not a number");
  }
  return negative ? 0 - value : value;
}

void read_initializers(Cursor& cursor, std::string_view type, std::vector<std::uint8_t>& bytes) {
  if (cursor.accept("{")) {
    while (!cursor.accept("}")) {
      read_initializers(cursor, type, bytes);
      cursor.accept(",");
    }
    return;
  }
  const std::uint64_t value = initializer(cursor, type);
  for (unsigned i = 0; i < type_bits(type) / 8; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

}  // namespace

DeclaredVariable read_variable(Cursor& cursor, Space space, bool external) {
  DeclaredVariable variable;
  variable.space = space;
  std::string type;
  unsigned vector = 1;
  bool explicit_align = false;
  while (cursor.peek().kind == Token::Kind::kWord && cursor.peek().text[0] == '.') {
    const std::string part(cursor.take().text);
    if (part == ".align") {
      variable.align = static_cast<std::uint32_t>(cursor.integer());
      explicit_align = true;
    } else if (part == ".v2" || part == ".v4") {
      vector = static_cast<unsigned>(part[2] - '0');
    } else if (part == ".ptr" || part == ".global" || part == ".shared" || part == ".const" ||
               part == ".local") {
      continue;  // hints on pointer parameters
    } else if (type_bits(part) >= 8) {
      type = part;
    } else {
      cursor.fail("unknown part of a declaration '" + part + "'");
    }
    if (part == ".align" && !type.empty()) {
      // ".ptr .align N" speaks of what the pointer points to.
      variable.align = type_bits(type) / 8 * vector;
    }
  }
  if (type.empty()) {
    cursor.fail("declaration without a type");
  }
  const std::uint64_t element = std::uint64_t{type_bits(type)} / 8 * vector;
  if (!explicit_align) {
    variable.align = static_cast<std::uint32_t>(element);
  }
  if (variable.align == 0 || (variable.align & (variable.align - 1)) != 0) {
    cursor.fail("alignment that is not a power of two");
  }
  variable.name = cursor.word("a variable's name");
  variable.bytes = element;
  while (cursor.accept("[")) {
    if (cursor.accept("]")) {
      variable.dynamic = true;
      variable.bytes = 0;
    } else {
      variable.bytes *= cursor.integer();
      cursor.expect("]");
    }
  }
  if (variable.dynamic && !(external && space == Space::kShared)) {
    cursor.fail("array without a size that is not extern .shared");
  }
  if (cursor.accept("=")) {
    read_initializers(cursor, type, variable.initial);
    if (variable.initial.size() > variable.bytes) {
      cursor.fail("more initializers than elements");
    }
  }
  return variable;
}

}  // namespace ptx
}  // namespace quantjit::sim
