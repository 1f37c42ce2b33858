// SPDX-License-Identifier: Apache-2.0
// Every instruction of the table, executed, against results recorded on a GPU.
#include "instruction_table.hpp"
#include "simulator.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <map>
#include <sstream>

using namespace quantjit;
using test::InstructionCase;

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kCount = 16384;

/// Recorded hashes by instruction name.
std::map<std::string, std::uint64_t> recorded() {
  std::ifstream file(std::string(QUANTJIT_GOLDEN_DIR) + "/h200_instructions.txt");
  std::map<std::string, std::uint64_t> hashes;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream fields(line);
    std::uint64_t hash = 0;
    std::string name;
    fields >> std::hex >> hash >> name;
    hashes[name] = hash;
  }
  return hashes;
}

std::vector<std::uint8_t> executed(const InstructionCase& instruction, const std::string& target) {
  test::Simulator device(test::instruction_ptx(instruction, target));
  const std::size_t bytes = kCount * test::operand_bytes(instruction.output);
  std::vector<std::uint64_t> parameters{kCount, device.filled<std::uint8_t>(bytes, 0xA5)};
  const auto inputs = test::instruction_operands(instruction, kSeed, kCount);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    parameters.push_back(
        device.upload(test::operand_array(inputs[k], test::operand_bytes(instruction.inputs[k]))));
  }
  const auto fault = device.run("run", {kCount / 256, 1, 1}, {256, 1, 1}, parameters);
  INFO((fault ? fault->message : std::string()));
  REQUIRE_FALSE(fault);
  return device.download<std::uint8_t>(parameters[1], bytes);
}

}  // namespace

TEST_CASE("Instructions: exact ones give the results that an H200 gave", "[sim]") {
  const auto hashes = recorded();
  REQUIRE(hashes.size() > 800);
  std::size_t compared = 0;
  for (const InstructionCase& instruction : test::instruction_cases()) {
    if (instruction.approximate || instruction.min_sm > 90) {
      continue;
    }
    CAPTURE(instruction.name);
    const auto want = hashes.find(instruction.name);
    REQUIRE(want != hashes.end());
    CHECK(test::result_hash(executed(instruction, "sm_90a")) == want->second);
    ++compared;
  }
  CHECK(compared == hashes.size());
}

TEST_CASE("Instructions: later architectures keep the results of sm_90", "[sim]") {
  const auto hashes = recorded();
  for (const char* name : {"fma.rn.ftz.f32", "mul.rn.bf16x2", "cvt.rn.satfinite.e4m3x2.f32",
                           "div.rn.f32", "max.f32", "cvt.rzi.s8.f32"}) {
    for (const InstructionCase& instruction : test::instruction_cases()) {
      if (instruction.name == name) {
        CAPTURE(name);
        CHECK(test::result_hash(executed(instruction, "sm_100a")) == hashes.at(name));
      }
    }
  }
}

TEST_CASE("Instructions: pairs of f32 give what two f32 give", "[sim]") {
  std::map<std::string, InstructionCase> cases;
  for (const InstructionCase& instruction : test::instruction_cases()) {
    cases[instruction.name] = instruction;
  }
  for (const char* name :
       {"add.rn", "add.rz.ftz", "mul.rm", "mul.rn.ftz", "fma.rn", "fma.rp.ftz"}) {
    const InstructionCase& pair = cases.at(std::string(name) + ".f32x2");
    InstructionCase single = cases.at(std::string(name) + ".f32");
    // The same operands, seen as twice as many.
    const auto inputs = test::instruction_operands(pair, kSeed, kCount);
    test::Simulator device(test::instruction_ptx(single, "sm_100a"));
    std::vector<std::uint64_t> parameters{2 * kCount, device.filled<std::uint32_t>(2 * kCount, 0)};
    for (const auto& input : inputs) {
      parameters.push_back(device.upload(input));
    }
    REQUIRE_FALSE(device.run("run", {2 * kCount / 256, 1, 1}, {256, 1, 1}, parameters));
    CAPTURE(name);
    CHECK(device.download<std::uint8_t>(parameters[1], 8 * kCount) == executed(pair, "sm_100a"));
  }
}
