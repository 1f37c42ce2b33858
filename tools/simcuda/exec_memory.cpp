// SPDX-License-Identifier: Apache-2.0
#include "exec_access.hpp"
#include "exec_groups.hpp"

#include <type_traits>

// Loads and stores. Simulated memory is accessed with relaxed atomics: kernels may store equal
// bytes from several threads.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U8 = std::uint8_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr unsigned kMaxBytes = 64;  // the ISA stops at 32

template <class T>
T read_element(const U8* p) {
  return __atomic_load_n(reinterpret_cast<const T*>(p), __ATOMIC_RELAXED);
}

template <class T>
void write_element(U8* p, T value) {
  __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELAXED);
}

/// The registers of a vector operand. 128-bit registers are two runs of 64-bit lanes.
template <class R>
struct Registers {
  R* at[8] = {};
  unsigned count = 0;

  Registers(const Warp& warp, const Op& op) : count(op.count < 8 ? op.count : 8) {
    const U32* slots = warp.cta->launch->program->lists.data() + op.list;
    for (unsigned k = 0; k < count; ++k) {
      at[k] = slots[k] == kNone ? nullptr : warp.lanes<R>(slots[k]);
    }
  }
};

template <class T, class R>
QUANTJIT_SIM_INLINE void load_lane(const Registers<R>& to, unsigned lane, const U8* from) {
  for (unsigned k = 0; k < to.count; ++k) {
    if (to.at[k] != nullptr) {
      to.at[k][lane] = static_cast<R>(read_element<T>(from + k * sizeof(T)));
    }
  }
}

template <class T, class R>
void load_global(Warp& warp, const Op& op, U32 mask, const U64 (&addresses)[kLanes]) {
  const unsigned bytes = op.count * static_cast<unsigned>(sizeof(T));
  const Allocation* at = resolve(warp, op, addresses, mask, bytes, false);
  if (at == nullptr) {
    for (U32 left = mask; left != 0; left &= left - 1) {
      load_global<T, R>(warp, op, left & (0 - left), addresses);
    }
    return;
  }
  const Launch& launch = *warp.cta->launch;
  const U32 early = mask & ~warp.resolved;
  if (early != 0 && launch.options.dependent && !at->read_only) {
    note_early(warp, op, addresses, early, bytes, false);
  }
  const Registers<R> to(warp, op);
  const bool check = launch.options.check_initialized;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const U64 offset = addresses[lane] - at->address;
    if (check && !is_initialized(*at, offset, bytes)) {
      raise_uninitialized(warp, op, lane, addresses[lane], bytes);
    }
    load_lane<T, R>(to, lane, at->data + offset);
  }
}

/// Memory that needs no shadow: a base, a size, a stride from lane to lane.
struct Flat {
  U8* base = nullptr;
  U64 size = 0;
  U64 stride = 0;
  const char* name = "";
};

Flat flat_memory(const Warp& warp, Space space) {
  const Launch& launch = *warp.cta->launch;
  if (space == Space::kLocal) {
    const U64 bytes = launch.program->local_bytes;
    return {const_cast<U8*>(warp.local.data()), bytes, bytes, "local memory"};
  }
  return {const_cast<U8*>(launch.parameters.data()), launch.parameter_bytes, 0,
          "kernel parameters"};
}

U8* flat_address(const Warp& warp, const Op& op, unsigned lane, const Flat& flat, U64 offset,
                 unsigned bytes) {
  if (offset > flat.size || flat.size - offset < bytes) {
    raise(warp, op, lane, FaultKind::kOutOfBounds,
          "accesses " + std::to_string(bytes) + " bytes outside of its " + flat.name, offset,
          flat.name);
  }
  if ((offset & (bytes - 1)) != 0) {
    raise_misaligned(warp, op, lane, offset, bytes);
  }
  return flat.base + lane * flat.stride + offset;
}

U64 shared_offset(const Warp& warp, const Op& op, unsigned lane, U64 offset, unsigned bytes) {
  const U64 size = warp.cta->launch->shared_bytes;
  if (offset > size || size - offset < bytes) {
    raise(warp, op, lane, FaultKind::kOutOfBounds,
          "accesses " + std::to_string(bytes) + " bytes of shared memory at offset " +
              std::to_string(offset) + " of " + std::to_string(size),
          kSharedWindow | offset, "shared memory of " + std::to_string(size) + " bytes");
  }
  if ((offset & (bytes - 1)) != 0) {
    raise_misaligned(warp, op, lane, kSharedWindow | offset, bytes);
  }
  return offset;
}

template <class T, class R>
void load_near(Warp& warp, const Op& op, U32 mask, const U64 (&addresses)[kLanes], Space space) {
  const unsigned bytes = op.count * static_cast<unsigned>(sizeof(T));
  const Registers<R> to(warp, op);
  if (space == Space::kShared) {
    for (U32 left = mask; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      const U64 offset = shared_offset(warp, op, lane, addresses[lane] & ~kWindowMask, bytes);
      check_shared_load(warp, op, lane, offset, bytes);
      load_lane<T, R>(to, lane, warp.cta->shared.data() + offset);
    }
    return;
  }
  const Flat flat = flat_memory(warp, space);
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    load_lane<T, R>(to, lane,
                    flat_address(warp, op, lane, flat, addresses[lane] & ~kWindowMask, bytes));
  }
}

template <class T, class R>
void run_load(Warp& warp, const Op& op, U32 mask) {
  U64 addresses[kLanes];
  gather_addresses(warp, op, addresses);
  switch (op.space) {
    case Space::kGlobal:
    case Space::kConst: load_global<T, R>(warp, op, mask, addresses); return;
    case Space::kShared:
    case Space::kLocal: load_near<T, R>(warp, op, mask, addresses, op.space); return;
    case Space::kParam:
    case Space::kGeneric: break;
  }
  const U32 global = lanes_in(addresses, mask, 0);
  const U32 shared = lanes_in(addresses, mask, kSharedWindow);
  const U32 local = lanes_in(addresses, mask, kLocalWindow);
  const U32 param = lanes_in(addresses, mask, kParamWindow);
  const U32 stray = mask & ~(global | shared | local | param);
  if (stray != 0) {
    raise_unmapped(warp, op, first_lane(stray), addresses[first_lane(stray)], op.width, false);
  }
  if (global != 0) {
    load_global<T, R>(warp, op, global, addresses);
  }
  if (shared != 0) {
    load_near<T, R>(warp, op, shared, addresses, Space::kShared);
  }
  if (local != 0) {
    load_near<T, R>(warp, op, local, addresses, Space::kLocal);
  }
  if (param != 0) {
    load_near<T, R>(warp, op, param, addresses, Space::kParam);
  }
}

// Stores ---------------------------------------------------------------------------------------

template <class T, class R>
QUANTJIT_SIM_INLINE void assemble(const Registers<R>& from, unsigned lane, U8* bytes) {
  for (unsigned k = 0; k < from.count; ++k) {
    const T value = static_cast<T>(from.at[k][lane]);
    __builtin_memcpy(bytes + k * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
QUANTJIT_SIM_INLINE void commit(U8* to, const U8* bytes, unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    T value;
    __builtin_memcpy(&value, bytes + k * sizeof(T), sizeof(T));
    write_element<T>(to + k * sizeof(T), value);
  }
}

/// Whether whole granules were last written by another launch, or by this very thread; then the
/// tags are already replaced.
QUANTJIT_SIM_INLINE bool retag(const Launch& launch, const Allocation& at, U64 offset,
                               unsigned bytes, U64 tag) {
  U64* const tags = at.writers + offset / 8;
  for (unsigned g = 0; g < bytes / 8; ++g) {
    const U64 old = __atomic_load_n(tags + g, __ATOMIC_RELAXED);
    const bool foreign = (old >> kTagSerialShift) - launch.first_serial >= launch.ctas;
    if (old != tag && (!foreign || old == kTagSplit)) {
      return false;
    }
  }
  for (unsigned g = 0; g < bytes / 8; ++g) {
    __atomic_store_n(tags + g, tag, __ATOMIC_RELAXED);
  }
  return true;
}

template <class T, class R>
void store_global(Warp& warp, const Op& op, U32 mask, const U64 (&addresses)[kLanes]) {
  const unsigned bytes = op.count * static_cast<unsigned>(sizeof(T));
  const Allocation* at = resolve(warp, op, addresses, mask, bytes, true);
  if (at == nullptr) {
    for (U32 left = mask; left != 0; left &= left - 1) {
      store_global<T, R>(warp, op, left & (0 - left), addresses);
    }
    return;
  }
  if (at->read_only) {
    raise_read_only(warp, op, first_lane(mask), addresses[first_lane(mask)]);
  }
  const Launch& launch = *warp.cta->launch;
  const U32 early = mask & ~warp.resolved;
  if (early != 0 && launch.options.dependent) {
    note_early(warp, op, addresses, early, bytes, true);
  }
  const Registers<R> from(warp, op);
  alignas(kMaxBytes) U8 values[kMaxBytes];
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const U64 offset = addresses[lane] - at->address;
    assemble<T, R>(from, lane, values);
    if (op.strong) {
      forget_writers(*at, offset, bytes);
    } else if (launch.options.check_races &&
               (bytes < 8 || !retag(launch, *at, offset, bytes, writer_tag(warp, lane)))) {
      note_global_store(warp, op, lane, *at, offset, bytes, values);
    }
    commit<T>(at->data + offset, values, from.count);
    set_initialized(*at, offset, bytes);
  }
}

template <class T, class R>
void store_shared(Warp& warp, const Op& op, U32 mask, const U64 (&addresses)[kLanes]) {
  const unsigned bytes = op.count * static_cast<unsigned>(sizeof(T));
  const Registers<R> from(warp, op);
  alignas(kMaxBytes) U8 values[kMaxBytes];
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    assemble<T, R>(from, lane, values);
    const U64 offset = shared_offset(warp, op, lane, addresses[lane] & ~kWindowMask, bytes);
    note_shared_store(warp, op, lane, offset, bytes, values);
    commit<T>(warp.cta->shared.data() + offset, values, from.count);
  }
}

template <class T, class R>
void store_local(Warp& warp, const Op& op, U32 mask, const U64 (&addresses)[kLanes]) {
  const unsigned bytes = op.count * static_cast<unsigned>(sizeof(T));
  const Registers<R> from(warp, op);
  alignas(kMaxBytes) U8 values[kMaxBytes];
  const Flat flat = flat_memory(warp, Space::kLocal);
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    assemble<T, R>(from, lane, values);
    U8* const to = flat_address(warp, op, lane, flat, addresses[lane] & ~kWindowMask, bytes);
    commit<T>(to, values, from.count);
  }
}

template <class T, class R>
void run_store(Warp& warp, const Op& op, U32 mask) {
  U64 addresses[kLanes];
  gather_addresses(warp, op, addresses);
  switch (op.space) {
    case Space::kGlobal:
    case Space::kConst: store_global<T, R>(warp, op, mask, addresses); return;
    case Space::kShared: store_shared<T, R>(warp, op, mask, addresses); return;
    case Space::kLocal: store_local<T, R>(warp, op, mask, addresses); return;
    case Space::kParam:
    case Space::kGeneric: break;
  }
  const U32 global = lanes_in(addresses, mask, 0);
  const U32 shared = lanes_in(addresses, mask, kSharedWindow);
  const U32 local = lanes_in(addresses, mask, kLocalWindow);
  const U32 param = lanes_in(addresses, mask, kParamWindow);
  if (param != 0) {
    raise_read_only(warp, op, first_lane(param), addresses[first_lane(param)]);
  }
  const U32 stray = mask & ~(global | shared | local);
  if (stray != 0) {
    raise_unmapped(warp, op, first_lane(stray), addresses[first_lane(stray)], op.width, true);
  }
  if (global != 0) {
    store_global<T, R>(warp, op, global, addresses);
  }
  if (shared != 0) {
    store_shared<T, R>(warp, op, shared, addresses);
  }
  if (local != 0) {
    store_local<T, R>(warp, op, local, addresses);
  }
}

/// "$ld.u8.w" loads an unsigned byte into 32-bit registers, and so on.
template <class R>
void register_loads(InstructionSet& set, const char* letter) {
  set.add({"$ld.u8.", letter}, "", run_load<std::uint8_t, R>);
  set.add({"$ld.s8.", letter}, "", run_load<std::int8_t, R>);
  set.add({"$ld.u16.", letter}, "", run_load<std::uint16_t, R>);
  set.add({"$ld.s16.", letter}, "", run_load<std::int16_t, R>);
  set.add({"$st.8.", letter}, "", run_store<std::uint8_t, R>);
  set.add({"$st.16.", letter}, "", run_store<std::uint16_t, R>);
  if constexpr (sizeof(R) >= 4) {
    set.add({"$ld.u32.", letter}, "", run_load<std::uint32_t, R>);
    set.add({"$ld.s32.", letter}, "", run_load<std::int32_t, R>);
    set.add({"$st.32.", letter}, "", run_store<std::uint32_t, R>);
  }
  if constexpr (sizeof(R) == 8) {
    set.add({"$ld.u64.", letter}, "", run_load<std::uint64_t, R>);
    set.add({"$ld.s64.", letter}, "", run_load<std::uint64_t, R>);
    set.add({"$st.64.", letter}, "", run_store<std::uint64_t, R>);
  }
}

}  // namespace

void register_memory(InstructionSet& set) {
  register_loads<std::uint16_t>(set, "h");
  register_loads<std::uint32_t>(set, "w");
  register_loads<std::uint64_t>(set, "d");
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
