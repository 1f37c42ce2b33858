// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include "registry.hpp"

namespace quantjit::simdriver {

CUgraph graph_handle(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(graph->mutex);
  if (graph->handle == nullptr) {
    graph->handle = registry().graphs.add(graph);
  }
  return graph->handle;
}

std::vector<CUgraphNode> node_handles(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(graph->mutex);
  while (graph->names.size() < graph->nodes.size()) {
    auto name = std::make_shared<GraphNodeName>();
    name->graph = graph;
    name->index = graph->names.size();
    graph->names.push_back(registry().graph_nodes.add(std::move(name)));
  }
  return graph->names;
}

}  // namespace quantjit::simdriver
