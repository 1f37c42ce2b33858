// SPDX-License-Identifier: Apache-2.0
#include "tests/support/capture_matrix.hpp"

#include "tests/support/capture_support.hpp"

#include <quantjit/error.hpp>

#include <array>
#include <functional>
#include <thread>
#include <utility>

namespace quantjit::test {
namespace {

constexpr std::array<const char*, 3> kModes = {"global", "thread-local", "relaxed"};
constexpr std::array<const char*, 3> kAskers = {"same thread", "other thread", "bystander"};
constexpr std::array<const char*, 3> kReadiness = {"loaded", "on disk", "never compiled"};
constexpr std::array<const char*, 2> kPolicies = {"error", "load"};

void run_on(bool other_thread, const std::function<void()>& body) {
  if (other_thread) {
    std::thread(body).join();
  } else {
    body();
  }
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

namespace {

/// One case: what it needs, and what came of it.
class CaseRun {
 public:
  CaseRun(const CaptureMachine& machine, const CaptureCase& which, const std::string& descriptor)
      : machine_(machine),
        which_(which),
        engine_(machine, which.policy),
        before_(make_call(machine, "per_token_quant", 1)),
        asked_(make_call(machine, descriptor, 3)),
        after_(make_call(machine, "per_token_quant", 2)),
        captured_(*machine.api, 0),
        own_(*machine.api, 0),
        anchor_(service().get("per_token_quant", 0)) {
    if (which.readiness == Readiness::kLoaded) {
      static_cast<void>(service().get(descriptor, 0));
    } else if (which.readiness == Readiness::kOnDisk) {
      engine_.store({descriptor});
    }
    compiles_before_ = service().stats().compiles;
  }

  /// Launches before, asks, launches after, all of it inside a capture.
  std::optional<driver::ExecutableGraph> capture(Findings& findings) {
    driver::GraphCapture capture(*machine_.api, captured_.get(), which_.mode);
    before_.launch(anchor_, captured_.get());
    run_on(which_.asker != Asker::kCapturingThread, [this] {
      try {
        asked_.launch(service(), bystander() ? own_.get() : captured_.get());
      } catch (const CaptureMiss&) {
        missed_ = true;
      } catch (const std::exception& error) {
        failure_ = error.what();
      }
    });
    after_.launch(anchor_, captured_.get());
    return end_capture(capture, findings);
  }

  void judge_request(Findings& findings) {
    const bool must_miss = which_.must_miss();
    findings.observed(missed_ ? "CaptureMiss" : failure_.empty() ? "launched" : failure_);
    findings.require(failure_.empty(), "the request failed: " + failure_);
    findings.require(missed_ == must_miss, missed_ ? "it missed" : "it did not miss");
    findings.equal(service().stats().capture_misses, must_miss ? 1 : 0, "capture_misses");
    const bool compiles = which_.readiness == Readiness::kNeverCompiled && !must_miss;
    findings.equal(service().stats().compiles - compiles_before_, compiles ? 1 : 0,
                   "compiles in the capture");
  }

  void judge_graph(const driver::ExecutableGraph& graph, Findings& findings) {
    const bool recorded = !bystander() && !missed_;
    findings.equal(graph.node_count(), recorded ? 3 : 2, "nodes of the graph");
    if (bystander()) {
      own_.synchronize();
      findings.outputs(asked_, true, "the bystander's launch");
    }
    for (int round = 0; round < 2; ++round) {
      for (const DeviceCall* const call : {&before_, &asked_, &after_}) {
        call->poison();
      }
      replay(machine_, graph, captured_);
      findings.outputs(before_, true, "the launch before");
      findings.outputs(asked_, recorded, "the launch that was asked for");
      findings.outputs(after_, true, "the launch after");
    }
    if (missed_) {  // outside of the capture the same request works
      asked_.launch(service(), captured_.get());
      captured_.synchronize();
      findings.outputs(asked_, true, "the launch without capture");
    }
  }

 private:
  [[nodiscard]] KernelService& service() { return *engine_.service; }

  [[nodiscard]] bool bystander() const { return which_.asker == Asker::kBystanderThread; }

  const CaptureMachine& machine_;
  const CaptureCase& which_;
  Engine engine_;
  DeviceCall before_;
  DeviceCall asked_;
  DeviceCall after_;
  driver::StreamOwner captured_;
  driver::StreamOwner own_;
  Kernel anchor_;
  std::uint64_t compiles_before_ = 0;
  bool missed_ = false;
  std::string failure_;
};

}  // namespace

CaptureOutcome run_capture_case(const CaptureMachine& machine, const CaptureCase& which,
                                std::size_t index) {
  Findings findings(which.name());
  CaseRun run(machine, which, descriptor_of_case(index));
  const auto graph = run.capture(findings);
  run.judge_request(findings);
  if (graph) {
    run.judge_graph(*graph, findings);
  }
  return findings.take();
}

}  // namespace quantjit::test
