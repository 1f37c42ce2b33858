// SPDX-License-Identifier: Apache-2.0
// What a running service says of itself.
#pragma once

#include "src/serve/compile_queue.hpp"
#include "src/serve/connections.hpp"
#include "src/serve/counters.hpp"
#include "src/serve/options.hpp"

#include <quantjit/service.hpp>

#include <string>

namespace quantjit::serve {

/// All that there is to report.
struct State {
  const KernelService& service;
  const Options& options;
  const Counters& counters;
  Connections::Census connections;
  CompileQueue::Load queue;
  int jobs = 0;
  bool draining = false;
  double uptime_s = 0;
};

/// Metrics of the service and of its KernelService.
[[nodiscard]] std::string metrics_text(const State& state);
/// The same for `quantjit serve --status`, as JSON.
[[nodiscard]] std::string status_json(const State& state);

}  // namespace quantjit::serve
