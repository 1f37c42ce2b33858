// SPDX-License-Identifier: Apache-2.0
#include "instructions.hpp"

namespace quantjit::sim {

namespace isa_base {
void register_all(InstructionSet& set);
}
#ifdef QUANTJIT_SIM_HAS_V3
namespace isa_v3 {
void register_all(InstructionSet& set);
}
#endif

void InstructionSet::add(std::initializer_list<const char*> parts, const char* operands,
                         Handler run, unsigned min_sm, bool specific) {
  std::string name;
  for (const char* part : parts) {
    name += part;
  }
  entries_.emplace(std::move(name), Instruction{operands, run, min_sm, specific, 0});
}

const Instruction* InstructionSet::find(std::string_view name, std::size_t operand_count) const {
  const auto [first, last] = entries_.equal_range(name);
  for (auto it = first; it != last; ++it) {
    if (it->second.operands.size() == operand_count) {
      return &it->second;
    }
  }
  return nullptr;
}

const InstructionSet& instruction_set() {
  static const InstructionSet set = [] {
    InstructionSet built;
#ifdef QUANTJIT_SIM_HAS_V3
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
      isa_v3::register_all(built);
      return built;
    }
#endif
    isa_base::register_all(built);
    return built;
  }();
  return set;
}

}  // namespace quantjit::sim
