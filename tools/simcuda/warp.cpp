// SPDX-License-Identifier: Apache-2.0
#include "warp.hpp"

#include <cstdio>

namespace quantjit::sim {

namespace {

/// Lets the warp go on with the next path on its stack; false when none is left.
bool next_path(Warp& warp) {
  while (!warp.stack.empty()) {
    const Pending next = warp.stack.back();
    warp.stack.pop_back();
    if ((next.lanes & warp.live) != 0) {
      warp.active = next.lanes & warp.live;
      warp.pc = next.pc;
      warp.reconverge = next.reconverge;
      return true;
    }
  }
  return false;
}

/// Splits the running lanes: `taken` go to `target` now, the others to `other` later.
void diverge(Warp& warp, std::uint32_t taken, std::uint32_t target, std::uint32_t other,
             std::uint32_t reconverge) {
  const std::uint32_t rest = warp.active & ~taken;
  if (reconverge != warp.reconverge && reconverge != kNone) {
    warp.stack.push_back({reconverge, warp.active, warp.reconverge});
    warp.reconverge = reconverge;
  }
  if (other != warp.reconverge) {
    warp.stack.push_back({other, rest, warp.reconverge});
  }
  warp.active = taken;
  warp.pc = target;
}

void branch(Warp& warp, const Op& op, std::uint32_t taken) {
  if (taken == warp.active) {
    warp.pc = op.target;
  } else if (taken != 0) {
    diverge(warp, taken, op.target, warp.pc + 1, op.reconverge);
  } else {
    ++warp.pc;
  }
}

/// Sends every lane to the target that its index selects, one group after another.
void indexed_branch(Warp& warp, const Op& op, std::uint32_t mask) {
  const std::uint32_t* index = warp.lanes<const std::uint32_t>(op.src[0]);
  const std::uint32_t* targets = warp.cta->launch->program->branch_targets.data() + op.list;
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    if (index[first_lane(left)] >= op.target) {
      raise(warp, op, first_lane(left), FaultKind::kIllegalInstruction,
            "branches with an index beyond its target list");
    }
  }
  const std::uint32_t fall_through = warp.pc + 1;
  std::uint32_t left = warp.active;
  bool first = true;
  while (left != 0) {
    const unsigned lane = first_lane(left);
    const bool goes = ((mask >> lane) & 1) != 0;
    const std::uint32_t target = goes ? targets[index[lane]] : fall_through;
    std::uint32_t group = 0;
    for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
      const unsigned i = first_lane(rest);
      const bool same =
          ((mask >> i) & 1) != 0 ? targets[index[i]] == target : target == fall_through;
      group |= same ? (1U << i) : 0;
    }
    if (group == left && first) {
      warp.pc = target;
      return;
    }
    if (first && op.reconverge != warp.reconverge && op.reconverge != kNone) {
      warp.stack.push_back({op.reconverge, warp.active, warp.reconverge});
      warp.reconverge = op.reconverge;
    }
    first = false;
    if (target != warp.reconverge) {
      warp.stack.push_back({target, group, warp.reconverge});
    }
    left &= ~group;
  }
  next_path(warp);
}

void exit_lanes(Warp& warp, std::uint32_t mask) {
  warp.live &= ~mask;
  warp.active &= ~mask;
  if (warp.active != 0) {
    ++warp.pc;
  } else if (!next_path(warp)) {
    warp.state = WarpState::kDone;
  }
}

void arrive(Warp& warp, const Op& op, std::uint32_t mask) {
  if (mask != warp.live) {
    const unsigned absent = first_lane(warp.live & ~mask);
    raise(warp, op, absent, FaultKind::kBarrier,
          "does not reach a barrier that other threads of its warp have reached");
  }
  const unsigned lane = first_lane(mask);
  warp.barrier = warp.lanes<const std::uint32_t>(op.src[0])[lane];
  warp.barrier_threads = op.src[1] == kNone ? 0 : warp.lanes<const std::uint32_t>(op.src[1])[lane];
  warp.barrier_op = warp.pc;
  if (warp.barrier >= 16 || warp.barrier_threads % kLanes != 0) {
    raise(warp, op, lane, FaultKind::kIllegalInstruction,
          "names barrier " + std::to_string(warp.barrier) + " for " +
              std::to_string(warp.barrier_threads) + " threads; there are 16, for whole warps");
  }
  ++warp.pc;
  warp.state = WarpState::kAtBarrier;
}

/// True when the warp has to stop here until its predecessors are done.
bool wait_for_dependency(Warp& warp, std::uint32_t mask) {
  if (warp.cta->prologue) {
    warp.state = WarpState::kAtDependencyWait;
    return true;
  }
  warp.resolved |= mask;
  warp.cta->waited = true;
  ++warp.pc;
  return false;
}

unsigned count_lanes(std::uint32_t mask) {
  return mask == kAllLanes ? kLanes : static_cast<unsigned>(__builtin_popcount(mask));
}

}  // namespace

RunResult run_warp(Warp& warp, std::uint64_t slice) {
  const Op* const ops = warp.cta->launch->program->ops.data();
  std::uint64_t lanes = 0;
  std::uint64_t steps = 0;
  const auto account = [&] {
    warp.lane_instructions += lanes;
    warp.warp_instructions += steps;
  };
  try {
    while (warp.state == WarpState::kReady && steps < slice) {
      if (warp.pc == warp.reconverge) {
        next_path(warp);
        continue;
      }
      const Op& op = ops[warp.pc];
      std::uint32_t mask = warp.active;
      if (op.guard != kNone) {
        const std::uint32_t p = warp.predicate(op.guard);
        mask &= op.guard_negated ? ~p : p;
      }
      ++steps;
      lanes += count_lanes(mask);
      switch (op.control) {
        case Control::kPlain:
          if (mask != 0) {
            op.run(warp, op, mask);
          }
          ++warp.pc;
          break;
        case Control::kBranch: branch(warp, op, mask); break;
        case Control::kIndexedBranch: indexed_branch(warp, op, mask); break;
        case Control::kExit: exit_lanes(warp, mask); break;
        case Control::kBarrier:
          if (mask != 0) {
            arrive(warp, op, mask);
          } else {
            ++warp.pc;
          }
          break;
        case Control::kDependencyWait:
          if (mask == 0) {
            ++warp.pc;
          } else if (wait_for_dependency(warp, mask)) {
            --steps;
            lanes -= count_lanes(mask);
          }
          break;
      }
    }
  } catch (...) {
    account();
    throw;
  }
  account();
  return warp.state == WarpState::kReady ? RunResult::kYield : RunResult::kBlocked;
}

void raise(const Warp& warp, const Op& op, unsigned lane, FaultKind kind, const std::string& what,
           std::uint64_t address, const std::string& where) {
  const Launch& launch = *warp.cta->launch;
  const Source& source = launch.program->sources[op.source];
  Fault fault;
  fault.kind = kind;
  fault.kernel = launch.kernel->name;
  fault.block = warp.cta->index;
  fault.thread = warp.cta->thread_index(warp.first_thread + lane);
  fault.ptx_line = source.line;
  fault.ptx_text = source.text;
  fault.address = address;
  fault.allocation = where;
  std::string& m = fault.message;
  m = "kernel " + fault.kernel + ", block " + to_string(fault.block) + ", thread " +
      to_string(fault.thread) + " " + what;
  if (address != 0 || !where.empty()) {
    char text[32];
    std::snprintf(text, sizeof text, " at 0x%llx", static_cast<unsigned long long>(address));
    m += text;
  }
  if (!where.empty()) {
    m += " (" + where + ")";
  }
  m += ", PTX line " + std::to_string(source.line) + ": " + source.text;
  throw FaultError(std::move(fault));
}

}  // namespace quantjit::sim
