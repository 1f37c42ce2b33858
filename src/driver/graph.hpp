// SPDX-License-Identifier: Apache-2.0
// Capturing a stream into a graph and running it.
#pragma once

#include "src/driver/driver_api.hpp"

#include <cstddef>
#include <cstdint>

namespace quantjit::driver {

/// Which calls a capture forbids, and to whom (the driver's three modes).
enum class CaptureMode : std::uint8_t { kGlobal, kThreadLocal, kRelaxed };

/// Owner of an executable graph. Move-only.
class ExecutableGraph {
 public:
  ExecutableGraph(ExecutableGraph&& other) noexcept;
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept;
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;
  ~ExecutableGraph();

  /// Enqueues the whole graph on a stream. Throws: DriverError.
  void launch(CUstream_st* stream) const;

  /// Number of nodes that were captured.
  [[nodiscard]] std::size_t node_count() const noexcept { return node_count_; }

 private:
  friend class GraphCapture;

  ExecutableGraph(const DriverApi& api, CUgraphExec_st* handle, std::size_t node_count) noexcept
      : api_(&api), handle_(handle), node_count_(node_count) {}

  void destroy() noexcept;

  const DriverApi* api_;
  CUgraphExec_st* handle_;
  std::size_t node_count_;
};

/// A capture in progress: begins in the constructor, ends with end(), and is abandoned by a
/// destructor without it.
class GraphCapture {
 public:
  /// Throws: DriverError.
  GraphCapture(const DriverApi& api, CUstream_st* stream,
               CaptureMode mode = CaptureMode::kThreadLocal);
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;
  GraphCapture(GraphCapture&&) = delete;
  GraphCapture& operator=(GraphCapture&&) = delete;
  ~GraphCapture();

  /// Ends the capture and makes the graph executable. Call once. Throws: DriverError, also if the
  /// capture was invalidated.
  [[nodiscard]] ExecutableGraph end();

 private:
  const DriverApi& api_;
  CUstream_st* stream_;
  bool active_ = false;
};

}  // namespace quantjit::driver
