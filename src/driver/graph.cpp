// SPDX-License-Identifier: Apache-2.0
#include "src/driver/graph.hpp"

#include "src/driver/context_scope.hpp"

#include <quantjit/error.hpp>

#include <memory>
#include <utility>

namespace quantjit::driver {
namespace {

CUstreamCaptureMode native_mode(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::kGlobal: return CU_STREAM_CAPTURE_MODE_GLOBAL;
    case CaptureMode::kThreadLocal: return CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    default: return CU_STREAM_CAPTURE_MODE_RELAXED;
  }
}

}  // namespace

ExecutableGraph::ExecutableGraph(ExecutableGraph&& other) noexcept
    : api_(other.api_),
      handle_(std::exchange(other.handle_, nullptr)),
      node_count_(other.node_count_) {}

ExecutableGraph& ExecutableGraph::operator=(ExecutableGraph&& other) noexcept {
  if (this != &other) {
    destroy();
    api_ = other.api_;
    handle_ = std::exchange(other.handle_, nullptr);
    node_count_ = other.node_count_;
  }
  return *this;
}

ExecutableGraph::~ExecutableGraph() {
  destroy();
}

void ExecutableGraph::destroy() noexcept {
  if (handle_ != nullptr && DriverApi::process_is_live() && !api_->forked()) {
    api_->table().cuGraphExecDestroy(handle_);
  }
  handle_ = nullptr;
}

void ExecutableGraph::launch(CUstream_st* stream) const {
  check(*api_,
        in_stream_context(*api_, stream,
                          [&] { return api_->table().cuGraphLaunch(handle_, stream); }),
        "cuGraphLaunch");
}

GraphCapture::GraphCapture(const DriverApi& api, CUstream_st* stream, CaptureMode mode)
    : api_(api), stream_(stream) {
  check(
      api,
      in_stream_context(
          api, stream, [&] { return api.table().cuStreamBeginCapture(stream, native_mode(mode)); }),
      "cuStreamBeginCapture");
  active_ = true;
}

GraphCapture::~GraphCapture() {
  if (!active_) {
    return;
  }
  CUgraph graph = nullptr;
  in_stream_context(api_, stream_,
                    [&] { return api_.table().cuStreamEndCapture(stream_, &graph); });
  if (graph != nullptr) {
    api_.table().cuGraphDestroy(graph);
  }
}

ExecutableGraph GraphCapture::end() {
  if (!active_) {
    throw InvalidArgument("capture", "ended", "a capture can be ended only once");
  }
  active_ = false;
  CUgraph captured = nullptr;
  check(api_,
        in_stream_context(api_, stream_,
                          [&] { return api_.table().cuStreamEndCapture(stream_, &captured); }),
        "cuStreamEndCapture");
  const auto destroy = [this](CUgraph graph) { api_.table().cuGraphDestroy(graph); };
  const std::unique_ptr<CUgraph_st, decltype(destroy)> graph(captured, destroy);
  std::size_t node_count = 0;
  check(api_, api_.table().cuGraphGetNodes(graph.get(), nullptr, &node_count), "cuGraphGetNodes");
  CUgraphExec executable = nullptr;
  check(api_,
        in_stream_context(
            api_, stream_,
            [&] { return api_.table().cuGraphInstantiateWithFlags(&executable, graph.get(), 0); }),
        "cuGraphInstantiateWithFlags");
  return {api_, executable, node_count};
}

}  // namespace quantjit::driver
