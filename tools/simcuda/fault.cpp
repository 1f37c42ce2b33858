// SPDX-License-Identifier: Apache-2.0
#include "fault.hpp"

namespace quantjit::sim {

const char* to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::kOutOfBounds: return "out_of_bounds";
    case FaultKind::kMisaligned: return "misaligned";
    case FaultKind::kUninitializedRead: return "uninitialized_read";
    case FaultKind::kFreedMemory: return "freed_memory";
    case FaultKind::kReadOnly: return "read_only";
    case FaultKind::kBarrier: return "barrier";
    case FaultKind::kInactiveLane: return "inactive_lane";
    case FaultKind::kRace: return "race";
    case FaultKind::kTrap: return "trap";
    case FaultKind::kIllegalInstruction: return "illegal_instruction";
    case FaultKind::kBadLaunch: return "bad_launch";
    case FaultKind::kTimeout: return "timeout";
  }
  return "unknown";
}

std::string to_string(const Dim3& dim) {
  std::string text("(");
  text += std::to_string(dim.x);
  text += ',';
  text += std::to_string(dim.y);
  text += ',';
  text += std::to_string(dim.z);
  text += ')';
  return text;
}

}  // namespace quantjit::sim
