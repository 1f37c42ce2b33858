// SPDX-License-Identifier: Apache-2.0
#include "cta.hpp"

#include <algorithm>
#include <string>

namespace quantjit::sim {

namespace {

/// Instructions a warp may run before the others get their turn, so that spinning ends.
constexpr std::uint64_t kSlice = 1U << 16;
constexpr std::uint32_t kLastEpoch = 0xF0000000;

void start_warp(Cta& cta, Warp& warp, std::uint32_t number) {
  const Launch& launch = *cta.launch;
  const Program& program = *launch.program;
  warp.cta = &cta;
  warp.first_thread = number * kLanes;
  const std::uint32_t threads = std::min(launch.threads - warp.first_thread, kLanes);
  warp.live = threads == kLanes ? kAllLanes : (1U << threads) - 1;
  warp.active = warp.live;
  warp.pc = 0;
  warp.reconverge = kNone;
  warp.resolved = 0;
  warp.sync_epoch = 0;
  warp.state = WarpState::kReady;
  warp.stack.clear();
  warp.registers.resize(program.register_bytes + 64);
  warp.local.resize(std::size_t{program.local_bytes} * kLanes + 16);
  const auto base = reinterpret_cast<std::uintptr_t>(warp.registers.data());
  warp.bases[0] = warp.registers.data() + ((64 - base % 64) % 64);
  warp.bases[1] = const_cast<std::uint8_t*>(launch.constants.data());
}

/// Everyone who waits at barrier `id`, together with whether it can be passed.
struct Waiting {
  std::uint32_t threads = 0;
  std::uint32_t wanted = 0;  ///< explicit thread count, 0: all live threads
  std::uint32_t op = kNone;
  Warp* first = nullptr;
  Warp* other_place = nullptr;  ///< waits at another instruction
};

Waiting gather(Cta& cta, std::uint32_t id) {
  Waiting w;
  for (Warp& warp : cta.warps) {
    if (warp.state != WarpState::kAtBarrier || warp.barrier != id) {
      continue;
    }
    w.threads += kLanes;  // partial warps count as whole ones
    w.wanted = warp.barrier_threads;
    if (w.first == nullptr) {
      w.first = &warp;
      w.op = warp.barrier_op;
    } else if (warp.barrier_op != w.op) {
      w.other_place = &warp;
    }
  }
  return w;
}

void reduce_barrier(Cta& cta, std::uint32_t id);

void release(Cta& cta, std::uint32_t id) {
  reduce_barrier(cta, id);
  ++cta.epoch;
  bool resolved = false;
  for (const Warp& warp : cta.warps) {
    resolved = resolved ||
               (warp.state == WarpState::kAtBarrier && warp.barrier == id && warp.resolved != 0);
  }
  for (Warp& warp : cta.warps) {
    if (warp.state == WarpState::kAtBarrier && warp.barrier == id) {
      warp.state = WarpState::kReady;
      warp.resolved = resolved ? kAllLanes : warp.resolved;
    }
  }
}

/// barrier.red: op detail 1 and, 2 or, 3 popc over the predicate of every arriving thread.
void reduce_barrier(Cta& cta, std::uint32_t id) {
  std::uint32_t all = kAllLanes;
  std::uint32_t any = 0;
  std::uint32_t sum = 0;
  const Program& program = *cta.launch->program;
  for (const Warp& warp : cta.warps) {
    const bool here = warp.state == WarpState::kAtBarrier && warp.barrier == id;
    const Op& op = program.ops[here ? warp.barrier_op : 0];
    if (!here || op.control != Control::kBarrier || op.detail == 0) {
      continue;
    }
    const std::uint32_t p = warp.predicate(op.src[2]) & warp.live;
    all = p == warp.live ? all : 0;
    any |= p;
    sum += static_cast<std::uint32_t>(__builtin_popcount(p));
  }
  for (const Warp& warp : cta.warps) {
    const bool here = warp.state == WarpState::kAtBarrier && warp.barrier == id;
    const Op& op = program.ops[here ? warp.barrier_op : 0];
    if (!here || op.control != Control::kBarrier || op.detail == 0) {
      continue;
    }
    if (op.detail == 3) {
      std::fill_n(warp.lanes<std::uint32_t>(op.dst), kLanes, sum);
    } else {
      const bool yes = op.detail == 1 ? all != 0 : any != 0;
      warp.predicate(op.dst) = yes ? kAllLanes : 0;
    }
  }
}

[[noreturn]] void raise_barrier(const Warp& warp, const std::string& what) {
  const Op& op = warp.cta->launch->program->ops[warp.barrier_op];
  raise(warp, op, first_lane(warp.live), FaultKind::kBarrier, what);
}

/// Releases every barrier whose threads have all come. Returns whether any was.
bool release_barriers(Cta& cta) {
  std::uint32_t live = 0;
  for (const Warp& warp : cta.warps) {
    live += warp.state == WarpState::kDone ? 0 : kLanes;
  }
  bool released = false;
  for (std::uint32_t id = 0; id < 16; ++id) {
    const Waiting w = gather(cta, id);
    if (w.first == nullptr || w.threads < (w.wanted != 0 ? w.wanted : live)) {
      continue;
    }
    if (w.wanted == 0 && w.other_place != nullptr) {
      const Program& program = *cta.launch->program;
      const Op& there = program.ops[w.other_place->barrier_op];
      raise_barrier(*w.first,
                    "waits at a barrier while another warp waits at the one on PTX line " +
                        std::to_string(program.sources[there.source].line) +
                        ": some threads have missed one of them");
    }
    release(cta, id);
    released = true;
  }
  return released;
}

void finish(Cta& cta) {
  Launch& launch = *cta.launch;
  launch.finished_ctas.fetch_add(1, std::memory_order_relaxed);
  if (launch.options.dependent && !cta.waited) {
    const std::lock_guard lock(launch.mutex);
    if (launch.ctas_without_wait.fetch_add(1, std::memory_order_relaxed) == 0) {
      launch.block_without_wait = cta.index;
    }
  }
  for (Warp& warp : cta.warps) {
    launch.lane_instructions.fetch_add(warp.lane_instructions, std::memory_order_relaxed);
    launch.warp_instructions.fetch_add(warp.warp_instructions, std::memory_order_relaxed);
    warp.lane_instructions = 0;
    warp.warp_instructions = 0;
  }
}

/// Counts what a warp did against the limit of the launch.
void charge(Cta& cta, const Warp& warp) {
  const std::uint64_t limit = cta.launch->options.lane_instruction_limit;
  if (limit == 0) {
    return;
  }
  std::uint64_t total = cta.launch->lane_instructions.load(std::memory_order_relaxed);
  for (const Warp& each : cta.warps) {
    total += each.lane_instructions;
  }
  if (total > limit && warp.live != 0) {
    raise(warp, cta.launch->program->ops[warp.pc], first_lane(warp.live), FaultKind::kTimeout,
          "is still running after " + std::to_string(limit) + " instructions of the launch");
  }
}

}  // namespace

Dim3 Cta::thread_index(std::uint32_t linear_thread) const {
  const Dim3& b = launch->block;
  return {linear_thread % b.x, linear_thread / b.x % b.y, linear_thread / b.x / b.y};
}

void Cta::start(Launch& owner, std::uint64_t linear_index) {
  launch = &owner;
  linear = linear_index;
  const Dim3& g = owner.grid;
  index = {static_cast<std::uint32_t>(linear_index % g.x),
           static_cast<std::uint32_t>(linear_index / g.x % g.y),
           static_cast<std::uint32_t>(linear_index / g.x / g.y)};
  serial = owner.first_serial + linear_index;
  if (epoch > kLastEpoch) {
    std::fill(shared_writes.begin(), shared_writes.end(), SharedMark{});
    std::fill(shared_reads.begin(), shared_reads.end(), SharedMark{});
    epoch = 1;
  }
  ++epoch;
  first_epoch = epoch;
  waited = false;
  used_atomics = false;
  shared.resize(owner.shared_bytes);
  shared_writes.resize(owner.shared_bytes);
  shared_reads.resize(owner.shared_bytes);
  const std::uint32_t count = (owner.threads + kLanes - 1) / kLanes;
  warps.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    start_warp(*this, warps[i], i);
  }
}

bool run_cta(Cta& cta) {
  for (;;) {
    bool progress = false;
    bool alive = false;
    const Warp* blocked = nullptr;
    bool suspended = false;
    for (Warp& warp : cta.warps) {
      if (warp.state == WarpState::kReady) {
        run_warp(warp, kSlice);
        charge(cta, warp);
        progress = true;
      }
      alive = alive || warp.state != WarpState::kDone;
      suspended = suspended || warp.state == WarpState::kAtDependencyWait;
      blocked = warp.state == WarpState::kAtBarrier ? &warp : blocked;
      if (cta.launch->stop.load(std::memory_order_relaxed)) {
        return true;
      }
    }
    if (!alive) {
      finish(cta);
      return true;
    }
    if (release_barriers(cta) || progress) {
      continue;
    }
    if (suspended) {
      return false;
    }
    raise_barrier(*blocked,
                  "waits at a barrier that the remaining threads of its block never reach");
  }
}

}  // namespace quantjit::sim
