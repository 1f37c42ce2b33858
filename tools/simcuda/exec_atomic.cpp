// SPDX-License-Identifier: Apache-2.0
#include "arith_16.hpp"
#include "arith_f32.hpp"
#include "arith_int.hpp"
#include "atomics.hpp"
#include "exec_access.hpp"
#include "exec_groups.hpp"

// atom and red. Lanes are served in order; other CTAs may run on other host threads, so that global
// memory is updated with compare-and-swap.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <class U, class S>
U integer(AtomicOperation operation, bool is_signed, U old, U value, U compare) {
  const auto a = static_cast<S>(old);
  const auto b = static_cast<S>(value);
  switch (operation) {
    case AtomicOperation::kAdd: return static_cast<U>(old + value);
    case AtomicOperation::kMin:
      return is_signed ? static_cast<U>(a < b ? a : b) : (old < value ? old : value);
    case AtomicOperation::kMax:
      return is_signed ? static_cast<U>(a > b ? a : b) : (old > value ? old : value);
    case AtomicOperation::kInc: return old >= value ? U{0} : static_cast<U>(old + 1);
    case AtomicOperation::kDec: return old == 0 || old > value ? value : static_cast<U>(old - 1);
    case AtomicOperation::kAnd: return static_cast<U>(old & value);
    case AtomicOperation::kOr: return static_cast<U>(old | value);
    case AtomicOperation::kXor: return static_cast<U>(old ^ value);
    case AtomicOperation::kExch: return value;
    case AtomicOperation::kCas: return old == compare ? value : old;
  }
  return old;
}

template <class T>
U16 sixteen(AtomicOperation operation, U16 a, U16 b) {
  switch (operation) {
    case AtomicOperation::kMin: return extremum16<T, false, false, false>(a, b);
    case AtomicOperation::kMax: return extremum16<T, false, false, true>(a, b);
    default: return add16<T, false, false>(a, b);
  }
}

template <class T>
U32 packed(AtomicOperation operation, U32 a, U32 b) {
  const U16 low = sixteen<T>(operation, static_cast<U16>(a), static_cast<U16>(b));
  const U16 high = sixteen<T>(operation, static_cast<U16>(a >> 16), static_cast<U16>(b >> 16));
  return U32{low} | (U32{high} << 16);
}

/// The value that replaces `old`. f32 additions in global memory flush subnormal numbers.
U64 combine(const Op& op, bool global, U64 old, U64 value, U64 compare) {
  const auto operation = static_cast<AtomicOperation>(op.detail >> 1);
  const auto a = static_cast<U32>(old);
  const auto b = static_cast<U32>(value);
  switch (static_cast<AtomicType>(op.kind)) {
    case AtomicType::kUnsigned:
    case AtomicType::kSigned: break;
    case AtomicType::kF32:
      return bits_of(global ? add_f32<Round::kNearest, true, false>(float_of(a), float_of(b))
                            : add_f32<Round::kNearest, false, false>(float_of(a), float_of(b)));
    case AtomicType::kF64: return bits_of(double_of(old) + double_of(value));
    case AtomicType::kF16:
      return sixteen<Half>(operation, static_cast<U16>(old), static_cast<U16>(value));
    case AtomicType::kBf16:
      return sixteen<Bfloat>(operation, static_cast<U16>(old), static_cast<U16>(value));
    case AtomicType::kF16x2: return packed<Half>(operation, a, b);
    case AtomicType::kBf16x2: return packed<Bfloat>(operation, a, b);
  }
  const bool is_signed = static_cast<AtomicType>(op.kind) == AtomicType::kSigned;
  switch (op.width) {
    case 2:
      return integer<U16, std::int16_t>(operation, is_signed, static_cast<U16>(old),
                                        static_cast<U16>(value), static_cast<U16>(compare));
    case 4:
      return integer<U32, std::int32_t>(operation, is_signed, a, b, static_cast<U32>(compare));
    default: return integer<U64, std::int64_t>(operation, is_signed, old, value, compare);
  }
}

U64 operand(const Warp& warp, U32 slot, unsigned width, unsigned lane) {
  if (slot == kNone) {
    return 0;
  }
  switch (width) {
    case 2: return warp.lanes<U16>(slot)[lane];
    case 4: return warp.lanes<U32>(slot)[lane];
    default: return warp.lanes<U64>(slot)[lane];
  }
}

void set_result(const Warp& warp, const Op& op, unsigned lane, U64 value) {
  if (op.dst == kNone) {
    return;
  }
  switch (op.width) {
    case 2: warp.lanes<U16>(op.dst)[lane] = static_cast<U16>(value); break;
    case 4: warp.lanes<U32>(op.dst)[lane] = static_cast<U32>(value); break;
    default: warp.lanes<U64>(op.dst)[lane] = value; break;
  }
}

template <class T>
U64 update(const Op& op, bool global, U8* at, U64 value, U64 compare) {
  auto* const place = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    const T next = static_cast<T>(combine(op, global, old, value, compare));
    if (__atomic_compare_exchange_n(place, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      return old;
    }
  }
}

U64 update_at(const Op& op, bool global, U8* at, U64 value, U64 compare) {
  switch (op.width) {
    case 2: return update<U16>(op, global, at, value, compare);
    case 4: return update<U32>(op, global, at, value, compare);
    default: return update<U64>(op, global, at, value, compare);
  }
}

U8* global_place(Warp& warp, const Op& op, unsigned lane, const U64 (&addresses)[kLanes]) {
  const Allocation* at = resolve(warp, op, addresses, 1U << lane, op.width, true);
  const Launch& launch = *warp.cta->launch;
  if (at->read_only) {
    raise_read_only(warp, op, lane, addresses[lane]);
  }
  const U64 offset = addresses[lane] - at->address;
  if (launch.options.check_initialized && !is_initialized(*at, offset, op.width)) {
    raise_uninitialized(warp, op, lane, addresses[lane], op.width);
  }
  if (launch.options.dependent && (warp.resolved & (1U << lane)) == 0) {
    note_early(warp, op, addresses, 1U << lane, op.width, true);
  }
  forget_writers(*at, offset, op.width);
  warp.cta->used_atomics = true;
  return at->data + offset;
}

U8* shared_place(Warp& warp, const Op& op, unsigned lane, U64 offset) {
  const U64 size = warp.cta->launch->shared_bytes;
  if (offset > size || size - offset < op.width) {
    raise(warp, op, lane, FaultKind::kOutOfBounds, "updates shared memory out of bounds",
          kSharedWindow | offset, "shared memory");
  }
  if ((offset & (op.width - 1U)) != 0) {
    raise_misaligned(warp, op, lane, kSharedWindow | offset, op.width);
  }
  check_shared_load(warp, op, lane, offset, op.width);
  U8* const place = warp.cta->shared.data() + offset;
  note_shared_store(warp, op, lane, offset, op.width, place);
  return place;
}

void run_atomic(Warp& warp, const Op& op, U32 mask) {
  U64 addresses[kLanes];
  gather_addresses(warp, op, addresses);
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const U64 value = operand(warp, op.src[1], op.width, lane);
    const U64 compare = operand(warp, op.src[2], op.width, lane);
    const bool shared =
        op.space == Space::kShared ||
        (op.space == Space::kGeneric && (addresses[lane] & kWindowMask) == kSharedWindow);
    U8* const place = shared ? shared_place(warp, op, lane, addresses[lane] & ~kWindowMask)
                             : global_place(warp, op, lane, addresses);
    set_result(warp, op, lane, update_at(op, !shared, place, value, compare));
  }
}

}  // namespace

void register_atomic(InstructionSet& set) {
  set.add({"$atom"}, "", run_atomic);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
