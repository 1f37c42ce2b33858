// SPDX-License-Identifier: Apache-2.0
#include "tests/support/capture_matrix.hpp"

#include "src/driver/device.hpp"
#include "src/driver/stream.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/support/device_call.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>
#include <quantjit/reference.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace quantjit::test {
namespace {

constexpr std::array<const char*, 3> kModes = {"global", "thread-local", "relaxed"};
constexpr std::array<const char*, 3> kAskers = {"same thread", "other thread", "bystander"};
constexpr std::array<const char*, 3> kReadiness = {"loaded", "on disk", "never compiled"};
constexpr std::array<const char*, 2> kPolicies = {"error", "load"};

constexpr std::int64_t kTokens = 3;
constexpr std::int64_t kHidden = 512;  // whole groups and whole packed words of any descriptor

/// Descriptors whose bits the reference knows on every device, in a fixed order.
const std::vector<std::string>& exact_descriptors() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> exact;
    for (const Traits& traits : enumerate_traits()) {
      const auto* const group = std::get_if<PerTokenGroupQuant>(&traits);
      if (group != nullptr && group->numerics == Numerics::kExact && !group->silu &&
          group->schedule == Schedule::kFlat) {
        exact.push_back(to_text(traits));
      }
    }
    return exact;
  }();
  return texts;
}

/// The kernel that a case is about: no two cases share one.
const std::string& descriptor_of_case(std::size_t index) {
  return exact_descriptors().at(index);
}

/// Kernels that other scenarios use, from the other end.
const std::string& descriptor_of_scenario(std::size_t index) {
  return exact_descriptors().at(exact_descriptors().size() - 1 - index);
}

DeviceCall make_call(const CaptureMachine& machine, const std::string& descriptor,
                     std::uint64_t seed) {
  return {*machine.api, 0, small_problem(descriptor, seed, kTokens, kHidden)};
}

std::vector<PrewarmItem> items_of(const std::vector<std::string>& descriptors) {
  std::vector<PrewarmItem> items;
  for (const std::string& text : descriptors) {
    items.push_back({parse_descriptor(text), {}});
  }
  return items;
}

/// A service with a cache root of its own.
struct Engine {
  explicit Engine(const CaptureMachine& machine, CapturePolicy policy = CapturePolicy::kError)
      : options(machine.options) {
    options.cache_roots = std::vector<std::string>{root.path().string()};
    options.capture_policy = policy;
    service.emplace(options);
  }

  /// Puts kernels on disk, and nowhere else.
  void store(const std::vector<std::string>& descriptors) const {
    const PrewarmReport report =
        KernelService(options).prewarm(items_of(descriptors), {.devices = {0}});
    if (!report.complete()) {
      throw std::runtime_error("prewarm failed: " + report.failures.at(0).error);
    }
  }

  TemporaryDirectory root;
  ServiceOptions options;
  std::optional<KernelService> service;
};

/// Collects what is not as it must be.
class Findings {
 public:
  explicit Findings(std::string name) { outcome_.name = std::move(name); }

  void require(bool holds, const std::string& what) {
    if (!holds) {
      outcome_.problems.push_back(what);
    }
  }

  void equal(std::uint64_t found, std::uint64_t expected, const std::string& what) {
    require(found == expected,
            what + " is " + std::to_string(found) + ", not " + std::to_string(expected));
  }

  void observed(const std::string& what) { outcome_.observed = what; }

  /// Whether a call's outputs are the reference's, or untouched.
  void outputs(const DeviceCall& call, bool written, const std::string& what) {
    if (written) {
      const std::string difference = call.difference();
      require(difference.empty(), what + ": " + difference);
    } else {
      require(call.is_poisoned(), what + ": its outputs were touched");
    }
  }

  [[nodiscard]] CaptureOutcome take() { return std::move(outcome_); }

 private:
  CaptureOutcome outcome_;
};

void run_on(bool other_thread, const std::function<void()>& body) {
  if (other_thread) {
    std::thread(body).join();
  } else {
    body();
  }
}

/// Ends a capture; nothing if that fails, which is a finding.
std::optional<driver::ExecutableGraph> end_capture(driver::GraphCapture& capture,
                                                   Findings& findings) {
  try {
    return capture.end();
  } catch (const Error& error) {
    findings.require(false, std::string("the capture is broken: ") + error.what());
    return std::nullopt;
  }
}

void replay(const CaptureMachine& machine, const driver::ExecutableGraph& graph,
            const driver::StreamOwner& stream) {
  const driver::ContextGuard context(*machine.api, 0);
  graph.launch(stream.get());
  stream.synchronize();
}

}  // namespace

std::string CaptureCase::name() const {
  return std::string(kModes.at(static_cast<std::size_t>(mode))) + ", " +
         kAskers.at(static_cast<std::size_t>(asker)) + ", " +
         kReadiness.at(static_cast<std::size_t>(readiness)) + ", " +
         kPolicies.at(static_cast<std::size_t>(policy));
}

bool CaptureCase::must_miss() const {
  return readiness != Readiness::kLoaded && policy == CapturePolicy::kError &&
         asker != Asker::kBystanderThread;
}

std::vector<CaptureCase> capture_cases() {
  std::vector<CaptureCase> cases;
  using driver::CaptureMode;
  for (const auto mode : {CaptureMode::kGlobal, CaptureMode::kThreadLocal, CaptureMode::kRelaxed}) {
    for (const auto asker :
         {Asker::kCapturingThread, Asker::kOtherThread, Asker::kBystanderThread}) {
      for (const auto readiness :
           {Readiness::kLoaded, Readiness::kOnDisk, Readiness::kNeverCompiled}) {
        for (const auto policy : {CapturePolicy::kError, CapturePolicy::kLoad}) {
          cases.push_back({mode, asker, readiness, policy});
        }
      }
    }
  }
  return cases;
}

CaptureOutcome run_capture_case(const CaptureMachine& machine, const CaptureCase& which,
                                std::size_t index) {
  Findings findings(which.name());
  Engine engine(machine, which.policy);
  KernelService& service = *engine.service;
  const std::string& text = descriptor_of_case(index);
  const DeviceCall before = make_call(machine, "per_token_quant", 1);
  const DeviceCall after = make_call(machine, "per_token_quant", 2);
  const DeviceCall asked = make_call(machine, text, 3);
  const driver::StreamOwner captured(*machine.api, 0);
  const driver::StreamOwner own(*machine.api, 0);
  const Kernel anchor = service.get("per_token_quant", 0);
  if (which.readiness == Readiness::kLoaded) {
    static_cast<void>(service.get(text, 0));
  } else if (which.readiness == Readiness::kOnDisk) {
    engine.store({text});
  }
  const std::uint64_t compiles = service.stats().compiles;

  bool missed = false;
  std::string failure;
  const bool bystander = which.asker == Asker::kBystanderThread;
  driver::GraphCapture capture(*machine.api, captured.get(), which.mode);
  before.launch(anchor, captured.get());
  run_on(which.asker != Asker::kCapturingThread, [&] {
    try {
      asked.launch(service, bystander ? own.get() : captured.get());
    } catch (const CaptureMiss&) {
      missed = true;
    } catch (const std::exception& error) {
      failure = error.what();
    }
  });
  after.launch(anchor, captured.get());
  const auto graph = end_capture(capture, findings);

  findings.observed(missed ? "CaptureMiss" : failure.empty() ? "launched" : failure);
  findings.require(failure.empty(), "the request failed: " + failure);
  findings.require(missed == which.must_miss(), missed ? "it missed" : "it did not miss");
  findings.equal(service.stats().capture_misses, which.must_miss() ? 1 : 0, "capture_misses");
  findings.equal(service.stats().compiles - compiles,
                 which.readiness == Readiness::kNeverCompiled && !which.must_miss() ? 1 : 0,
                 "compiles in the capture");
  if (!graph) {
    return findings.take();
  }
  const bool recorded = !bystander && !missed;
  findings.equal(graph->node_count(), recorded ? 3 : 2, "nodes of the graph");
  if (bystander) {
    own.synchronize();
    findings.outputs(asked, true, "the bystander's launch");
    asked.poison();
  }
  for (int round = 0; round < 2; ++round) {
    for (const DeviceCall* const call : {&before, &asked, &after}) {
      call->poison();
    }
    replay(machine, *graph, captured);
    findings.outputs(before, true, "the launch before");
    findings.outputs(asked, recorded, "the launch that was asked for");
    findings.outputs(after, true, "the launch after");
  }
  if (missed) {  // outside of the capture the same request works
    asked.launch(service, captured.get());
    captured.synchronize();
    findings.outputs(asked, true, "the launch without capture");
  }
  return findings.take();
}

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
