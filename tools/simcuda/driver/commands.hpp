// SPDX-License-Identifier: Apache-2.0
// What a stream executes and a graph stores.
#pragma once

#include "../grid.hpp"
#include "api.hpp"
#include "device.hpp"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace quantjit::simdriver {

/// A kernel launch whose geometry and parameters were checked.
struct KernelLaunch {
  std::shared_ptr<const sim::Image> image;
  const sim::Kernel* kernel = nullptr;  ///< lives as long as the image
  sim::Dim3 grid;
  sim::Dim3 block;
  std::uint32_t shared_bytes = 0;  ///< dynamic
  std::vector<std::uint8_t> parameters;
  bool programmatic = false;  ///< may start before its predecessor in the stream ends
};

/// One end of a copy; host memory where `device` is null.
struct Place {
  Device* device = nullptr;
  std::uint64_t address = 0;
};

struct Copy {
  Place to;
  Place from;
  std::uint64_t bytes = 0;
};

struct Fill {
  Place to;
  std::uint32_t value = 0;
  unsigned width = 1;  ///< bytes of an element
  std::uint64_t count = 0;
};

struct HostCall {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

struct GraphNode;

/// A whole graph, launched as one unit.
struct GraphLaunch {
  std::shared_ptr<const std::vector<GraphNode>> nodes;
};

using Command = std::variant<KernelLaunch, Copy, Fill, HostCall, GraphLaunch>;

struct GraphNode {
  Command command;
  std::vector<std::size_t> dependencies;  ///< indices of earlier nodes
};

/// Whether node `index` is a programmatic launch that follows the kernel recorded just before it
/// and nothing else, so that a replay may start it early.
[[nodiscard]] bool starts_early(const std::vector<GraphNode>& nodes, std::size_t index);

/// Executes a copy or a fill now. Fails with CUDA_ERROR_ILLEGAL_ADDRESS when memory was freed since
/// the command was made.
void perform(const Copy& copy);
void perform(const Fill& fill);

}  // namespace quantjit::simdriver
