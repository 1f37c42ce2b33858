// SPDX-License-Identifier: Apache-2.0
// Descriptors drawn by a printed seed, each on random calls: the device code, as NVRTC compiled it,
// against the CPU reference. QUANTJIT_TEST_DESCRIPTORS=0 runs all of them.
#include "tests/sim/descriptor_support.hpp"
#include "tests/support/catch.hpp"

#include <cstdio>

namespace quantjit::test {

namespace {

constexpr int kCallsEach = 2;

bool approximate_silu(const Traits& traits, const reference::Target& target) {
  const auto* const group = std::get_if<PerTokenGroupQuant>(&traits);
  // The simulated ex2.approx rounds correctly and the hardware's does not: on sm_90 SiLU outside
  // numerics=exact is compared by value, elsewhere.
  return group != nullptr && group->silu && group->numerics != Numerics::kExact &&
         !target.arch.is_blackwell_or_later();
}

Outcome run(SimDevice& device, const Traits& traits, Random& random, std::string& description) {
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&traits)) {
    return run_group_quant(device, *group, random, description);
  }
  return run_token_quant(device, std::get<PerTokenQuant>(traits), random, description);
}

void compare_all(const char* arch) {
  const std::uint64_t seed = test_seed();
  const std::size_t count = descriptor_count();
  std::printf("%s: %zu descriptors (0 = all), QUANTJIT_TEST_SEED=%llu\n", arch, count,
              static_cast<unsigned long long>(seed));
  SimDevice device(arch);
  Random random(seed);
  const std::vector<Traits> drawn = draw_traits(count, seed);
  std::size_t compared = 0;
  for (const Traits& traits : drawn) {
    for (int call = 0; call < kCallsEach; ++call) {
      std::string description;
      const Outcome outcome = run(device, traits, random, description);
      INFO(description << ", QUANTJIT_TEST_SEED=" << seed);
      if (approximate_silu(traits, device.target())) {
        continue;
      }
      ++compared;
      CHECK(first_difference(outcome.expected_q, outcome.q).empty());
      CHECK(first_difference(outcome.expected_s, outcome.s).empty());
    }
  }
  std::printf("%s: %zu descriptors, %zu calls equal to the reference byte for byte\n", arch,
              drawn.size(), compared);
}

}  // namespace

TEST_CASE("descriptors on a simulated sm_90a give the reference's bytes", "[descriptor]") {
  compare_all("sm_90a");
}

TEST_CASE("descriptors on a simulated sm_100a give the reference's bytes", "[descriptor]") {
  compare_all("sm_100a");
}

}  // namespace quantjit::test
