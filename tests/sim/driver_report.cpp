// SPDX-License-Identifier: Apache-2.0
// The simulated driver's answers against those that a real one gave on a GPU.
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "driver_support.hpp"

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

/// Where the simulated driver differs on purpose, with what it answers.
std::map<std::string, std::string> deviations() {
  std::map<std::string, std::string> list{
  };
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
  for (const auto& [label, answer] : recorded) {
    CAPTURE(label);
    const auto found = simulated.find(label);
    const std::string got = found == simulated.end() ? "no answer" : found->second;
    const auto deviation = known.find(label);
    if (deviation == known.end()) {
      CHECK(got == answer);
    } else {
      CHECK(got == deviation->second);
      CHECK(answer != deviation->second);
      known.erase(deviation);
    }
  }
  CHECK(simulated.size() == recorded.size());
  CHECK(known.empty());
}
