// SPDX-License-Identifier: Apache-2.0
#include "exec_groups.hpp"

namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

void register_all(InstructionSet& set) {
  register_int(set);
  register_f32(set);
  register_f64(set);
  register_16(set);
  register_convert(set);
  register_convert_narrow(set);
  register_warp(set);
  register_memory(set);
  register_atomic(set);
  register_move(set);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
