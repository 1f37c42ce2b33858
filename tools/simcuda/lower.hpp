// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instructions.hpp"
#include "program.hpp"
#include "ptx.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit::sim {

/// A kernel on its way to a Program: operands of ops are still virtual registers (or constant
/// slots), and branch targets are label numbers.
struct Draft {
  Program program;
  std::vector<unsigned> registers;    ///< bits of each virtual register
  std::vector<bool> list_is_written;  ///< per op: its list holds destinations
  std::vector<std::uint32_t> labels;  ///< op index of each label
  std::uint32_t local_bytes = 0;
  std::uint32_t shared_bytes = 0;
  bool has_dependency_wait = false;
};

/// Turns branch labels into op indices and finds where divergent branches reconverge.
void connect(Draft& draft);

/// Gives virtual registers slots; those never live at the same time share them.
void allocate_registers(Draft& draft);

/// Where a variable of a function instance lies.
struct Placement {
  Space space = Space::kLocal;
  std::uint64_t address = 0;  ///< offset within the space
  std::uint64_t bytes = 0;
};

/// One function body being lowered, with its own registers, variables and labels. Calls are
/// inlined: every call makes a new instance.
struct Instance {
  const ptx::Function* function = nullptr;
  const Instance* caller = nullptr;
  std::vector<std::uint32_t> registers;  ///< virtual register of each; 128 bits take two
  std::vector<Placement> variables;
  std::vector<std::uint32_t> labels;  ///< label number of each ptx::Label
  std::uint32_t end_label = kNone;    ///< where `ret` goes, kNone in the kernel itself
};

/// Lowers one kernel. Throws ParseError on everything that is not known exactly.
class Lowering {
 public:
  Lowering(const ptx::Text& text, const InstructionSet& set) : text_(text), set_(set) {}

  [[nodiscard]] Draft lower(const ptx::Function& kernel, const std::vector<Parameter>& parameters);

 private:
  using Parts = std::vector<std::string_view>;

  // lower.cpp
  void lower_body(Instance& instance);
  void place_variables(Instance& instance);
  void place_shared(const ptx::DeclaredVariable& variable, Placement& placement);
  [[noreturn]] void fail(const std::string& problem) const;
  std::uint32_t new_register(unsigned bits);
  std::uint32_t new_label();
  void bind(std::uint32_t label);
  Op& emit(const Handler& run, std::uint32_t dst = kNone,
           std::initializer_list<std::uint32_t> sources = {});
  Op& emit(std::string_view name, std::uint32_t dst = kNone,
           std::initializer_list<std::uint32_t> sources = {});
  std::uint32_t constant(unsigned bits, std::uint64_t value);
  std::uint32_t address_constant(std::uint32_t variable, std::int64_t addend);
  void need(const Instruction& known) const;

  // lower_operands.cpp
  [[nodiscard]] unsigned bits_of(const ptx::Operand& operand) const;
  std::uint32_t register_of(const ptx::Operand& operand) const;
  std::uint32_t read(const ptx::Operand& operand, char letter);
  std::uint32_t read_variable(const ptx::Operand& operand, unsigned bits);
  std::uint32_t read_special(const ptx::Operand& operand, unsigned bits);
  std::uint32_t read_predicate(const ptx::Operand& operand);
  std::uint32_t written(const ptx::Operand& operand, char letter);
  [[nodiscard]] Placement placement_of(const ptx::Operand& operand) const;
  std::uint32_t read_float(const ptx::Operand& operand, char letter);

  // lower_plain.cpp
  void lower_instruction(const ptx::Instruction& instruction);
  void lower_plain(const ptx::Instruction& instruction);
  void lower_known(const Instruction& known, const std::vector<const ptx::Operand*>& operands);
  bool lower_cvt(const ptx::Instruction& instruction, const Parts& parts);
  void lower_mov(const ptx::Instruction& instruction, const Parts& parts);
  void lower_unpack(const ptx::Instruction& instruction, unsigned bits);
  void lower_pack(const ptx::Instruction& instruction, unsigned bits);
  void lower_cvta(const ptx::Instruction& instruction, const Parts& parts);
  void lower_isspacep(const ptx::Instruction& instruction, const Parts& parts);
  bool lower_hint(const ptx::Instruction& instruction, const Parts& parts);

  // lower_control.cpp
  bool lower_control(const ptx::Instruction& instruction, const Parts& parts);
  void lower_branch(const ptx::Instruction& instruction);
  void lower_indexed_branch(const ptx::Instruction& instruction);
  void lower_call(const ptx::Instruction& instruction);
  void bind_formal(const ptx::Formal& formal, const ptx::Function& function,
                   const ptx::Operand& actual, Instance& callee, bool result);
  void lower_return();
  void lower_barrier(const ptx::Instruction& instruction, const Parts& parts);
  [[nodiscard]] std::uint32_t label(const std::string& name, std::uint32_t scope) const;

  // lower_memory.cpp
  bool lower_memory(const ptx::Instruction& instruction, const Parts& parts);
  void lower_load(const ptx::Instruction& instruction, const Parts& parts);
  void lower_store(const ptx::Instruction& instruction, const Parts& parts);
  void lower_atomic(const ptx::Instruction& instruction, const Parts& parts);
  void set_address(Op& op, const ptx::Operand& operand);
  struct Access;
  [[nodiscard]] Access read_access(const ptx::Instruction& instruction, const Parts& parts) const;
  char list_elements(const ptx::Operand& operand, const Access& access, bool written,
                     std::vector<std::uint32_t>& elements);
  Op& emit_access(const char* verb, const Access& access, char letter, bool written,
                  const std::vector<std::uint32_t>& elements, const ptx::Operand& address);

  const ptx::Text& text_;
  const InstructionSet& set_;
  Draft draft_;
  Instance* instance_ = nullptr;
  const ptx::Instruction* current_ = nullptr;
  std::uint32_t guard_ = kNone;
  bool unguarded_ = false;  ///< helper ops that write temporaries run for all lanes
  std::map<std::pair<unsigned, std::uint64_t>, std::uint32_t> constants_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> address_constants_;
  std::map<std::string, Placement, std::less<>> shared_;
  std::vector<std::pair<const ptx::DeclaredVariable*, Placement>> dynamic_shared_;
  unsigned depth_ = 0;
};

/// The dot-separated parts of a mnemonic.
[[nodiscard]] std::vector<std::string_view> split_mnemonic(std::string_view mnemonic);

}  // namespace quantjit::sim
