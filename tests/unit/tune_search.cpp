// SPDX-License-Identifier: Apache-2.0
// The tuner's search: what it measures, what it keeps, and what table it makes of that.
#include "tools/cli/tune_search.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>

namespace quantjit::test {

using namespace quantjit::cli;

namespace {

const Arch kHopper{9, 0, 'a'};

std::vector<GeometryRule> present(GeometryKernel kernel, const Arch& arch) {
  std::vector<GeometryRule> rules = default_geometry(arch);
  std::erase_if(rules, [kernel](const GeometryRule& rule) { return rule.kernel != kernel; });
  return rules;
}

}  // namespace

TEST_CASE("tune: every candidate of every kernel makes a valid table", "[cli]") {
  for (const char* const name : {"sm_90a", "sm_100a"}) {
    const Arch arch = Arch::parse(name);
    for (std::size_t i = 0; i < kGeometryKernels; ++i) {
      const auto kernel = static_cast<GeometryKernel>(i);
      const std::vector<GeometryRule> candidates = tune_candidates(kernel, arch);
      CHECK(candidates.size() >= 6);
      for (GeometryRule rule : candidates) {
        rule.at_most = kNoSizeLimit;
        CHECK_NOTHROW(validate(std::span(&rule, 1)));
      }
      CHECK(geometry_kernel(parse_descriptor(tune_subject(kernel).traits).traits) == kernel);
      const auto ladder = tune_ladder(kernel, tune_subject(kernel), 132);
      CHECK(std::is_sorted(ladder.begin(), ladder.end(),
                           [](const TuneStep& a, const TuneStep& b) { return a.size < b.size; }));
    }
  }
}

TEST_CASE("tune: where nothing is faster the table in force comes back in effect", "[cli]") {
  for (std::size_t i = 0; i < kGeometryKernels; ++i) {
    const auto kernel = static_cast<GeometryKernel>(i);
    CAPTURE(std::string(to_string(kernel)));
    const std::vector<GeometryRule> rules = present(kernel, kHopper);
    const auto choices =
        tune(kernel, kHopper, 132, rules, [](const TuneStep&, const GeometryRule&) { return 1.0; });
    const std::vector<GeometryRule> tuned = tuned_rules(choices);
    CHECK_NOTHROW(validate(tuned));
    CHECK(tuned.size() <= rules.size());
    for (const TuneChoice& choice : choices) {
      CHECK(choice.us == choice.present_us);
      CHECK(std::find(rules.begin(), rules.end(), choice.rule) != rules.end());
    }
  }
}

TEST_CASE("tune: the fastest candidate is kept, each in its size class", "[cli]") {
  // Small problems want 64 threads, large ones 512 without prefetching.
  const auto measure = [](const TuneStep& step, const GeometryRule& rule) {
    const bool small = step.tokens <= 64;
    const bool wanted =
        small ? rule.threads == 64 && rule.prefetch : rule.threads == 512 && !rule.prefetch;
    return wanted ? 1.0 : 2.0;
  };
  const auto choices =
      tune(GeometryKernel::kFlat, kHopper, 132, present(GeometryKernel::kFlat, kHopper), measure);
  const std::vector<GeometryRule> tuned = tuned_rules(choices);
  REQUIRE(tuned.size() == 2);
  CHECK(tuned[0].threads == 64);
  CHECK(tuned[1].threads == 512);
  CHECK(tuned[1].at_most == kNoSizeLimit);
  const double bytes64 = 64.0 * 7168 * 2 / 132;
  CHECK(static_cast<double>(tuned[0].at_most) > bytes64);
  CHECK(static_cast<double>(tuned[0].at_most) < 4 * bytes64);
  CHECK_NOTHROW(validate(tuned));
}

TEST_CASE("tune: a candidate that is faster by less than 1 % changes nothing", "[cli]") {
  const auto choices =
      tune(GeometryKernel::kRows, kHopper, 132, present(GeometryKernel::kRows, kHopper),
           [](const TuneStep&, const GeometryRule& rule) {
             return rule.block_rows == 4 && rule.prefetch ? 0.995 : 1.0;
           });
  for (const TuneChoice& choice : choices) {
    CHECK(choice.us == choice.present_us);
  }
}

}  // namespace quantjit::test
