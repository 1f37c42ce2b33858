// SPDX-License-Identifier: Apache-2.0
#include "lower.hpp"

namespace quantjit::sim {

bool Lowering::lower_control(const ptx::Instruction& instruction, const Parts& parts) {
  const std::string& name = instruction.mnemonic;
  if (name == "bra" || name == "bra.uni") {
    lower_branch(instruction);
  } else if (name == "brx.idx" || name == "brx.idx.uni") {
    lower_indexed_branch(instruction);
  } else if (name == "call" || name == "call.uni") {
    lower_call(instruction);
  } else if (name == "ret" || name == "ret.uni") {
    lower_return();
  } else if (name == "exit") {
    emit(Handler{}).control = Control::kExit;
  } else if (name == "trap" || name == "brkpt") {
    emit("$trap");
  } else if (name == "griddepcontrol.wait") {
    emit(Handler{}).control = Control::kDependencyWait;
    draft_.has_dependency_wait = true;
  } else if (name == "griddepcontrol.launch_dependents") {
    emit("$launch_dependents");
  } else if ((parts[0] == "bar" || parts[0] == "barrier") && parts.size() > 1 &&
             parts[1] != "warp") {
    lower_barrier(instruction, parts);
  } else {
    return false;
  }
  return true;
}

std::uint32_t Lowering::label(const std::string& name, std::uint32_t scope) const {
  const ptx::Function& function = *instance_->function;
  for (;;) {
    for (std::size_t i = 0; i < function.labels.size(); ++i) {
      if (function.labels[i].scope == scope && function.labels[i].name == name) {
        return instance_->labels[i];
      }
    }
    if (scope == 0) {
      fail("unknown label '" + name + "'");
    }
    scope = function.scope_parents[scope];
  }
}

void Lowering::lower_branch(const ptx::Instruction& instruction) {
  if (instruction.operands.size() != 1 || instruction.operands[0].kind != ptx::OperandKind::kName) {
    fail("unknown form of a branch");
  }
  const std::uint32_t target = label(instruction.operands[0].name, instruction.scope);
  Op& op = emit(Handler{});
  op.control = Control::kBranch;
  op.target = target;
}

void Lowering::lower_indexed_branch(const ptx::Instruction& instruction) {
  if (instruction.operands.size() != 2 || instruction.operands[1].kind != ptx::OperandKind::kName) {
    fail("unknown form of an indexed branch");
  }
  for (const ptx::TargetList& list : instance_->function->target_lists) {
    if (list.name != instruction.operands[1].name) {
      continue;
    }
    std::vector<std::uint32_t>& targets = draft_.program.branch_targets;
    const auto first = static_cast<std::uint32_t>(targets.size());
    for (const std::string& name : list.labels) {
      targets.push_back(label(name, instruction.scope));
    }
    const std::uint32_t index = read(instruction.operands[0], 'w');
    Op& op = emit(Handler{}, kNone, {index});
    op.control = Control::kIndexedBranch;
    op.list = first;
    op.target = static_cast<std::uint32_t>(list.labels.size());
    return;
  }
  fail("unknown target list");
}

void Lowering::lower_return() {
  Op& op = emit(Handler{});
  if (instance_->end_label == kNone) {
    op.control = Control::kExit;
  } else {
    op.control = Control::kBranch;
    op.target = instance_->end_label;
  }
}

void Lowering::bind_formal(const ptx::Formal& formal, const ptx::Function& function,
                           const ptx::Operand& actual, Instance& callee, bool result) {
  if (formal.is_register) {
    const unsigned bits = function.registers[formal.index];
    const char letter = bits == 1 ? 'p' : (bits == 16 ? 'h' : (bits == 32 ? 'w' : 'd'));
    if (bits == 128) {
      fail("128-bit register parameter");
    }
    const char* move =
        bits == 1 ? "mov.pred" : (bits == 16 ? "mov.b16" : (bits == 32 ? "mov.b32" : "mov.b64"));
    callee.registers[formal.index] = new_register(bits);
    if (!result) {
      emit(move, callee.registers[formal.index], {read(actual, letter)});
    }
    return;
  }
  if (actual.kind != ptx::OperandKind::kVariable) {
    fail("argument that is not a .param variable");
  }
  const Placement placement = placement_of(actual);
  if (placement.bytes < function.variables[formal.index].bytes) {
    fail("argument smaller than the parameter '" + function.variables[formal.index].name + "'");
  }
  callee.variables[formal.index] = placement;
}

/// Calls are inlined: the callee's parameters are the caller's variables themselves.
void Lowering::lower_call(const ptx::Instruction& instruction) {
  const std::vector<ptx::Operand>& operands = instruction.operands;
  std::size_t at = 0;
  const std::vector<ptx::Operand> none;
  const bool has_results = !operands.empty() && operands[0].kind == ptx::OperandKind::kList &&
                           operands.size() > 1 && operands[1].kind == ptx::OperandKind::kName;
  const std::vector<ptx::Operand>& results = has_results ? operands[at++].items : none;
  if (at >= operands.size() || operands[at].kind != ptx::OperandKind::kName) {
    fail("indirect calls are not supported");
  }
  const auto found = text_.functions.find(operands[at].name);
  if (found == text_.functions.end() || !found->second.defined || found->second.entry) {
    fail("call of an undefined function '" + operands[at].name + "'");
  }
  const ptx::Function& function = found->second;
  ++at;
  const std::vector<ptx::Operand>& arguments =
      at < operands.size() && operands[at].kind == ptx::OperandKind::kList ? operands[at++].items
                                                                           : none;
  if (at != operands.size() || results.size() != function.results.size() ||
      arguments.size() != function.parameters.size()) {
    fail("call that does not match the function");
  }
  Instance callee;
  callee.function = &function;
  callee.caller = instance_;
  callee.registers.resize(function.registers.size(), kNone);
  callee.variables.resize(function.variables.size());
  callee.end_label = new_label();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    bind_formal(function.parameters[i], function, arguments[i], callee, false);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    bind_formal(function.results[i], function, results[i], callee, true);
  }
  if (guard_ != kNone) {  // lanes that do not call jump over the body
    Op& skip = emit(Handler{});
    skip.control = Control::kBranch;
    skip.target = callee.end_label;
    skip.guard_negated = !skip.guard_negated;
  }
  lower_body(callee);
  bind(callee.end_label);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (function.results[i].is_register) {
      const unsigned bits = function.registers[function.results[i].index];
      const char letter = bits == 1 ? 'p' : (bits == 16 ? 'h' : (bits == 32 ? 'w' : 'd'));
      emit(bits == 1 ? "mov.pred" : (bits == 16 ? "mov.b16" : (bits == 32 ? "mov.b32" : "mov.b64")),
           written(results[i], letter), {callee.registers[function.results[i].index]});
    }
  }
  emit("$nothing");  // a label needs an op behind it
}

/// bar.sync a{, b}, bar.red.op d, a{, b}, {!}c and their barrier spellings.
void Lowering::lower_barrier(const ptx::Instruction& instruction, const Parts& parts) {
  std::string operation;
  std::string type;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "cta" || parts[i] == "aligned") {
      continue;
    }
    if (operation.empty()) {
      operation = parts[i];
    } else {
      type.append(type.empty() ? "" : ".").append(parts[i]);
    }
  }
  const std::vector<ptx::Operand>& operands = instruction.operands;
  const bool reduces = operation == "red";
  const std::uint8_t detail =
      !reduces ? 0
               : (type == "and.pred" ? 1 : (type == "or.pred" ? 2 : (type == "popc.u32" ? 3 : 0)));
  const std::size_t first = reduces ? 1 : 0;
  const std::size_t last = operands.size() - (reduces ? 1 : 0);
  const bool known = (operation == "sync" && type.empty()) || (reduces && detail != 0);
  if (!known || operands.size() < (reduces ? 3U : 1U) || last - first > 2) {
    fail("unknown instruction");
  }
  const std::uint32_t id = read(operands[first], 'w');
  const std::uint32_t threads = last - first == 2 ? read(operands[first + 1], 'w') : kNone;
  const std::uint32_t predicate = reduces ? read(operands.back(), 'p') : kNone;
  const std::uint32_t dst = reduces ? written(operands[0], detail == 3 ? 'w' : 'p') : kNone;
  Op& op = emit(Handler{}, dst, {id, threads, predicate});
  op.control = Control::kBarrier;
  op.detail = detail;
}

}  // namespace quantjit::sim
