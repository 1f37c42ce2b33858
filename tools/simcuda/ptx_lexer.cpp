// SPDX-License-Identifier: Apache-2.0
#include "ptx_lexer.hpp"

#include "module.hpp"

namespace quantjit::sim::ptx {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

bool continues_word(char c) {
  return starts_word(c) || is_digit(c);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (skip_blanks()) {
      const Token token = next();
      if (token.text == ".loc" || token.text == ".file") {
        skip_line();
      } else if (token.text == ".section") {
        skip_section();
      } else {
        tokens_.push_back(token);
      }
    }
    tokens_.push_back({Token::Kind::kEnd, {}, line_, source_.size(), source_.size()});
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char at(std::size_t i) const { return i < source_.size() ? source_[i] : '\0'; }

  void advance() {
    line_ += source_[position_] == '\n' ? 1 : 0;
    ++position_;
  }

  /// False at the end of the text.
  bool skip_blanks() {
    while (position_ < source_.size()) {
      const char c = at(position_);
      if (c == '/' && at(position_ + 1) == '/') {
        skip_line();
      } else if (c == '/' && at(position_ + 1) == '*') {
        skip_comment();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0') {
        advance();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_line() {
    while (position_ < source_.size() && at(position_) != '\n') {
      ++position_;
    }
  }

  void skip_comment() {
    const unsigned begin = line_;
    position_ += 2;
    while (position_ < source_.size() && !(at(position_) == '*' && at(position_ + 1) == '/')) {
      advance();
    }
    if (position_ >= source_.size()) {
      throw ParseError(begin, "/*", "comment without an end");
    }
    position_ += 2;
  }

  void skip_section() {
    while (position_ < source_.size() && at(position_) != '}') {
      advance();
    }
    if (position_ < source_.size()) {
      advance();
    }
  }

  Token next() {
    const std::size_t begin = position_;
    const unsigned line = line_;
    const char c = at(position_);
    Token::Kind kind = Token::Kind::kMark;
    if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) {
      kind = Token::Kind::kNumber;
      number();
    } else if (starts_word(c)) {
      kind = Token::Kind::kWord;
      word();
    } else if (c == '"') {
      kind = Token::Kind::kString;
      string();
    } else {
      ++position_;
    }
    return {kind, source_.substr(begin, position_ - begin), line, begin, position_};
  }

  void number() {
    while (continues_word(at(position_))) {
      const char c = at(position_);
      const bool hexadecimal = at(position_ - 1) == 'x' || at(position_ - 1) == 'X';
      ++position_;
      const char sign = at(position_);
      if ((c == 'e' || c == 'E') && (sign == '+' || sign == '-') && !hexadecimal) {
        ++position_;
      }
    }
  }

  void word() {
    while (continues_word(at(position_)) || (at(position_) == ':' && at(position_ + 1) == ':' &&
                                             continues_word(at(position_ + 2)))) {
      position_ += at(position_) == ':' ? 2 : 1;
    }
  }

  void string() {
    const unsigned begin = line_;
    ++position_;
    while (position_ < source_.size() && at(position_) != '"') {
      position_ += at(position_) == '\\' ? 2 : 1;
    }
    if (position_ >= source_.size()) {
      throw ParseError(begin, "\"", "string without an end");
    }
    ++position_;
  }

  std::string_view source_;
  std::size_t position_ = 0;
  unsigned line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> split(std::string_view source) {
  return Lexer(source).run();
}

std::string one_line(std::string_view source) {
  std::string text;
  bool blank = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '/' && i + 1 < source.size() && source[i + 1] == '/') {
      while (i < source.size() && source[i] != '\n') {
        ++i;
      }
      blank = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      blank = true;
    } else {
      if (blank && !text.empty()) {
        text += ' ';
      }
      blank = false;
      text += c;
    }
  }
  return text;
}

}  // namespace quantjit::sim::ptx
