// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api.hpp"
#include "handles.hpp"

namespace quantjit::simdriver {

class Context;
class Event;
class Stream;
struct ExecutableGraph;
struct Function;
struct Graph;
struct GraphNodeName;
struct LoadedKernel;
struct LoadedModule;
class Library;

/// All live handles of the process.
struct Registry {
  HandleTable<CUcontext, Context> contexts;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphNode, GraphNodeName> graph_nodes;
  HandleTable<CUgraphExec, ExecutableGraph> executable_graphs;
  HandleTable<CUlibrary, Library> libraries;
  HandleTable<CUkernel, LoadedKernel> kernels;
  HandleTable<CUfunction, Function> functions;
  HandleTable<CUmodule, LoadedModule> modules;
};

/// Never destroyed: other threads may still be in a call while the process exits.
[[nodiscard]] Registry& registry();

/// The object of a handle; fails with CUDA_ERROR_INVALID_HANDLE.
template <class Handle, class Object>
std::shared_ptr<Object> lookup(const HandleTable<Handle, Object>& table, Handle handle) {
  std::shared_ptr<Object> object = table.find(handle);
  require(object != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return object;
}

}  // namespace quantjit::simdriver
