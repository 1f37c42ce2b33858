// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_bits.hpp"
#include "instructions.hpp"

// The groups of instructions. Every file that defines one is compiled once per host instruction
// set.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

void register_int(InstructionSet& set);
void register_f32(InstructionSet& set);
void register_f64(InstructionSet& set);
void register_16(InstructionSet& set);
void register_convert(InstructionSet& set);
void register_convert_narrow(InstructionSet& set);
void register_warp(InstructionSet& set);
void register_memory(InstructionSet& set);
void register_atomic(InstructionSet& set);
void register_move(InstructionSet& set);

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
