// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module.hpp"
#include "program.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// PTX as text says it: declarations, instructions, operands; names resolved, nothing interpreted.
namespace quantjit::sim::ptx {

enum class OperandKind : std::uint8_t {
  kRegister,  ///< index: register of the function
  kInteger,   ///< bits
  kFloat,     ///< bits of a double; `exact32` when written as 0f
  kVariable,  ///< index into the function's or (global) the module's variables, plus offset
  kSpecial,   ///< name of a special register
  kAddress,   ///< items[0] is the base, plus offset
  kVector,    ///< {a, b, ...}
  kList,      ///< (a, b, ...) of a call
  kPair,      ///< p|q
  kName,      ///< label, function or target list
  kSink,      ///< _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;  ///< !p
  bool global = false;   ///< variable of the module
  bool exact32 = false;
  std::uint32_t index = 0;
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::string name;
  std::vector<Operand> items;
};

struct Instruction {
  std::string mnemonic;
  std::vector<Operand> operands;
  std::int64_t guard = -1;  ///< register, -1: none
  bool guard_negated = false;
  unsigned line = 0;
  std::string text;
  std::uint32_t scope = 0;
};

struct DeclaredVariable {
  std::string name;
  Space space = Space::kGlobal;
  std::uint64_t bytes = 0;
  std::uint32_t align = 1;
  bool dynamic = false;  ///< extern .shared without a size
  std::vector<std::uint8_t> initial;
};

struct Label {
  std::string name;
  std::uint32_t scope = 0;
  std::uint32_t position = 0;  ///< index of the next instruction
};

struct TargetList {
  std::string name;
  std::vector<std::string> labels;
};

/// A formal parameter: a variable in .param space, or a register.
struct Formal {
  bool is_register = false;
  std::uint32_t index = 0;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  unsigned line = 0;
  std::vector<Formal> results;
  std::vector<Formal> parameters;
  std::vector<unsigned> registers;  ///< bits of each; 1 for predicates
  std::vector<DeclaredVariable> variables;
  std::vector<Instruction> code;
  std::vector<Label> labels;
  std::vector<TargetList> target_lists;
  std::vector<std::uint32_t> scope_parents{0};
  Dim3 max_block{0, 0, 0};
  Dim3 required_block{0, 0, 0};
};

struct Text {
  Target target;
  std::vector<DeclaredVariable> variables;
  std::map<std::string, Function, std::less<>> functions;
  std::vector<std::string> order;  ///< functions as they appear
};

/// Throws ParseError.
[[nodiscard]] Text read(std::string_view ptx);

}  // namespace quantjit::sim::ptx
