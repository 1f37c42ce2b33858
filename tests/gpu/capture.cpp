// SPDX-License-Identifier: Apache-2.0
// Requests inside captures, on a GPU: the matrix of modes, threads, readiness and policies, a graph
// of many layers after a prewarm, one descriptor withheld under seal, and a graph that outlives
// everything that held its kernels. Results are compared with the CPU reference.
//
// usage: gpu_capture [--layers N]
//
// Writes one JSON document to standard output, a line a case to standard error, and last
// "N passed, N failed". Exits 1 if anything was not as it must be.
#include "src/base/settings.hpp"
#include "src/driver/device.hpp"
#include "tests/support/capture_matrix.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>

namespace {

using namespace quantjit;
using namespace quantjit::test;
using nlohmann::ordered_json;

/// Runs scenarios and keeps what came of them.
class Report {
 public:
  void add(const char* group, const std::function<CaptureOutcome()>& run, const std::string& name) {
    CaptureOutcome outcome;
    try {
      outcome = run();
    } catch (const std::exception& error) {
      outcome.name = name;
      outcome.problems.emplace_back(error.what());
    }
    const bool passed = outcome.problems.empty();
    ++(passed ? passed_ : failed_);
    std::cerr << (passed ? "pass  " : "FAIL  ") << outcome.name << ": " << outcome.observed << '\n';
    for (const std::string& problem : outcome.problems) {
      std::cerr << "      " << problem << '\n';
    }
    document_[group].push_back({{"case", outcome.name},
                                {"observed", outcome.observed},
                                {"passed", passed},
                                {"problems", outcome.problems}});
  }

  int finish(const CaptureMachine& machine) {
    const driver::DeviceInfo& device = driver::device_info(*machine.api, 0);
    document_["device"] = device.name;
    document_["driver"] = device.driver_version;
    document_["passed"] = passed_;
    document_["failed"] = failed_;
    std::cout << document_.dump(1) << '\n';
    std::cerr << passed_ << " passed, " << failed_ << " failed\n";
    return failed_ == 0 ? 0 : 1;
  }

 private:
  ordered_json document_ = {{"device", nullptr}, {"driver", nullptr}};
  int passed_ = 0;
  int failed_ = 0;
};

int run(int layers) {
  CaptureMachine machine;
  machine.options = ServiceOptions::from_environment();
  machine.api = &driver::DriverApi::get(machine.options.cuda_driver.value_or(std::string{}));
  machine.api->initialize();
  Report report;
  const std::vector<CaptureCase> cases = capture_cases();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    report.add(
        "matrix", [&] { return run_capture_case(machine, cases[i], i); }, cases[i].name());
  }
  report.add(
      "layers", [&] { return run_layers(machine, layers); }, "layers");
  report.add(
      "withheld", [&] { return run_withheld(machine, layers); }, "withheld");
  report.add(
      "lifetime", [&] { return run_dropped(machine); }, "lifetime");
  return report.finish(machine);
}

}  // namespace

int main(int argc, char** argv) {
  const bool counted = argc == 3 && std::strcmp(argv[1], "--layers") == 0;
  const int layers = counted ? std::atoi(argv[2]) : 64;
  if ((argc != 1 && !counted) || layers <= 0) {
    std::cerr << "usage: gpu_capture [--layers N]\n";
    return 2;
  }
  try {
    return run(layers);
  } catch (const std::exception& error) {
    std::cerr << "gpu_capture: " << error.what() << '\n';
    return 1;
  }
}
