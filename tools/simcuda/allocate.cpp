// SPDX-License-Identifier: Apache-2.0
#include "flow.hpp"
#include "lower.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

namespace quantjit::sim {

namespace {

bool is_virtual(std::uint32_t operand) {
  return operand != kNone && (operand & kConstantSlot) == 0;
}

using Bits = std::vector<std::uint64_t>;

bool has(const Bits& set, std::uint32_t i) {
  return ((set[i / 64] >> (i % 64)) & 1) != 0;
}

void put(Bits& set, std::uint32_t i) {
  set[i / 64] |= std::uint64_t{1} << (i % 64);
}

template <class F>
void each_read(const Draft& draft, std::uint32_t index, F&& visit) {
  const Op& op = draft.program.ops[index];
  for (const std::uint32_t s : op.src) {
    if (is_virtual(s)) {
      visit(s);
    }
  }
  if (is_virtual(op.guard)) {
    visit(op.guard);
  }
  for (std::uint32_t k = 0; k < op.count && !draft.list_is_written[index]; ++k) {
    if (is_virtual(draft.program.lists[op.list + k])) {
      visit(draft.program.lists[op.list + k]);
    }
  }
}

template <class F>
void each_written(const Draft& draft, std::uint32_t index, F&& visit) {
  const Op& op = draft.program.ops[index];
  for (const std::uint32_t d : {op.dst, op.dst2}) {
    if (is_virtual(d)) {
      visit(d);
    }
  }
  for (std::uint32_t k = 0; k < op.count && draft.list_is_written[index]; ++k) {
    if (is_virtual(draft.program.lists[op.list + k])) {
      visit(draft.program.lists[op.list + k]);
    }
  }
}

/// First and last op index at which each register matters.
struct Intervals {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> last;

  explicit Intervals(std::size_t count) : first(count, kNone), last(count, 0) {}

  void extend(std::uint32_t r, std::uint32_t at) {
    first[r] = first[r] == kNone ? at : std::min(first[r], at);
    last[r] = std::max(last[r], at);
  }
};

/// Registers live at the start and end of every block, by iteration to a fixed point.
struct Liveness {
  std::vector<Bits> in;
  std::vector<Bits> out;

  Liveness(const Draft& draft, const FlowGraph& graph) {
    const std::size_t words = draft.registers.size() / 64 + 1;
    const std::size_t count = graph.blocks.size();
    in.assign(count, Bits(words, 0));
    out.assign(count, Bits(words, 0));
    std::vector<Bits> killed(count, Bits(words, 0));
    for (std::size_t b = 0; b < count; ++b) {
      for (std::uint32_t i = graph.blocks[b].begin; i < graph.blocks[b].end; ++i) {
        each_read(draft, i, [&](std::uint32_t r) {
          if (!has(killed[b], r)) {
            put(in[b], r);
          }
        });
        if (draft.program.ops[i].guard == kNone) {  // a guarded write may leave the old value
          each_written(draft, i, [&](std::uint32_t r) { put(killed[b], r); });
        }
      }
    }
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t b = count; b-- > 0;) {
        for (const std::uint32_t s : graph.blocks[b].successors) {
          for (std::size_t w = 0; s < count && w < words; ++w) {
            out[b][w] |= in[s][w];
          }
        }
        for (std::size_t w = 0; w < words; ++w) {
          const std::uint64_t live = in[b][w] | (out[b][w] & ~killed[b][w]);
          changed = changed || live != in[b][w];
          in[b][w] = live;
        }
      }
    }
  }
};

Intervals live_intervals(const Draft& draft) {
  const FlowGraph graph(draft.program);
  const Liveness live(draft, graph);
  Intervals intervals(draft.registers.size());
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const Block& block = graph.blocks[b];
    for (std::uint32_t r = 0; r < draft.registers.size(); ++r) {
      if (has(live.in[b], r)) {
        intervals.extend(r, block.begin);
      }
      if (has(live.out[b], r)) {
        intervals.extend(r, block.end - 1);
      }
    }
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      each_read(draft, i, [&](std::uint32_t r) { intervals.extend(r, i); });
      each_written(draft, i, [&](std::uint32_t r) { intervals.extend(r, i); });
    }
  }
  return intervals;
}

/// Bytes of one slot; predicates are padded so that they share no cache line with lanes.
std::uint32_t slot_bytes(unsigned bits) {
  return bits == 1 ? 4 : kLanes * bits / 8;
}

/// Hands out slots in the order in which registers come to life.
std::vector<std::uint32_t> assign_slots(const Draft& draft, const Intervals& intervals,
                                        std::uint32_t& total) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t r = 0; r < draft.registers.size(); ++r) {
    if (intervals.first[r] != kNone) {
      order.push_back(r);
    }
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return intervals.first[a] < intervals.first[b];
  });
  using Ending = std::pair<std::uint32_t, std::uint32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> active;
  std::map<unsigned, std::vector<std::uint32_t>> unused;
  std::vector<std::uint32_t> slots(draft.registers.size(), 0);
  for (const std::uint32_t r : order) {
    while (!active.empty() && active.top().first < intervals.first[r]) {
      const std::uint32_t dead = active.top().second;
      unused[draft.registers[dead]].push_back(slots[dead]);
      active.pop();
    }
    std::vector<std::uint32_t>& pool = unused[draft.registers[r]];
    if (pool.empty()) {
      const std::uint32_t bytes = slot_bytes(draft.registers[r]);
      const std::uint32_t step = std::max<std::uint32_t>(bytes, 64);
      for (std::uint32_t at = total + step; at > total; at -= bytes) {
        pool.push_back(at - bytes);  // 16 predicates fit in one line
      }
      total += step;
    }
    slots[r] = pool.back();
    pool.pop_back();
    active.emplace(intervals.last[r], r);
  }
  return slots;
}

}  // namespace

void allocate_registers(Draft& draft) {
  std::uint32_t total = 0;
  const Intervals intervals = live_intervals(draft);
  const std::vector<std::uint32_t> slots = assign_slots(draft, intervals, total);
  const auto place = [&](std::uint32_t& operand) {
    if (is_virtual(operand)) {
      operand = slots[operand];
    }
  };
  for (Op& op : draft.program.ops) {
    place(op.dst);
    place(op.dst2);
    place(op.guard);
    for (std::uint32_t& s : op.src) {
      place(s);
    }
  }
  for (std::uint32_t& entry : draft.program.lists) {
    place(entry);
  }
  draft.program.register_bytes = total;
}

}  // namespace quantjit::sim
