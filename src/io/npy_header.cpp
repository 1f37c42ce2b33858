// SPDX-License-Identifier: Apache-2.0
#include "src/io/npy_header.hpp"

#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <limits>

namespace quantjit::io {

namespace {

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// Reads the one form of Python literal that a header is.
class LiteralReader {
 public:
  LiteralReader(const std::string& what, std::string_view text) : what_(what), text_(text) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) {
      refuse("nothing may follow the dictionary");
    }
    if (seen_ != kAllKeys) {
      refuse("it must hold descr, fortran_order and shape");
    }
    return header_;
  }

 private:
  enum Key : unsigned { kDescr = 1, kFortranOrder = 2, kShape = 4, kAllKeys = 7 };

  [[noreturn]] void refuse(const std::string& rule) const {
    throw InvalidArgument(what_ + ", header", traits::quote(text_),
                          rule + " (at offset " + std::to_string(at_) + ")");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }

  bool accept(char wanted) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  void expect(char wanted) {
    if (!accept(wanted)) {
      refuse(std::string("expected '") + wanted + "'");
    }
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (text_.substr(at_, word.size()) != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  std::string_view read_string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') {
      expect('\'');
    }
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      refuse("a string must end");
    }
    const std::string_view content = text_.substr(at_, end - at_);
    at_ = end + 1;
    return content;
  }

  void mark(Key key) {
    if ((seen_ & key) != 0) {
      refuse("every key may be given once");
    }
    seen_ |= key;
  }

  void read_entry() {
    const std::string_view key = read_string();
    expect(':');
    if (key == "descr") {
      mark(kDescr);
      header_.descr = read_string();
    } else if (key == "fortran_order") {
      mark(kFortranOrder);
      header_.fortran_order = accept_word("True");
      if (!header_.fortran_order && !accept_word("False")) {
        refuse("fortran_order must be True or False");
      }
    } else if (key == "shape") {
      mark(kShape);
      read_shape();
    } else {
      refuse("only descr, fortran_order and shape are known");
    }
  }

  void read_shape() {
    expect('(');
    while (!accept(')')) {
      if (header_.shape.size() == kMostNpyDimensions) {
        refuse("at most 32 dimensions are allowed");
      }
      header_.shape.push_back(read_size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::int64_t read_size() {
    skip_blanks();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      const int digit = text_[at_] - '0';
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
        refuse("a dimension must fit 63 bits");
      }
      value = value * 10 + digit;
    }
    if (at_ == begin) {
      refuse("a dimension must be a number");
    }
    return value;
  }

  const std::string& what_;
  std::string_view text_;
  std::size_t at_ = 0;
  unsigned seen_ = 0;
  NpyHeader header_;
};

}  // namespace

NpyHeader parse_npy_header(const std::string& what, std::string_view text) {
  return LiteralReader(what, text).read();
}

}  // namespace quantjit::io
