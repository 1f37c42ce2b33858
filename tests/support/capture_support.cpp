// SPDX-License-Identifier: Apache-2.0
#include "tests/support/capture_support.hpp"

#include "src/driver/device.hpp"

#include <quantjit/error.hpp>

#include <stdexcept>
#include <variant>

namespace quantjit::test {
namespace {

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

}  // namespace

const std::string& descriptor_of_case(std::size_t index) {
  return exact_descriptors().at(index);
}

// From the other end, so that they are no case's.
const std::string& descriptor_of_scenario(std::size_t index) {
  return exact_descriptors().at(exact_descriptors().size() - 1 - index);
}

DeviceCall make_call(const CaptureMachine& machine, const std::string& descriptor,
                     std::uint64_t seed) {
  return {*machine.api, 0, small_problem(descriptor, seed, kTokens, kHidden)};
}

std::vector<PrewarmItem> items_of(const std::vector<std::string>& descriptors) {
  std::vector<PrewarmItem> items;
  items.reserve(descriptors.size());
  for (const std::string& text : descriptors) {
    items.push_back({parse_descriptor(text), {}});
  }
  return items;
}

Engine::Engine(const CaptureMachine& machine, CapturePolicy policy) : options(machine.options) {
  options.cache_roots = std::vector<std::string>{root.path().string()};
  options.capture_policy = policy;
  service.emplace(options);
}

void Engine::store(const std::vector<std::string>& descriptors) const {
  const PrewarmReport report =
      KernelService(options).prewarm(items_of(descriptors), {.devices = {0}});
  if (!report.complete()) {
    throw std::runtime_error("prewarm failed: " + report.failures.at(0).error);
  }
}

void Findings::require(bool holds, const std::string& what) {
  if (!holds) {
    outcome_.problems.push_back(what);
  }
}

void Findings::equal(std::uint64_t found, std::uint64_t expected, const std::string& what) {
  require(found == expected,
          what + " is " + std::to_string(found) + ", not " + std::to_string(expected));
}

void Findings::outputs(const DeviceCall& call, bool written, const std::string& what) {
  if (written) {
    const std::string difference = call.difference();
    require(difference.empty(), what + ": " + difference);
  } else {
    require(call.is_poisoned(), what + ": its outputs were touched");
  }
}

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

}  // namespace quantjit::test
