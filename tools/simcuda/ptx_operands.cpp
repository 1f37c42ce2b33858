// SPDX-License-Identifier: Apache-2.0
#include "ptx_reader.hpp"
#include "special_registers.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace quantjit::sim::ptx {

namespace {

bool is_special(std::string_view name) {
  for (const SpecialRegister& s : kSpecialRegisters) {
    if (s.name == name) {
      return true;
    }
  }
  return false;
}

std::uint64_t bits_of_double(double x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace

void FunctionReader::read_instruction() {
  Instruction instruction;
  const Token first = cursor_.peek();
  instruction.line = first.line;
  instruction.scope = open_scopes_.back();
  if (cursor_.accept("@")) {
    instruction.guard_negated = cursor_.accept("!");
    const Token name = cursor_.take();
    const Operand guard = resolve(name);
    if (guard.kind != OperandKind::kRegister || function_.registers[guard.index] != 1) {
      cursor_.fail_at(name, "guard that is not a predicate");
    }
    instruction.guard = guard.index;
  }
  instruction.mnemonic = cursor_.word("an instruction");
  while (!cursor_.at(";")) {
    instruction.operands.push_back(read_operand());
    if (!cursor_.accept(",") && !cursor_.at(";")) {
      cursor_.fail("expected ',' or ';'");
    }
  }
  const std::size_t end = cursor_.take().end;
  instruction.text = one_line(cursor_.source().substr(first.begin, end - first.begin));
  function_.code.push_back(std::move(instruction));
}

Operand FunctionReader::read_operand() {
  Operand operand = read_simple();
  if (cursor_.accept("|")) {
    Operand pair;
    pair.kind = OperandKind::kPair;
    pair.items.push_back(std::move(operand));
    pair.items.push_back(read_simple());
    return pair;
  }
  return operand;
}

Operand FunctionReader::read_simple() {
  if (cursor_.accept("[")) {
    return read_address();
  }
  if (cursor_.accept("{")) {
    return read_group("}", OperandKind::kVector);
  }
  if (cursor_.accept("(")) {
    return read_group(")", OperandKind::kList);
  }
  if (cursor_.accept("!")) {
    Operand operand = read_simple();
    operand.negated = !operand.negated;
    return operand;
  }
  if (cursor_.accept("-")) {
    return read_number(true);
  }
  if (cursor_.peek().kind == Token::Kind::kNumber) {
    return read_number(false);
  }
  if (cursor_.peek().kind != Token::Kind::kWord) {
    cursor_.fail("expected an operand");
  }
  Operand operand = resolve(cursor_.take());
  if (operand.kind == OperandKind::kVariable && cursor_.accept("+")) {
    operand.offset = static_cast<std::int64_t>(cursor_.integer());
  }
  return operand;
}

Operand FunctionReader::read_address() {
  Operand address;
  address.kind = OperandKind::kAddress;
  address.items.push_back(cursor_.peek().kind == Token::Kind::kNumber ? read_number(false)
                                                                      : resolve(cursor_.take()));
  while (cursor_.at("+") || cursor_.at("-")) {
    bool negative = cursor_.take().text == "-";
    if (cursor_.accept("-")) {
      negative = !negative;
    }
    const auto value = static_cast<std::int64_t>(cursor_.integer());
    address.offset += negative ? -value : value;
  }
  cursor_.expect("]");
  return address;
}

Operand FunctionReader::read_group(std::string_view close, OperandKind kind) {
  Operand group;
  group.kind = kind;
  while (!cursor_.accept(close)) {
    group.items.push_back(read_simple());
    if (!cursor_.accept(",") && !cursor_.at(close)) {
      cursor_.fail("expected ',' or '" + std::string(close) + "'");
    }
  }
  return group;
}

Operand FunctionReader::read_number(bool negative) {
  const Token token = cursor_.take();
  const std::string text(token.text);
  Operand number;
  const char kind = text.size() > 2 && text[0] == '0' ? text[1] : '\0';
  if (kind == 'f' || kind == 'F') {
    std::uint64_t bits = 0;
    if (text.size() != 10 || !parse_integer("0x" + text.substr(2), bits)) {
      cursor_.fail_at(token, "malformed number");
    }
    number.kind = OperandKind::kFloat;
    number.exact32 = true;
    number.bits = negative ? bits ^ 0x80000000 : bits;
    return number;
  }
  if (kind == 'd' || kind == 'D') {
    if (text.size() != 18 || !parse_integer("0x" + text.substr(2), number.bits)) {
      cursor_.fail_at(token, "malformed number");
    }
    number.kind = OperandKind::kFloat;
    number.bits ^= negative ? std::uint64_t{1} << 63 : 0;
    return number;
  }
  if (parse_integer(text, number.bits)) {
    number.kind = OperandKind::kInteger;
    number.bits = negative ? 0 - number.bits : number.bits;
    return number;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || text.find_first_of("xX") != std::string::npos) {
    cursor_.fail_at(token, "malformed number");
  }
  number.kind = OperandKind::kFloat;
  number.bits = bits_of_double(negative ? -value : value);
  return number;
}

Operand FunctionReader::resolve(const Token& token) {
  Operand operand;
  operand.name = std::string(token.text);
  if (operand.name == "_") {
    return operand;
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto it = scope->find(operand.name);
    if (it != scope->end()) {
      operand.kind = it->second.is_register ? OperandKind::kRegister : OperandKind::kVariable;
      operand.index = it->second.index;
      return operand;
    }
  }
  for (std::size_t i = 0; i < text_.variables.size(); ++i) {
    if (text_.variables[i].name == operand.name) {
      operand.kind = OperandKind::kVariable;
      operand.global = true;
      operand.index = static_cast<std::uint32_t>(i);
      return operand;
    }
  }
  if (is_special(operand.name)) {
    operand.kind = OperandKind::kSpecial;
    return operand;
  }
  if (operand.name == "WARP_SZ") {
    operand.kind = OperandKind::kInteger;
    operand.bits = kLanes;
    return operand;
  }
  if (operand.name[0] == '%') {
    cursor_.fail_at(token, "unknown register '" + operand.name + "'");
  }
  operand.kind = OperandKind::kName;
  return operand;
}

}  // namespace quantjit::sim::ptx
