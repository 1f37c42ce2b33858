// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"

#include <cstdint>
#include <vector>

namespace quantjit::sim {

/// A run of ops that is only entered at its first and left at its last.
struct Block {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;  ///< block numbers; the virtual exit is blocks.size()
};

/// The control flow graph of a program whose branch targets are op indices.
struct FlowGraph {
  std::vector<Block> blocks;
  std::vector<std::uint32_t> block_of;  ///< per op

  explicit FlowGraph(const Program& program);
  /// The immediate post-dominator of every block; the virtual exit's number where nothing nearer is
  /// common to all paths, kNone where no path reaches an exit.
  [[nodiscard]] std::vector<std::uint32_t> post_dominators() const;
};

}  // namespace quantjit::sim
