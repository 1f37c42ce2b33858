// SPDX-License-Identifier: Apache-2.0
// The scenarios of capture_matrix.hpp that are more than one request.
#include "src/service/loaded_kernel.hpp"
#include "tests/support/capture_support.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>

#include <memory>

namespace quantjit::test {

CaptureOutcome run_layers(const CaptureMachine& machine, int layers) {
  Findings findings(std::to_string(layers) + " layers after a prewarm");
  Engine engine(machine);
  KernelService& service = *engine.service;
  const std::vector<std::string> descriptors = {"per_token_quant", descriptor_of_scenario(0),
                                                descriptor_of_scenario(1)};
  const PrewarmReport report = service.prewarm(items_of(descriptors), {.devices = {0}});
  findings.require(report.complete() && report.loaded == descriptors.size(),
                   "the prewarm is not complete");
  service.seal();
  const ServiceStats before = service.stats();
  std::vector<DeviceCall> calls;
  calls.reserve(static_cast<std::size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    for (const std::string& descriptor : descriptors) {
      calls.push_back(make_call(machine, descriptor, static_cast<std::uint64_t>(layer)));
    }
  }
  const driver::StreamOwner stream(*machine.api, 0);
  driver::GraphCapture capture(*machine.api, stream.get(), driver::CaptureMode::kGlobal);
  for (const DeviceCall& call : calls) {
    call.launch(service, stream.get());
  }
  const auto graph = end_capture(capture, findings);
  const ServiceStats after = service.stats();
  findings.equal(after.compiles - before.compiles, 0, "compiles in the capture");
  findings.equal(after.loads - before.loads, 0, "loads in the capture");
  findings.equal(after.memory_hits - before.memory_hits, calls.size(), "memory hits");
  if (graph) {
    findings.equal(graph->node_count(), calls.size(), "nodes of the graph");
    findings.observed(std::to_string(graph->node_count()) + " nodes, no compile");
    replay(machine, *graph, stream);
    for (const DeviceCall& call : calls) {
      findings.outputs(call, true, to_text(call.descriptor()));
    }
  }
  return findings.take();
}

CaptureOutcome run_withheld(const CaptureMachine& machine, int layers) {
  Findings findings(std::to_string(layers) + " layers, one descriptor withheld, sealed");
  Engine engine(machine);
  KernelService& service = *engine.service;
  const std::string& withheld = descriptor_of_scenario(2);
  static_cast<void>(service.prewarm(items_of({"per_token_quant"}), {.devices = {0}}));
  service.seal();
  std::vector<DeviceCall> calls;
  calls.reserve(static_cast<std::size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    calls.push_back(make_call(machine, "per_token_quant", static_cast<std::uint64_t>(layer)));
  }
  const DeviceCall missing = make_call(machine, withheld, 99);
  const driver::StreamOwner stream(*machine.api, 0);
  driver::GraphCapture capture(*machine.api, stream.get(), driver::CaptureMode::kGlobal);
  int misses = 0;
  for (const DeviceCall& call : calls) {
    call.launch(service, stream.get());
    try {
      missing.launch(service, stream.get());
    } catch (const SealedMiss& miss) {
      ++misses;
      findings.require(std::string(miss.what()).find(withheld) != std::string::npos,
                       "the miss does not name the descriptor");
    }
  }
  const auto graph = end_capture(capture, findings);
  findings.equal(static_cast<std::uint64_t>(misses), calls.size(), "misses");
  findings.equal(service.stats().sealed_misses, calls.size(), "sealed_misses");
  if (graph) {
    findings.observed("SealedMiss, the capture has " + std::to_string(graph->node_count()) +
                      " nodes");
    findings.equal(graph->node_count(), calls.size(), "nodes of the graph");
    replay(machine, *graph, stream);
    for (const DeviceCall& call : calls) {
      findings.outputs(call, true, "a layer");
    }
    findings.outputs(missing, false, "the withheld kernel");
  }
  return findings.take();
}

CaptureOutcome run_dropped(const CaptureMachine& machine) {
  Findings findings("every handle dropped, memory and disk evicted, the service gone");
  auto engine = std::make_unique<Engine>(machine);
  const DeviceCall group = make_call(machine, descriptor_of_scenario(3), 1);
  const DeviceCall token = make_call(machine, "per_token_quant", 2);
  const std::string& unused = descriptor_of_scenario(4);
  const driver::StreamOwner stream(*machine.api, 0);
  static_cast<void>(engine->service->prewarm(items_of({unused}), {.devices = {0}}));
  std::weak_ptr<const driver::Library> library;
  std::optional<driver::ExecutableGraph> graph;
  {
    const Kernel kernel = engine->service->get(group.descriptor(), 0);
    library = kernel.state()->library;
    driver::GraphCapture capture(*machine.api, stream.get());
    group.launch(kernel, stream.get());
    token.launch(engine->service->get(token.descriptor(), 0), stream.get());
    graph = end_capture(capture, findings);
  }
  const auto check = [&](const std::string& after) {
    findings.require(!library.expired(), "the code was unloaded by " + after);
    if (graph && !library.expired()) {
      group.poison();
      token.poison();
      replay(machine, *graph, stream);
      findings.outputs(group, true, after);
      findings.outputs(token, true, after);
    }
  };
  check("dropping the handles");
  findings.equal(engine->service->evict_memory(0), 3, "kernels evicted");
  check("evict_memory");
  static_cast<void>(CacheAdmin(engine->options).evict(0));
  findings.equal(CacheAdmin(engine->options).list().size(), 0, "entries on disk");
  check("evicting the disk cache");
  engine->service->reload_sources();
  check("reload_sources");
  engine.reset();
  check("destroying the service");
  findings.observed("the graph replays");
  return findings.take();
}

}  // namespace quantjit::test
