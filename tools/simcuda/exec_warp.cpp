// SPDX-License-Identifier: Apache-2.0
#include "arith_f32.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

// Instructions that exchange data between the lanes of a warp.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// Reports lanes whose member mask leaves themselves out, or names lanes that do not take part.
void check_members(const Warp& warp, const Op& op, U32 mask, const U32* members) {
  U32 problem = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    const bool bad = (members[i] & kLaneBit[i]) == 0 || (members[i] & warp.live & ~mask) != 0;
    problem |= bad ? kLaneBit[i] : 0;
  }
  problem &= mask;
  if (problem == 0) {
    return;
  }
  const unsigned lane = first_lane(problem);
  if ((members[lane] & (1U << lane)) == 0) {
    raise(warp, op, lane, FaultKind::kInactiveLane,
          "executes a warp-level instruction whose member mask leaves the lane itself out");
  }
  const unsigned absent = first_lane(members[lane] & warp.live & ~mask);
  raise(warp, op, lane, FaultKind::kInactiveLane,
        "names lane " + std::to_string(absent) + " in its member mask, which is not active here");
}

enum class Shuffle : std::uint8_t { kUp, kDown, kButterfly, kIndex };

template <Shuffle Mode>
void run_shuffle(Warp& warp, const Op& op, U32 mask) {
  const U32* a = warp.lanes<const U32>(op.src[0]);
  const U32* b = warp.lanes<const U32>(op.src[1]);
  const U32* c = warp.lanes<const U32>(op.src[2]);
  const U32* members = warp.lanes<const U32>(op.src[3]);
  check_members(warp, op, mask, members);
  U32 result[kLanes];
  U32 valid = 0;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const U32 segment = (c[lane] >> 8) & 31;
    const U32 clamp = c[lane] & 31;
    const U32 offset = b[lane] & 31;
    const U32 low = lane & segment;
    const U32 limit = low | (clamp & ~segment);
    U32 from = 0;
    bool in_range = false;
    if constexpr (Mode == Shuffle::kUp) {
      from = lane - offset;
      in_range = static_cast<std::int32_t>(from) >= static_cast<std::int32_t>(limit);
    } else {
      from = Mode == Shuffle::kDown        ? lane + offset
             : Mode == Shuffle::kButterfly ? (lane ^ offset)
                                           : (low | (offset & ~segment));
      in_range = from <= limit;
    }
    from = in_range ? from : lane;
    valid |= in_range ? (1U << lane) : 0;
    if ((mask & members[lane] & (1U << from)) == 0) {
      raise(warp, op, lane, FaultKind::kInactiveLane,
            "shuffles from lane " + std::to_string(from) + ", which is not active here");
    }
    result[lane] = a[from];
  }
  if (op.dst != kNone) {
    U32* d = warp.lanes<U32>(op.dst);
    for (U32 left = mask; left != 0; left &= left - 1) {
      d[first_lane(left)] = result[first_lane(left)];
    }
  }
  set_predicate(warp, op.dst2, valid, mask);
}

enum class Vote : std::uint8_t { kAll, kAny, kUniform, kBallot };

template <Vote Mode>
void run_vote(Warp& warp, const Op& op, U32 mask) {
  const U32 votes = warp.predicate(op.src[0]);
  const U32* members = warp.lanes<const U32>(op.src[1]);
  check_members(warp, op, mask, members);
  U32 bits = 0;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const U32 asked = members[lane] & mask;
    const U32 yes = votes & asked;
    if constexpr (Mode == Vote::kBallot) {
      warp.lanes<U32>(op.dst)[lane] = yes;
    } else {
      const bool r = Mode == Vote::kAll   ? yes == asked
                     : Mode == Vote::kAny ? yes != 0
                                          : (yes == 0 || yes == asked);
      bits |= r ? (1U << lane) : 0;
    }
  }
  if constexpr (Mode != Vote::kBallot) {
    set_predicate(warp, op.dst, bits, mask);
  }
}

template <class T, bool All>
void run_match(Warp& warp, const Op& op, U32 mask) {
  const T* a = warp.lanes<const T>(op.src[0]);
  const U32* members = warp.lanes<const U32>(op.src[1]);
  check_members(warp, op, mask, members);
  U32 result[kLanes];
  U32 agreed = 0;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const U32 asked = members[lane] & mask;
    U32 same = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      same |= a[i] == a[lane] ? kLaneBit[i] : 0;
    }
    same &= asked;
    agreed |= same == asked ? (1U << lane) : 0;
    result[lane] = All ? (same == asked ? asked : 0) : same;
  }
  if (op.dst != kNone) {
    for (U32 left = mask; left != 0; left &= left - 1) {
      warp.lanes<U32>(op.dst)[first_lane(left)] = result[first_lane(left)];
    }
  }
  set_predicate(warp, op.dst2, agreed, mask);
}

void run_active_mask(Warp& warp, const Op& op, U32 mask) {
  for (U32 left = mask; left != 0; left &= left - 1) {
    warp.lanes<U32>(op.dst)[first_lane(left)] = mask;
  }
}

void run_elect(Warp& warp, const Op& op, U32 mask) {
  const U32* members = warp.lanes<const U32>(op.src[0]);
  check_members(warp, op, mask, members);
  U32 leaders = 0;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const unsigned leader = first_lane(members[lane] & mask);
    leaders |= 1U << leader;
    if (op.dst != kNone) {
      warp.lanes<U32>(op.dst)[lane] = leader;
    }
  }
  set_predicate(warp, op.dst2, leaders, mask);
}

template <U32 (*F)(U32, U32)>
void run_reduce(Warp& warp, const Op& op, U32 mask) {
  const U32* a = warp.lanes<const U32>(op.src[0]);
  const U32* members = warp.lanes<const U32>(op.src[1]);
  check_members(warp, op, mask, members);
  U32 result[kLanes];
  U32 done = 0;
  for (U32 left = mask; left != 0; left &= ~done) {
    const U32 group = members[first_lane(left)] & mask;
    U32 r = a[first_lane(group)];
    for (U32 rest = group & (group - 1); rest != 0; rest &= rest - 1) {
      r = F(r, a[first_lane(rest)]);
    }
    for (U32 rest = group; rest != 0; rest &= rest - 1) {
      result[first_lane(rest)] = r;
    }
    done |= group;
  }
  for (U32 left = mask; left != 0; left &= left - 1) {
    warp.lanes<U32>(op.dst)[first_lane(left)] = result[first_lane(left)];
  }
}

U32 add(U32 a, U32 b) {
  return a + b;
}

U32 bit_and(U32 a, U32 b) {
  return a & b;
}

U32 bit_or(U32 a, U32 b) {
  return a | b;
}

U32 bit_xor(U32 a, U32 b) {
  return a ^ b;
}

U32 min_unsigned(U32 a, U32 b) {
  return a < b ? a : b;
}

U32 max_unsigned(U32 a, U32 b) {
  return a > b ? a : b;
}

U32 min_signed(U32 a, U32 b) {
  return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
}

U32 max_signed(U32 a, U32 b) {
  return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b;
}

template <bool Max, bool Abs, bool Nan>
U32 extremum(U32 a, U32 b) {
  const float x = float_of(Abs ? (a & 0x7FFFFFFF) : a);
  const float y = float_of(Abs ? (b & 0x7FFFFFFF) : b);
  return bits_of(Max ? max_f32<false, Nan>(x, y) : min_f32<false, Nan>(x, y));
}

template <bool Max, bool Abs, bool Nan>
void run_float_reduce(Warp& warp, const Op& op, U32 mask) {
  run_reduce<&extremum<Max, Abs, Nan>>(warp, op, mask);
  U32* d = warp.lanes<U32>(op.dst);
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);  // a group of one lane has not passed through F
    const U32 value = Abs ? (d[lane] & 0x7FFFFFFF) : d[lane];
    d[lane] = bits_of(canonical(float_of(value)));
  }
}

template <bool Max, bool Abs, bool Nan>
void add_float_reduce(InstructionSet& set) {
  set.add({"redux.sync", Max ? ".max" : ".min", Abs ? ".abs" : "", Nan ? ".NaN" : "", ".f32"},
          "fww", run_float_reduce<Max, Abs, Nan>, 100, true);
}

void run_sync(Warp& warp, const Op& op, U32 mask) {
  check_members(warp, op, mask, warp.lanes<const U32>(op.src[0]));
  ++warp.sync_epoch;
  if ((warp.resolved & mask) != 0) {
    warp.resolved |= mask;  // what one lane waited for, the others have now waited for too
  }
}

}  // namespace

void register_warp(InstructionSet& set) {
  set.add({"shfl.sync.up.b32"}, "wwwww", run_shuffle<Shuffle::kUp>);
  set.add({"shfl.sync.down.b32"}, "wwwww", run_shuffle<Shuffle::kDown>);
  set.add({"shfl.sync.bfly.b32"}, "wwwww", run_shuffle<Shuffle::kButterfly>);
  set.add({"shfl.sync.idx.b32"}, "wwwww", run_shuffle<Shuffle::kIndex>);
  set.add({"vote.sync.all.pred"}, "ppw", run_vote<Vote::kAll>);
  set.add({"vote.sync.any.pred"}, "ppw", run_vote<Vote::kAny>);
  set.add({"vote.sync.uni.pred"}, "ppw", run_vote<Vote::kUniform>);
  set.add({"vote.sync.ballot.b32"}, "wpw", run_vote<Vote::kBallot>);
  set.add({"match.any.sync.b32"}, "www", run_match<U32, false>);
  set.add({"match.any.sync.b64"}, "wdw", run_match<U64, false>);
  set.add({"match.all.sync.b32"}, "www", run_match<U32, true>);
  set.add({"match.all.sync.b64"}, "wdw", run_match<U64, true>);
  set.add({"activemask.b32"}, "w", run_active_mask);
  set.add({"elect.sync"}, "ww", run_elect, 90);
  set.add({"bar.warp.sync"}, "-w", run_sync);
  set.add({"redux.sync.add.u32"}, "www", run_reduce<&add>);
  set.add({"redux.sync.add.s32"}, "www", run_reduce<&add>);
  set.add({"redux.sync.min.u32"}, "www", run_reduce<&min_unsigned>);
  set.add({"redux.sync.max.u32"}, "www", run_reduce<&max_unsigned>);
  set.add({"redux.sync.min.s32"}, "www", run_reduce<&min_signed>);
  set.add({"redux.sync.max.s32"}, "www", run_reduce<&max_signed>);
  set.add({"redux.sync.and.b32"}, "www", run_reduce<&bit_and>);
  set.add({"redux.sync.or.b32"}, "www", run_reduce<&bit_or>);
  set.add({"redux.sync.xor.b32"}, "www", run_reduce<&bit_xor>);
  add_float_reduce<false, false, false>(set);
  add_float_reduce<false, false, true>(set);
  add_float_reduce<false, true, false>(set);
  add_float_reduce<false, true, true>(set);
  add_float_reduce<true, false, false>(set);
  add_float_reduce<true, false, true>(set);
  add_float_reduce<true, true, false>(set);
  add_float_reduce<true, true, true>(set);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
