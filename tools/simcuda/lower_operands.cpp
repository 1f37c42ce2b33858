// SPDX-License-Identifier: Apache-2.0
#include "lower.hpp"
#include "special_registers.hpp"

#include <cstring>

namespace quantjit::sim {

namespace {

unsigned letter_bits(char letter) {
  switch (letter) {
    case 'p': return 1;
    case 'h': return 16;
    case 'w':
    case 'f': return 32;
    case 'd':
    case 'e': return 64;
    default: return 128;
  }
}

}  // namespace

unsigned Lowering::bits_of(const ptx::Operand& operand) const {
  return operand.kind == ptx::OperandKind::kRegister ? instance_->function->registers[operand.index]
                                                     : 0;
}

std::uint32_t Lowering::register_of(const ptx::Operand& operand) const {
  if (operand.kind != ptx::OperandKind::kRegister) {
    fail("operand '" + operand.name + "' is not a register");
  }
  return instance_->registers[operand.index];
}

Placement Lowering::placement_of(const ptx::Operand& operand) const {
  if (!operand.global) {
    Placement placement = instance_->variables[operand.index];
    const ptx::DeclaredVariable& variable = instance_->function->variables[operand.index];
    if (variable.dynamic) {
      fail("dynamic shared memory must be declared at module scope");
    }
    return placement;
  }
  const ptx::DeclaredVariable& variable = text_.variables[operand.index];
  if (variable.space != Space::kShared) {
    return {variable.space, 0, variable.bytes};
  }
  if (!variable.dynamic) {
    return shared_.find(variable.name)->second;
  }
  // Sized shared variables of all functions have to be known before: count them all now.
  std::uint64_t end = draft_.shared_bytes;
  for (const auto& [name, function] : text_.functions) {
    for (const ptx::DeclaredVariable& v : function.variables) {
      const bool placed = shared_.count(name + "::" + v.name) != 0;
      if (v.space == Space::kShared && !placed && &function != instance_->function &&
          !function.entry) {
        fail("dynamic shared memory beside shared variables of called functions");
      }
    }
  }
  end = (end + 15) / 16 * 16;
  return {Space::kShared, end, 0};
}

std::uint32_t Lowering::read_variable(const ptx::Operand& operand, unsigned bits) {
  const Placement placement = placement_of(operand);
  if (placement.space == Space::kGlobal || placement.space == Space::kConst) {
    if (bits != 64) {
      fail("the address of '" + operand.name + "' has 64 bits");
    }
    std::uint32_t number = 0;
    for (std::uint32_t i = 0; i < operand.index; ++i) {
      number += text_.variables[i].space == Space::kShared ? 0 : 1;
    }
    return address_constant(number, operand.offset);
  }
  std::uint64_t value = placement.address + static_cast<std::uint64_t>(operand.offset);
  if (placement.space == Space::kParam) {
    value |= kParamWindow;
  } else if (placement.space == Space::kLocal && !operand.global &&
             instance_->function->variables[operand.index].space == Space::kParam) {
    value |= kLocalWindow;  // parameters of inlined calls: addressed like generic memory
  }
  return constant(bits, value);
}

std::uint32_t Lowering::read_special(const ptx::Operand& operand, unsigned bits) {
  for (const SpecialRegister& s : kSpecialRegisters) {
    if (s.name != operand.name) {
      continue;
    }
    const std::uint32_t to = new_register(s.bits);
    const bool outer = unguarded_;
    unguarded_ = true;
    emit(s.bits == 64 ? "$special.64" : "$special.32", to).detail =
        static_cast<std::uint8_t>(s.which);
    std::uint32_t result = to;
    if (s.bits != bits) {
      result = new_register(bits);
      emit(bits == 64 ? "$zext.d.w" : (s.bits == 64 ? "$resize.w.d" : "$resize.h.w"), result, {to});
    }
    unguarded_ = outer;
    return result;
  }
  fail("unknown special register '" + operand.name + "'");
}

std::uint32_t Lowering::read_predicate(const ptx::Operand& operand) {
  if (operand.kind == ptx::OperandKind::kInteger) {
    return constant(1, (operand.bits != 0) != operand.negated ? 1 : 0);
  }
  if (bits_of(operand) != 1) {
    fail("operand '" + operand.name + "' is not a predicate");
  }
  const std::uint32_t source = register_of(operand);
  if (!operand.negated) {
    return source;
  }
  const std::uint32_t to = new_register(1);
  const bool outer = unguarded_;
  unguarded_ = true;
  emit("not.pred", to, {source});
  unguarded_ = outer;
  return to;
}

std::uint32_t Lowering::read_float(const ptx::Operand& operand, char letter) {
  if (letter == 'f' || (operand.exact32 && letter == 'w')) {
    if (operand.exact32) {
      return constant(32, operand.bits);
    }
    double value = 0;
    std::memcpy(&value, &operand.bits, sizeof value);
    const auto narrow = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &narrow, sizeof bits);
    return constant(32, bits);
  }
  if (!operand.exact32 && (letter == 'e' || letter == 'd')) {
    return constant(64, operand.bits);
  }
  fail("floating point literal of the wrong width");
}

std::uint32_t Lowering::read(const ptx::Operand& operand, char letter) {
  const unsigned bits = letter_bits(letter);
  if (bits == 1) {
    return read_predicate(operand);
  }
  if (operand.negated) {
    fail("'!' before an operand that is not a predicate");
  }
  switch (operand.kind) {
    case ptx::OperandKind::kRegister:
      if (bits_of(operand) != bits) {
        fail("register '" + operand.name + "' has " + std::to_string(bits_of(operand)) +
             " bits where " + std::to_string(bits) + " are needed");
      }
      return register_of(operand);
    case ptx::OperandKind::kInteger:
      if (letter == 'f' || letter == 'e') {
        ptx::Operand number = operand;
        const auto value = static_cast<double>(static_cast<std::int64_t>(operand.bits));
        std::memcpy(&number.bits, &value, sizeof value);
        return read_float(number, letter);
      }
      return constant(bits, operand.bits);
    case ptx::OperandKind::kFloat: return read_float(operand, letter);
    case ptx::OperandKind::kVariable: return read_variable(operand, bits);
    case ptx::OperandKind::kSpecial: return read_special(operand, bits);
    default: fail("operand of the wrong kind");
  }
}

std::uint32_t Lowering::written(const ptx::Operand& operand, char letter) {
  const unsigned bits = letter_bits(letter);
  if (operand.kind == ptx::OperandKind::kSink) {
    return new_register(bits);
  }
  if (bits_of(operand) != bits) {
    fail("destination '" + operand.name + "' is not a register of " + std::to_string(bits) +
         " bits");
  }
  return register_of(operand);
}

}  // namespace quantjit::sim
