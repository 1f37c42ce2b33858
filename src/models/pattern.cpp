// SPDX-License-Identifier: Apache-2.0
#include "src/models/pattern.hpp"

#include <utility>

namespace quantjit::models {
namespace {

constexpr std::size_t kLongestPattern = 512;
constexpr int kDeepestGroup = 32;

using Set = std::bitset<256>;

Set range(unsigned first, unsigned last) {
  Set set;
  for (unsigned byte = first; byte <= last; ++byte) {
    set.set(byte);
  }
  return set;
}

Set single(char byte) {
  Set set;
  set.set(static_cast<unsigned char>(byte));
  return set;
}

/// What stands after a backslash.
std::optional<Set> escaped(char letter) {
  switch (letter) {
    case 'd': return range('0', '9');
    case 'w': return range('0', '9') | range('a', 'z') | range('A', 'Z') | single('_');
    case 's': return single(' ') | range('\t', '\r');
    default: break;
  }
  const bool alphanumeric = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                            (letter >= 'A' && letter <= 'Z');
  return alphanumeric ? std::nullopt : std::optional(single(letter));
}

}  // namespace

/// Recursive descent; every function returns nothing for syntax that is not understood.
class PatternCompiler {
 public:
  PatternCompiler(std::string_view text, std::vector<Set>& sets) : text_(text), sets_(sets) {}

  std::optional<Pattern::Code> whole() {
    std::optional<Pattern::Code> code = alternatives(0);
    if (!code || position_ != text_.size()) {
      return std::nullopt;
    }
    code->push_back({Pattern::Op::kMatch, 0, 0, 0});
    return code;
  }

 private:
  using Code = Pattern::Code;
  using Op = Pattern::Op;

  [[nodiscard]] bool at(char wanted) const {
    return position_ < text_.size() && text_[position_] == wanted;
  }

  bool take(char wanted) {
    const bool found = at(wanted);
    position_ += found ? 1 : 0;
    return found;
  }

  static void append(Code& code, const Code& more) {
    code.insert(code.end(), more.begin(), more.end());
  }

  static int length(const Code& code) { return static_cast<int>(code.size()); }

  std::optional<Code> alternatives(int depth) {
    std::optional<Code> left = sequence(depth);
    while (left && take('|')) {
      const std::optional<Code> right = sequence(depth);
      if (!right) {
        return std::nullopt;
      }
      Code both{{Op::kSplit, 1, length(*left) + 2, 0}};
      append(both, *left);
      const int past = length(*right) + 1;
      both.push_back({Op::kSplit, past, past, 0});
      append(both, *right);
      left = std::move(both);
    }
    return left;
  }

  std::optional<Code> sequence(int depth) {
    Code code;
    while (position_ < text_.size() && !at('|') && !at(')')) {
      std::optional<Code> piece = atom(depth);
      if (!piece) {
        return std::nullopt;
      }
      append(code, repeated(std::move(*piece)));
    }
    return code;
  }

  Code repeated(Code piece) {
    for (;;) {
      const int size = length(piece);
      if (take('*')) {
        piece.insert(piece.begin(), {Op::kSplit, 1, size + 2, 0});
        piece.push_back({Op::kSplit, -size - 1, -size - 1, 0});
      } else if (take('+')) {
        piece.push_back({Op::kSplit, -size, 1, 0});
      } else if (take('?')) {
        piece.insert(piece.begin(), {Op::kSplit, 1, size + 1, 0});
      } else {
        return piece;
      }
    }
  }

  std::optional<Code> atom(int depth) {
    const char letter = text_[position_++];
    switch (letter) {
      case '(': return group(depth);
      case '[': return bracket();
      case '^': return Code{{Op::kBegin, 1, 1, 0}};
      case '$': return Code{{Op::kEnd, 1, 1, 0}};
      case '.': return byte(~single('\n'));
      case '\\':
        return position_ == text_.size() ? std::nullopt : byte(escaped(text_[position_++]));
      case '*':
      case '+':
      case '?':
      case '{':
      case '}': return std::nullopt;
      default: return byte(single(letter));
    }
  }

  std::optional<Code> group(int depth) {
    if (depth == kDeepestGroup) {
      return std::nullopt;
    }
    if (take('?') && !take(':')) {
      return std::nullopt;
    }
    std::optional<Code> inside = alternatives(depth + 1);
    return inside && take(')') ? std::move(inside) : std::nullopt;
  }

  std::optional<Code> byte(const std::optional<Set>& set) {
    if (!set) {
      return std::nullopt;
    }
    sets_.push_back(*set);
    return Code{{Op::kByte, 1, 1, sets_.size() - 1}};
  }

  std::optional<Code> bracket() {
    const bool inverted = take('^');
    Set set;
    bool first = true;
    while (first || !at(']')) {
      const std::optional<Set> low = class_element();
      if (!low) {
        return std::nullopt;
      }
      first = false;
      set |= *low;
      if (at('-') && position_ + 1 < text_.size() && text_[position_ + 1] != ']') {
        const auto from = static_cast<unsigned char>(text_[position_ - 1]);
        const auto to = static_cast<unsigned char>(text_[position_ + 1]);
        if (low->count() != 1 || text_[position_ + 1] == '\\' || to < from) {
          return std::nullopt;
        }
        set |= range(from, to);
        position_ += 2;
      }
    }
    ++position_;
    return byte(inverted ? ~set : set);
  }

  std::optional<Set> class_element() {
    if (position_ == text_.size()) {
      return std::nullopt;
    }
    const char letter = text_[position_++];
    if (letter != '\\') {
      return single(letter);
    }
    return position_ == text_.size() ? std::nullopt : escaped(text_[position_++]);
  }

  std::string_view text_;
  std::vector<Set>& sets_;
  std::size_t position_ = 0;
};

std::optional<Pattern> Pattern::compile(std::string_view text) {
  if (text.size() > kLongestPattern) {
    return std::nullopt;
  }
  Pattern pattern;
  std::optional<Code> code = PatternCompiler(text, pattern.sets_).whole();
  if (!code) {
    return std::nullopt;
  }
  pattern.code_ = std::move(*code);
  return pattern;
}

/// The instructions that wait for a byte, and those seen at this position.
struct Pattern::State {
  explicit State(std::size_t size) : seen(size) {}

  std::vector<bool> seen;
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> stack;
  bool matched = false;
};

void Pattern::follow(State& state, std::size_t start, bool at_begin, bool at_end) const {
  state.stack.push_back(start);
  while (!state.stack.empty()) {
    const std::size_t here = state.stack.back();
    state.stack.pop_back();
    if (state.seen[here]) {
      continue;
    }
    state.seen[here] = true;
    const Instruction& instruction = code_[here];
    const auto step = [&](int offset) {
      state.stack.push_back(
          static_cast<std::size_t>(static_cast<std::ptrdiff_t>(here) + std::ptrdiff_t{offset}));
    };
    switch (instruction.op) {
      case Op::kByte: state.waiting.push_back(here); break;
      case Op::kSplit:
        step(instruction.second);
        step(instruction.first);
        break;
      case Op::kBegin:
      case Op::kEnd:
        if (instruction.op == Op::kBegin ? at_begin : at_end) {
          step(1);
        }
        break;
      case Op::kMatch: state.matched = true; break;
    }
  }
}

bool Pattern::matches(std::string_view text) const {
  State now(code_.size());
  follow(now, 0, true, text.empty());
  for (std::size_t i = 0; i < text.size() && !now.matched && !now.waiting.empty(); ++i) {
    State next(code_.size());
    for (const std::size_t here : now.waiting) {
      if (sets_[code_[here].set].test(static_cast<unsigned char>(text[i]))) {
        follow(next, here + 1, false, i + 1 == text.size());
      }
    }
    now = std::move(next);
  }
  return now.matched;
}

}  // namespace quantjit::models
