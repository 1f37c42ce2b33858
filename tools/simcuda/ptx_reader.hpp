// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx.hpp"
#include "ptx_lexer.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::sim::ptx {

/// A cursor over tokens with the checks that every part of the reader needs.
class Cursor {
 public:
  explicit Cursor(std::string_view source) : source_(source), tokens_(split(source)) {}

  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
    return tokens_[position_ + ahead < tokens_.size() ? position_ + ahead : tokens_.size() - 1];
  }

  const Token& take() { return tokens_[position_ + 1 < tokens_.size() ? position_++ : position_]; }

  [[nodiscard]] bool at(std::string_view text) const { return peek().text == text; }

  /// Takes the token when it is `text`.
  bool accept(std::string_view text);
  void expect(std::string_view text);
  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_at(const Token& token, const std::string& problem) const;
  std::string word(const char* what);
  std::uint64_t integer();

  [[nodiscard]] std::string_view source() const { return source_; }

 private:
  std::string_view source_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
};

/// The value of an integer literal; false when `text` is none.
[[nodiscard]] bool parse_integer(std::string_view text, std::uint64_t& value);

/// Size in bits of a type such as ".u32", 1 for ".pred", 0 when it is none.
[[nodiscard]] unsigned type_bits(std::string_view type);

/// Reads `.align N .b8 name[K] = {...}` and what leads up to it, after the space directive.
[[nodiscard]] DeclaredVariable read_variable(Cursor& cursor, Space space, bool external);

/// What a name stands for inside a function.
struct Meaning {
  bool is_register = false;
  std::uint32_t index = 0;
};

/// Reads one function from its name on.
class FunctionReader {
 public:
  FunctionReader(Cursor& cursor, const Text& text) : cursor_(cursor), text_(text) {}

  [[nodiscard]] Function read(bool entry);

 private:
  void read_formals(std::vector<Formal>& formals);
  void read_tuning();
  void read_body();
  void read_statement();
  void read_declaration();
  void read_registers();
  void read_variables(Space space);
  void read_label();
  void read_target_list(const std::string& name);
  void read_instruction();
  Operand read_operand();
  Operand read_simple();
  Operand read_address();
  Operand read_group(std::string_view close, OperandKind kind);
  Operand read_number(bool negative);
  Operand resolve(const Token& token);
  void declare(const std::string& name, Meaning meaning);

  Cursor& cursor_;
  const Text& text_;
  Function function_;
  std::vector<std::map<std::string, Meaning, std::less<>>> scopes_;
  std::vector<std::uint32_t> open_scopes_;
};

}  // namespace quantjit::sim::ptx
