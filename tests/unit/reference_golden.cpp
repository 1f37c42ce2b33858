// SPDX-License-Identifier: Apache-2.0
// The CPU reference against every recorded case, whole buffers, no tolerance.
#include "src/io/golden_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;

namespace {

constexpr std::size_t kRecordedCases = 739;
constexpr std::int64_t kSmall = std::int64_t{1} << 17U;  // elements

const std::vector<io::GoldenCase>& recorded_cases() {
  static const std::vector<io::GoldenCase> kCases =
      io::read_golden_cases(QUANTJIT_GOLDEN_DIRECTORY "/h200_cases.jsonl");
  return kCases;
}

std::int64_t elements(const io::GoldenCase& recorded) {
  const io::Problem& problem = recorded.problem;
  return std::max<std::int64_t>(problem.experts, 1) * problem.tokens * problem.hidden;
}

/// Cases that `wanted` picks, and the mismatches among them.
struct Outcome {
  std::size_t picked = 0;
  std::vector<std::string> failures;
};

template <class Predicate>
Outcome replay(const Predicate& wanted) {
  Outcome outcome;
  std::vector<const io::GoldenCase*> cases;
  for (const io::GoldenCase& recorded : recorded_cases()) {
    if (wanted(recorded)) {
      cases.push_back(&recorded);
    }
  }
  outcome.picked = cases.size();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      const io::GoldenCase& recorded = *cases[i];
      const io::ProblemBuffers buffers = io::make_buffers(recorded.problem);
      io::run_reference(recorded.problem, io::golden_target(recorded), buffers);
      if (const auto failure = io::golden_mismatch(recorded, buffers.q, buffers.s)) {
        const std::lock_guard lock(mutex);
        outcome.failures.push_back(recorded.name + ": " + *failure);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::min(4U, std::thread::hardware_concurrency())); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return outcome;
}

void report(const Outcome& outcome) {
  for (const std::string& failure : outcome.failures) {
    UNSCOPED_INFO(failure);
  }
  CHECK(outcome.failures.empty());
}

}  // namespace

TEST_CASE("Reference: small recorded cases of every original are byte-equal", "[golden]") {
  std::size_t picked = 0;
  for (const char* original : {"sglang_unified", "sglang_v2_aot", "vllm_packed", "sglang_per_token",
                               "sglang_per_token_aot"}) {
    CAPTURE(original);
    const Outcome outcome = replay([&](const io::GoldenCase& recorded) {
      return recorded.reference == original && elements(recorded) <= kSmall;
    });
    report(outcome);
    CHECK(outcome.picked > 0);
    picked += outcome.picked;
  }
  CHECK(picked > 300);
  REQUIRE(recorded_cases().size() == kRecordedCases);
}

TEST_CASE("Reference: large recorded cases are byte-equal", "[golden][slow]") {
  const auto is_small = [](const io::GoldenCase& recorded) { return elements(recorded) <= kSmall; };
  const Outcome outcome =
      replay([&](const io::GoldenCase& recorded) { return !is_small(recorded); });
  report(outcome);
  const auto small = static_cast<std::size_t>(
      std::count_if(recorded_cases().begin(), recorded_cases().end(), is_small));
  CHECK(outcome.picked + small == kRecordedCases);
}
