// SPDX-License-Identifier: Apache-2.0
#include "flow.hpp"

#include "lower.hpp"

#include <algorithm>

namespace quantjit::sim {

namespace {

bool ends_block(const Op& op) {
  return op.control == Control::kBranch || op.control == Control::kIndexedBranch ||
         op.control == Control::kExit;
}

void add_once(std::vector<std::uint32_t>& list, std::uint32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) {
    list.push_back(value);
  }
}

/// Blocks in an order in which, as far as loops allow, successors come first.
std::vector<std::uint32_t> exit_first_order(const FlowGraph& graph,
                                            const std::vector<std::vector<std::uint32_t>>& before) {
  const auto exit = static_cast<std::uint32_t>(graph.blocks.size());
  std::vector<std::uint32_t> post;
  std::vector<bool> seen(exit + 1, false);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit, 0}};
  seen[exit] = true;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next < before[block].size()) {
      const std::uint32_t p = before[block][next++];
      if (!seen[p]) {
        seen[p] = true;
        stack.emplace_back(p, 0);
      }
    } else {
      post.push_back(block);
      stack.pop_back();
    }
  }
  std::reverse(post.begin(), post.end());
  return post;
}

}  // namespace

FlowGraph::FlowGraph(const Program& program) {
  const auto count = static_cast<std::uint32_t>(program.ops.size());
  std::vector<bool> leads(count + 1, false);
  leads[0] = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Op& op = program.ops[i];
    if (ends_block(op)) {
      leads[i + 1] = true;
    }
    if (op.control == Control::kBranch) {
      leads[op.target] = true;
    } else if (op.control == Control::kIndexedBranch) {
      for (std::uint32_t k = 0; k < op.target; ++k) {
        leads[program.branch_targets[op.list + k]] = true;
      }
    }
  }
  block_of.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (leads[i]) {
      blocks.push_back({i, i, {}});
    }
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
    blocks.back().end = i + 1;
  }
  const auto exit = static_cast<std::uint32_t>(blocks.size());
  for (Block& block : blocks) {
    const Op& last = program.ops[block.end - 1];
    if (last.control == Control::kBranch) {
      add_once(block.successors, block_of[last.target]);
    } else if (last.control == Control::kIndexedBranch) {
      for (std::uint32_t k = 0; k < last.target; ++k) {
        add_once(block.successors, block_of[program.branch_targets[last.list + k]]);
      }
    } else if (last.control == Control::kExit) {
      add_once(block.successors, exit);
    }
    if ((!ends_block(last) || last.guard != kNone) && block.end < count) {
      add_once(block.successors, block_of[block.end]);
    }
  }
}

std::vector<std::uint32_t> FlowGraph::post_dominators() const {
  const auto exit = static_cast<std::uint32_t>(blocks.size());
  std::vector<std::vector<std::uint32_t>> before(exit + 1);
  for (std::uint32_t b = 0; b < exit; ++b) {
    for (const std::uint32_t s : blocks[b].successors) {
      before[s].push_back(b);
    }
  }
  const std::vector<std::uint32_t> order = exit_first_order(*this, before);
  std::vector<std::uint32_t> rank(exit + 1, kNone);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
  }
  std::vector<std::uint32_t> nearest(exit + 1, kNone);
  nearest[exit] = exit;
  const auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (rank[a] > rank[b]) {
        a = nearest[a];
      }
      while (rank[b] > rank[a]) {
        b = nearest[b];
      }
    }
    return a;
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (const std::uint32_t b : order) {
      if (b == exit) {
        continue;
      }
      std::uint32_t found = kNone;
      for (const std::uint32_t s : blocks[b].successors) {
        if (nearest[s] != kNone) {
          found = found == kNone ? s : common(found, s);
        }
      }
      changed = changed || found != nearest[b];
      nearest[b] = found;
    }
  }
  nearest.pop_back();
  return nearest;
}

void connect(Draft& draft) {
  Program& program = draft.program;
  for (Op& op : program.ops) {
    if (op.control == Control::kBranch) {
      op.target = draft.labels[op.target];
    }
  }
  for (std::uint32_t& target : program.branch_targets) {
    target = draft.labels[target];
  }
  const FlowGraph graph(program);
  const std::vector<std::uint32_t> nearest = graph.post_dominators();
  for (std::uint32_t b = 0; b < graph.blocks.size(); ++b) {
    Op& last = program.ops[graph.blocks[b].end - 1];
    const bool branches =
        last.control == Control::kBranch || last.control == Control::kIndexedBranch;
    if (branches && nearest[b] != kNone && nearest[b] < graph.blocks.size()) {
      last.reconverge = graph.blocks[nearest[b]].begin;
    }
  }
}

}  // namespace quantjit::sim
