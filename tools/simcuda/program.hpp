// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace quantjit::sim {

struct Warp;
struct Op;

/// Executes one instruction for the lanes in `mask`.
using Handler = void (*)(Warp& warp, const Op& op, std::uint32_t mask);

inline constexpr unsigned kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFF;
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;
/// Set in a slot that lies in the constant pool; other slots lie in the warp's register file.
inline constexpr std::uint32_t kConstantSlot = 0x80000000;

/// What the warp loop itself has to know about an instruction.
enum class Control : std::uint8_t {
  kPlain,           ///< run the handler, go on
  kBranch,          ///< to Op::target for the executing lanes
  kIndexedBranch,   ///< brx.idx
  kExit,            ///< the executing lanes end
  kBarrier,         ///< bar.sync and relatives
  kDependencyWait,  ///< griddepcontrol.wait
};

enum class Space : std::uint8_t { kGeneric, kGlobal, kConst, kShared, kLocal, kParam };

// Windows of the generic address space. Global memory lies far below them.
inline constexpr std::uint64_t kSharedWindow = 0x0100'0000'0000'0000;
inline constexpr std::uint64_t kLocalWindow = 0x0200'0000'0000'0000;
inline constexpr std::uint64_t kParamWindow = 0x0300'0000'0000'0000;
inline constexpr std::uint64_t kWindowMask = 0xFF00'0000'0000'0000;

/// One decoded instruction. Register operands are slots: byte offsets of 32 consecutive lanes
/// (predicates: of one 32-bit mask).
struct Op {
  Handler run = nullptr;
  std::uint32_t dst = kNone;
  std::uint32_t dst2 = kNone;  ///< the predicate of setp p|q, shfl d|p, ...
  std::uint32_t src[4] = {kNone, kNone, kNone, kNone};
  std::uint32_t guard = kNone;       ///< predicate slot
  std::uint32_t list = 0;            ///< first entry in Program::lists
  std::uint32_t target = 0;          ///< branch target
  std::uint32_t reconverge = kNone;  ///< where a divergent branch comes together again
  std::uint32_t source = 0;          ///< index into Program::sources
  std::int64_t immediate = 0;
  Control control = Control::kPlain;
  bool guard_negated = false;
  std::uint8_t count = 0;   ///< entries in the list
  std::uint8_t width = 0;   ///< bytes of one memory element
  std::uint8_t detail = 0;  ///< meaning up to the handler
  std::uint8_t kind = 0;    ///< a second one
  Space space = Space::kGeneric;
  bool strong = false;  ///< memory access that orders by itself: exempt from race checks
};

struct Source {
  unsigned line = 0;
  std::string text;
};

/// A constant that is a variable's address, known only when a module is loaded.
struct Relocation {
  std::uint32_t offset = 0;  ///< of 32 lanes of 64 bits in Program::constants
  std::uint32_t variable = 0;
  std::int64_t addend = 0;
};

/// A kernel, ready to run.
struct Program {
  std::vector<Op> ops;
  std::vector<std::uint32_t> lists;
  std::vector<Source> sources;
  std::vector<std::uint8_t> constants;
  std::vector<Relocation> relocations;
  std::vector<std::uint32_t> branch_targets;  ///< op indices, for brx.idx
  std::uint32_t register_bytes = 0;           ///< of one warp
  std::uint32_t local_bytes = 0;              ///< of one thread
  std::uint32_t static_shared_bytes = 0;
};

}  // namespace quantjit::sim
