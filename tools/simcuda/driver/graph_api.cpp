// SPDX-License-Identifier: Apache-2.0
// cuGraph*.
#include "graph.hpp"
#include "registry.hpp"
#include "stream.hpp"

#include <algorithm>

using namespace quantjit::simdriver;

namespace {

std::shared_ptr<Graph> live_graph(CUgraph handle) {
  require_initialized();
  const auto graph = registry().graphs.find(handle);
  require(graph != nullptr);
  return graph;
}

CUgraphNodeType type_of(const Command& command) {
  struct Visitor {
    CUgraphNodeType operator()(const KernelLaunch&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }

    CUgraphNodeType operator()(const Copy&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }

    CUgraphNodeType operator()(const Fill&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }

    CUgraphNodeType operator()(const HostCall&) const { return CU_GRAPH_NODE_TYPE_HOST; }

    CUgraphNodeType operator()(const GraphLaunch&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
  };

  return std::visit(Visitor{}, command);
}

void instantiate(CUgraphExec* out, CUgraph handle) {
  const auto graph = live_graph(handle);
  require(out != nullptr);
  forbid_unsafe_call();
  auto executable = std::make_shared<ExecutableGraph>();
  {
    const std::lock_guard lock(graph->mutex);
    executable->nodes = std::make_shared<const std::vector<GraphNode>>(graph->nodes);
  }
  *out = registry().executable_graphs.add(std::move(executable));
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuGraphCreate(CUgraph* out, unsigned int flags) {
  return guard([&] {
    require_initialized();
    require(out != nullptr && flags == 0);
    *out = graph_handle(std::make_shared<Graph>());
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphDestroy(CUgraph handle) {
  return guard([&] {
    const auto graph = live_graph(handle);
    registry().graphs.take(handle);
    const std::lock_guard lock(graph->mutex);
    for (const CUgraphNode node : graph->names) {
      registry().graph_nodes.take(node);
    }
    graph->names.clear();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return guard([&] {
    const auto graph = live_graph(handle);
    require(count != nullptr);
    const std::vector<CUgraphNode> all = node_handles(graph);
    if (nodes == nullptr) {
      *count = all.size();
      return;
    }
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < all.size() ? all[i] : nullptr;
    }
    *count = std::min(*count, all.size());
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return guard([&] {
    require_initialized();
    const auto name = registry().graph_nodes.find(handle);
    const auto graph = name == nullptr ? nullptr : name->graph.lock();
    require(graph != nullptr && type != nullptr);
    const std::lock_guard lock(graph->mutex);
    *type = type_of(graph->nodes[name->index].command);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                                         unsigned long long flags) {
  return guard([&] {
    require(flags == 0 || flags == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
            CUDA_ERROR_NOT_SUPPORTED);
    instantiate(executable, graph);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return guard([&] {
    const auto stream = resolve_stream(stream_handle);
    const auto executable = registry().executable_graphs.find(handle);
    require(executable != nullptr);
    forbid_recording(*stream);
    submit(stream, GraphLaunch{executable->nodes});
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return guard([&] {
    resolve_stream(stream);
    require(registry().executable_graphs.find(handle) != nullptr);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return guard([&] {
    require_initialized();
    require(registry().executable_graphs.find(handle) != nullptr);
    forbid_unsafe_call();
    registry().executable_graphs.take(handle);
  });
}
