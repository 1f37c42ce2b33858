// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace quantjit::simdriver {

/// A graph under construction or captured. Its own lock guards the nodes: a capture in one thread
/// may be looked at from another.
struct Graph {
  mutable std::mutex mutex;
  std::vector<GraphNode> nodes;
  std::vector<CUgraphNode> names;  ///< handles of the first names.size() nodes
  CUgraph handle = nullptr;
};

/// What a CUgraphNode handle stands for.
struct GraphNodeName {
  std::weak_ptr<Graph> graph;
  std::size_t index = 0;
};

struct ExecutableGraph {
  std::shared_ptr<const std::vector<GraphNode>> nodes;
};

/// The graph's handle, made at first use.
[[nodiscard]] CUgraph graph_handle(const std::shared_ptr<Graph>& graph);

/// Handles of all nodes, made at first use.
[[nodiscard]] std::vector<CUgraphNode> node_handles(const std::shared_ptr<Graph>& graph);

}  // namespace quantjit::simdriver
