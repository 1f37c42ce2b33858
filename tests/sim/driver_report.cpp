// SPDX-License-Identifier: Apache-2.0
// The simulated driver's answers against those that a real one gave on a GPU.
#include "driver_support.hpp"

#include <fstream>
#include <map>
#include <sstream>

using namespace quantjit::simtest;

namespace {

/// `label = answer` lines; a label's second line (its value beside its result) gets a mark.
std::map<std::string, std::string> parse(std::istream& in) {
  std::map<std::string, std::string> answers;
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(" = ");
    if (line.empty() || line[0] == '#' || at == std::string::npos) {
      continue;
    }
    std::string label = line.substr(0, at);
    while (answers.count(label) != 0) {
      label += '\'';
    }
    answers[label] = line.substr(at + 3);
  }
  return answers;
}

constexpr const char* kNoAnswer = "no answer";

/// Where the simulated driver differs on purpose, with what it answers.
std::map<std::string, std::string> deviations() {
  std::map<std::string, std::string> list{
      // There are no forms with 32-bit device pointers.
      {"basics.proc_old'", "102"},
      // The PCI address is the device's place in the list of simulated ones.
      {"attribute.33", "1"},
      {"attribute.34", "0"},
      // Images are parsed when they are loaded, not at the first kernel, so that the log says why.
      {"library.garbage_text", "CUDA_ERROR_INVALID_IMAGE"},
      {"library.empty_text", "CUDA_ERROR_INVALID_IMAGE"},
      {"library.newer_target_load", "CUDA_ERROR_INVALID_PTX"},
      {"library.newer_target_kernel", kNoAnswer},
      {"library.newer_version_load", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {"library.newer_version_kernel", kNoAnswer},
      {"library.bad_syntax_load", "CUDA_ERROR_INVALID_PTX"},
      {"library.bad_syntax_kernel", kNoAnswer},
      {"library.logged", "CUDA_ERROR_INVALID_PTX"},
  };
  // Features that are not simulated: cooperative and cluster launches, managed and mapped memory,
  // virtual memory management, stream memory operations, sharing with other processes and devices.
  for (const int attribute : {19,  83,  89,  91,  95,  96,  99,  102, 103, 107, 110, 112,
                              113, 114, 116, 120, 121, 122, 123, 124, 125, 127, 129}) {
    list["attribute." + std::to_string(attribute)] = "0";
  }
  return list;
}

}  // namespace

TEST_CASE("Fidelity: the driver answers as the recorded H200 does", "[sim]") {
  int status = 0;
  std::istringstream output(
      run_program({QUANTJIT_DRIVER_TRACE, QUANTJIT_SIMCUDA_LIBRARY}, {}, status));
  REQUIRE(status == 0);
  std::ifstream file(QUANTJIT_DRIVER_REPORT);
  REQUIRE(file.good());
  const auto recorded = parse(file);
  const auto simulated = parse(output);
  auto known = deviations();
  CHECK(recorded.size() > 900);
  std::size_t unanswered = 0;
  for (const auto& [label, answer] : recorded) {
    CAPTURE(label);
    const auto found = simulated.find(label);
    const std::string got = found == simulated.end() ? kNoAnswer : found->second;
    unanswered += found == simulated.end() ? 1 : 0;
    const auto deviation = known.find(label);
    if (deviation == known.end()) {
      CHECK(got == answer);
    } else {
      CHECK(got == deviation->second);
      CHECK(answer != deviation->second);
      known.erase(deviation);
    }
  }
  CHECK(simulated.size() + unanswered == recorded.size());
  CHECK(known.empty());
}
