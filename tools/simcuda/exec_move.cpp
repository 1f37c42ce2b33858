// SPDX-License-Identifier: Apache-2.0
#include "exec_groups.hpp"
#include "exec_lanes.hpp"
#include "special_registers.hpp"

#include <chrono>

// Moves, vector packing, address windows, special registers and what has no effect here.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <class T>
T same(T x) {
  return x;
}

U32 pack_2x16(U16 a, U16 b) {
  return U32{a} | (U32{b} << 16);
}

U64 pack_2x32(U32 a, U32 b) {
  return U64{a} | (U64{b} << 32);
}

U64 pack_4x16(U16 a, U16 b, U16 c, U16 d) {
  return pack_2x32(pack_2x16(a, b), pack_2x16(c, d));
}

template <class To, class From>
To extract(From x, U32 shift) {
  return static_cast<To>(x >> shift);
}

template <class To, class From>
To resize(From x) {
  return static_cast<To>(x);
}

/// Adds or takes away the window of an address space; null stays null for neither.
U64 into_window(U64 x, U64 window) {
  return x | window;
}

U64 out_of_window(U64 x) {
  return x & ~kWindowMask;
}

bool is_in_window(U64 x, U64 window) {
  return (x & kWindowMask) == window;
}

U64 now() {
  return static_cast<U64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

U32 pick(const Dim3& dim, unsigned axis) {
  return axis == 0 ? dim.x : (axis == 1 ? dim.y : dim.z);
}

U64 warp_value(const Warp& warp, Special which) {
  const Launch& launch = *warp.cta->launch;
  const auto axis = [&](Special base) {
    return static_cast<unsigned>(which) - static_cast<unsigned>(base);
  };
  switch (which) {
    case Special::kNtidX:
    case Special::kNtidY:
    case Special::kNtidZ: return pick(launch.block, axis(Special::kNtidX));
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ: return pick(warp.cta->index, axis(Special::kCtaidX));
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ: return pick(launch.grid, axis(Special::kNctaidX));
    case Special::kWarpId: return warp.first_thread / kLanes;
    case Special::kNwarpId: return 64;
    case Special::kSmId: return warp.cta->linear % launch.options.sm_count;
    case Special::kNsmId: return launch.options.sm_count;
    case Special::kGridId: return launch.first_serial;
    case Special::kClock:
    case Special::kClock64: return warp.warp_instructions;
    case Special::kClockHi: return warp.warp_instructions >> 32;
    case Special::kGlobalTimer:
    case Special::kGlobalTimerLo: return now();
    case Special::kGlobalTimerHi: return now() >> 32;
    case Special::kDynamicShared: return launch.dynamic_shared_bytes;
    case Special::kTotalShared: return launch.shared_bytes;
    case Special::kOne: return 1;
    default: return 0;
  }
}

U64 lane_value(const Warp& warp, Special which, unsigned lane) {
  const U64 bit = U64{1} << lane;
  switch (which) {
    case Special::kTidX: return warp.cta->thread_index(warp.first_thread + lane).x;
    case Special::kTidY: return warp.cta->thread_index(warp.first_thread + lane).y;
    case Special::kTidZ: return warp.cta->thread_index(warp.first_thread + lane).z;
    case Special::kLaneId: return lane;
    case Special::kLaneMaskEq: return bit;
    case Special::kLaneMaskLe: return (bit << 1) - 1;
    case Special::kLaneMaskLt: return bit - 1;
    case Special::kLaneMaskGe: return ~(bit - 1);
    default: return ~((bit << 1) - 1);
  }
}

bool differs_by_lane(Special which) {
  return which <= Special::kTidZ || which == Special::kLaneId ||
         (which >= Special::kLaneMaskEq && which <= Special::kLaneMaskGt);
}

template <class T>
void run_special(Warp& warp, const Op& op, U32 mask) {
  const auto which = static_cast<Special>(op.detail);
  T* d = warp.lanes<T>(op.dst);
  const bool by_lane = differs_by_lane(which);
  const T common = by_lane ? T{0} : static_cast<T>(warp_value(warp, which));
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask & kLaneBit[i]) != 0) {
      d[i] = by_lane ? static_cast<T>(lane_value(warp, which, i)) : common;
    }
  }
}

void run_nothing(Warp&, const Op&, U32) {}

void run_trap(Warp& warp, const Op& op, U32 mask) {
  raise(warp, op, first_lane(mask), FaultKind::kTrap, "executes a trap");
}

void run_launch_dependents(Warp& warp, const Op&, U32) {
  warp.cta->launch->launched_dependents.store(true, std::memory_order_relaxed);
}

template <class T>
void add_moves(InstructionSet& set, const char* signature,
               std::initializer_list<const char*> types) {
  for (const char* type : types) {
    set.add({"mov", type}, signature, Each<&same<T>>::run);
  }
}

}  // namespace

void register_move(InstructionSet& set) {
  add_moves<U16>(set, "hh", {".b16", ".u16", ".s16", ".f16", ".bf16"});
  add_moves<U32>(set, "ww", {".b32", ".u32", ".s32", ".f16x2", ".bf16x2"});
  add_moves<U32>(set, "ff", {".f32"});
  add_moves<U64>(set, "dd", {".b64", ".u64", ".s64"});
  add_moves<U64>(set, "ee", {".f64"});
  set.add({"$pack.2x16"}, "whh", Each<&pack_2x16>::run);
  set.add({"$pack.2x32"}, "dww", Each<&pack_2x32>::run);
  set.add({"$pack.4x16"}, "dhhhh", Each<&pack_4x16>::run);
  set.add({"$extract.h.w"}, "hww", Each<&extract<U16, U32>>::run);
  set.add({"$extract.h.d"}, "hdw", Each<&extract<U16, U64>>::run);
  set.add({"$extract.w.d"}, "wdw", Each<&extract<U32, U64>>::run);
  set.add({"$resize.h.w"}, "hw", Each<&resize<U16, U32>>::run);
  set.add({"$resize.h.d"}, "hd", Each<&resize<U16, U64>>::run);
  set.add({"$resize.w.d"}, "wd", Each<&resize<U32, U64>>::run);
  set.add({"$zext.w.h"}, "wh", Each<&resize<U32, U16>>::run);
  set.add({"$zext.d.h"}, "dh", Each<&resize<U64, U16>>::run);
  set.add({"$zext.d.w"}, "dw", Each<&resize<U64, U32>>::run);
  set.add({"$sext.w.h"}, "wh", Each<&resize<std::int32_t, std::int16_t>>::run);
  set.add({"$sext.d.h"}, "dh", Each<&resize<std::int64_t, std::int16_t>>::run);
  set.add({"$sext.d.w"}, "dw", Each<&resize<std::int64_t, std::int32_t>>::run);
  set.add({"$into_window"}, "ddd", Each<&into_window>::run);
  set.add({"$out_of_window"}, "dd", Each<&out_of_window>::run);
  set.add({"$is_in_window"}, "pdd", Each<&is_in_window>::run);
  set.add({"$special.32"}, "w", run_special<U32>);
  set.add({"$special.64"}, "d", run_special<U64>);
  set.add({"$nothing"}, "", run_nothing);
  set.add({"$trap"}, "", run_trap);
  set.add({"$launch_dependents"}, "", run_launch_dependents);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
