// SPDX-License-Identifier: Apache-2.0
// Stream capture entry points.
#include "capture.hpp"
#include "graph.hpp"
#include "stream.hpp"

#include <vector>

using namespace quantjit::simdriver;

namespace {

/// What the capture queries' pointer results point to: valid until the thread's next query.
struct QueryResult {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;
};

QueryResult& query_result() {
  thread_local QueryResult result;
  return result;
}

void capture_info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
  const CaptureState state = capture_state(*resolve_stream(handle));
  require(status != nullptr);
  *status = state.status;
  if (state.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return;
  }
  QueryResult& result = query_result();
  const std::vector<CUgraphNode> all = node_handles(state.graph);
  result.nodes.clear();
  for (const std::size_t index : state.tail) {
    result.nodes.push_back(all[index]);
  }
  result.edges.assign(result.nodes.size(), CUgraphEdgeData{});
  if (id != nullptr) {
    *id = state.id;
  }
  if (graph != nullptr) {
    *graph = graph_handle(state.graph);
  }
  if (nodes != nullptr) {
    *nodes = result.nodes.data();
  }
  if (edges != nullptr) {
    *edges = result.edges.data();
  }
  if (count != nullptr) {
    *count = result.nodes.size();
  }
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    begin_capture(stream, mode);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  return guard([&] {
    if (out != nullptr) {
      *out = nullptr;
    }
    const auto graph = end_capture(*resolve_stream(handle));
    if (out != nullptr) {
      *out = graph_handle(graph);
    }
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    require(status != nullptr);
    *status = capture_state(*stream).status;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream stream,
                                                       CUstreamCaptureStatus* status,
                                                       cuuint64_t* id, CUgraph* graph,
                                                       const CUgraphNode** nodes, size_t* count) {
  return guard([&] { capture_info(stream, status, id, graph, nodes, nullptr, count); });
}

QUANTJIT_SIM_EXPORT CUresult cuStreamGetCaptureInfo_v3(
    CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
    const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
  return guard([&] { capture_info(stream, status, id, graph, nodes, edges, count); });
}

QUANTJIT_SIM_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return guard([&] {
    require_initialized();
    require(mode != nullptr);
    *mode = exchange_thread_mode(*mode);
  });
}
