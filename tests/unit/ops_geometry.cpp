// SPDX-License-Identifier: Apache-2.0
// Launch geometry: every row and group is visited once, and nothing leaves what a launch can
// express.
#include "src/ops/geometry.hpp"
#include "src/service/geometry_table.hpp"
#include "src/service/tuned_geometry.hpp"
#include "src/traits/specialization.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace quantjit::test {

namespace {

using ops::DeviceFacts;
using ops::GroupQuantProblem;

constexpr std::int64_t kMaxX = 0x7FFFFFFF;

DeviceFacts h200() {
  return {Arch{9, 0, 'a'}, 132};
}

DeviceFacts b200() {
  return {Arch{10, 0, 'a'}, 148};
}

void* at(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

GroupQuantProblem dense(std::int64_t tokens, std::int64_t hidden, std::int64_t experts = 1) {
  GroupQuantProblem problem;
  problem.input = at(1 << 20);
  problem.output_q = at(1 << 21);
  problem.output_s = at(1 << 22);
  problem.num_experts = experts;
  problem.num_tokens = tokens;
  problem.hidden_size = hidden;
  problem.q_rows = tokens;
  problem.input_token_stride = hidden;
  problem.input_expert_stride = experts > 1 ? tokens * hidden : 0;
  problem.q_token_stride = hidden;
  problem.q_expert_stride = problem.input_expert_stride;
  problem.s_token_stride = hidden / 128;
  problem.s_group_stride = 1;
  return problem;
}

std::uint32_t device_quotient(std::uint32_t n, const device::Divisor& by) {
  const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * by.multiplier) >> 32);
  return (high + n) >> by.shift;
}

device::Divisor divisor_of(std::int64_t chunks) {
  return ops::plan(PerTokenGroupQuant{.group = 16}, dense(1, chunks * 16), h200())
      .params.row_chunks;
}

void check_quotients(std::uint32_t divisor, std::mt19937& engine) {
  const device::Divisor by = divisor_of(divisor);
  REQUIRE(by.value == divisor);
  std::vector<std::uint32_t> dividends{0, 1, divisor - 1, divisor, divisor + 1, 0x7FFFFFFF};
  for (int i = 0; i < 50; ++i) {
    dividends.push_back(static_cast<std::uint32_t>(engine() >> 1));
    dividends.push_back(static_cast<std::uint32_t>(engine() % 0x8000 * divisor) & 0x7FFFFFFF);
  }
  for (const std::uint32_t n : dividends) {
    INFO(n << " / " << divisor);
    CHECK(device_quotient(n, by) == n / divisor);
  }
}

void check_limits(const ops::LaunchShape& shape) {
  CHECK(shape.grid.x >= 1);
  CHECK(std::int64_t{shape.grid.x} <= kMaxX);
  CHECK(shape.grid.y >= 1);
  CHECK(shape.grid.y <= 65535);
  CHECK(shape.grid.z >= 1);
  CHECK(shape.grid.z <= 65535);
  CHECK(shape.block.x % 32 == 0);
  CHECK(shape.block.x * shape.block.y <= 1024);
  CHECK(shape.shared_bytes <= 47 * 1024);
}

}  // namespace

TEST_CASE("geometry: the launch-time divisor is exact for every dividend below 2^31", "[ops]") {
  std::mt19937 engine(20260829);
  for (std::uint32_t divisor = 1; divisor <= 600; ++divisor) {
    check_quotients(divisor, engine);
  }
  for (int i = 0; i < 200; ++i) {
    check_quotients(static_cast<std::uint32_t>(engine() % (0x7FFF0000 / 128) + 1), engine);
  }
}

TEST_CASE("geometry: slabs of a flat launch cover all rows once and stay below 2^31 chunks",
          "[ops]") {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 2000; ++i) {
    const auto tokens = static_cast<std::int64_t>(engine() >> (24 + engine() % 40)) + 1;
    const auto hidden = static_cast<std::int64_t>(engine() % 200 + 1) * 128;
    DeviceFacts device = i % 2 == 0 ? h200() : b200();
    device.max_slab_chunks = i % 3 == 0 ? ops::kMaxSlabChunks : 5000;
    const GroupQuantProblem problem = dense(tokens, hidden);
    if ((static_cast<double>(tokens) * static_cast<double>(hidden) / 16) >
        static_cast<double>(device.max_slab_chunks) * 60000 / 2) {
      continue;  // beyond the grid; covered below
    }
    INFO(tokens << " x " << hidden << ", slabs of " << device.max_slab_chunks);
    const ops::GroupQuantLaunch launch = ops::plan(PerTokenGroupQuant{}, problem, device);
    check_limits(launch.shape);
    const device::GroupQuantParams& params = launch.params;
    const std::int64_t cpr = params.row_chunks.value;
    CHECK(params.slab_chunks == params.slab_rows * cpr);
    CHECK(params.slab_chunks <= std::max<std::int64_t>(device.max_slab_chunks, cpr));
    CHECK(std::int64_t{launch.shape.grid.y - 1} * params.slab_rows * cpr +
              params.last_slab_chunks ==
          tokens * cpr);
    CHECK(std::int64_t{launch.shape.grid.x} * launch.shape.block.x >= params.slab_chunks);
    CHECK(std::int64_t{launch.shape.grid.x} * launch.shape.block.x < std::int64_t{1} << 31);
    CHECK(params.last_slab_chunks >= 1);
  }
}

TEST_CASE("geometry: sizes beyond what a launch can express are refused, not cut", "[ops]") {
  DeviceFacts device = h200();
  device.max_slab_chunks = 8;
  CHECK_THROWS_AS(ops::plan(PerTokenGroupQuant{}, dense(1 << 20, 128), device), InvalidArgument);
  CHECK_THROWS_AS(ops::plan(PerTokenGroupQuant{}, dense(1, std::int64_t{1} << 34), h200()),
                  InvalidArgument);
}

TEST_CASE("geometry: a masked launch has a slice for every 32 experts, up to 2^31 - 1 of them",
          "[ops]") {
  PerTokenGroupQuant traits;
  traits.schedule = Schedule::kMasked;
  for (const std::int64_t experts :
       {1LL, 31LL, 32LL, 33LL, 96LL, 65535LL * 32, 65535LL * 32 + 1, 0x7FFFFFFFLL}) {
    for (const std::int64_t expected_m : {0LL, -1LL, 1LL, 4LL, 1000000LL}) {
      GroupQuantProblem problem = dense(512, 2048, experts);
      problem.masked_m = at(1 << 23);
      problem.expected_m = expected_m;
      INFO(experts << " experts, expected_m " << expected_m);
      const ops::GroupQuantLaunch launch = ops::plan(traits, problem, h200());
      check_limits(launch.shape);
      const std::int64_t slices =
          std::int64_t{launch.shape.grid.z - 1} * launch.params.z_slices + launch.shape.grid.y;
      CHECK(slices * 32 >= experts);
      CHECK((launch.shape.grid.z == 1 || launch.params.z_rows == 0));
    }
  }
}

TEST_CASE("geometry: masked rows beyond 2^31 chunks are cut into layers of the grid", "[ops]") {
  PerTokenGroupQuant traits;
  traits.schedule = Schedule::kMasked;
  GroupQuantProblem problem = dense(std::int64_t{1} << 26, 7168, 2);
  problem.masked_m = at(1 << 23);
  const ops::GroupQuantLaunch launch = ops::plan(traits, problem, h200());
  check_limits(launch.shape);
  CHECK(launch.params.z_rows == launch.params.slab_rows);
  CHECK(launch.params.z_slices == 0);
  CHECK(std::int64_t{launch.shape.grid.z} * launch.params.z_rows >= problem.num_tokens);
  CHECK(std::int64_t{launch.params.slab_rows} * launch.params.row_chunks.value < std::int64_t{1}
                                                                                     << 31);
}

TEST_CASE("geometry: empty work has no launch", "[ops]") {
  CHECK(ops::plan(PerTokenGroupQuant{}, dense(0, 128), h200()).shape.empty);
  CHECK(ops::plan(PerTokenGroupQuant{}, dense(4, 0), h200()).shape.empty);
  PerTokenGroupQuant masked;
  masked.schedule = Schedule::kMasked;
  CHECK(ops::plan(masked, dense(4, 128, 0), h200()).shape.empty);
  CHECK_FALSE(ops::plan(PerTokenGroupQuant{}, dense(1, 128), h200()).shape.empty);
}

TEST_CASE("geometry: 32 elements a thread need SM100, size and alignment to 32 bytes", "[ops]") {
  const auto entry = [](const GroupQuantProblem& problem, const DeviceFacts& device) {
    return static_cast<GroupEntry>(ops::plan(PerTokenGroupQuant{}, problem, device).shape.entry);
  };
  GroupQuantProblem problem = dense(16384, 7168);
  CHECK(entry(problem, b200()) == GroupEntry::kLanes32);
  CHECK(entry(problem, h200()) == GroupEntry::kLanes16);
  CHECK(entry(dense(4, 7168), b200()) == GroupEntry::kLanes16);
  problem.input = at((1 << 20) + 16);
  CHECK(entry(problem, b200()) == GroupEntry::kLanes16);
  problem = dense(16384, 7168);
  problem.q_token_stride += 16;
  CHECK(entry(problem, b200()) == GroupEntry::kLanes16);
}

TEST_CASE("geometry: per_token_quant takes the widest vectors that rows and addresses allow",
          "[ops]") {
  const auto elements = [](DType in, std::int64_t hidden, std::uintptr_t address,
                           const DeviceFacts& device) {
    PerTokenQuant traits;
    traits.in = in;
    const ops::TokenQuantLaunch launch =
        ops::plan(traits, {at(address), at(1 << 21), nullptr, 3, hidden, hidden, hidden}, device);
    check_limits(launch.shape);
    const unsigned wide = wide_token_elements(traits, device.arch);
    const std::int64_t taken =
        launch.shape.entry == static_cast<unsigned>(TokenEntry::kWide) ? wide : 4;
    CHECK(launch.params.row_vectors * taken == hidden);
    return taken;
  };
  CHECK(elements(DType::kBF16, 4, 1 << 20, h200()) == 4);
  CHECK(elements(DType::kBF16, 1076, 1 << 20, h200()) == 4);
  CHECK(elements(DType::kBF16, 1368, 1 << 20, h200()) == 8);
  CHECK(elements(DType::kBF16, 1368, 1 << 20, b200()) == 4);
  CHECK(elements(DType::kBF16, 1368, (1 << 20) + 8, h200()) == 4);
  CHECK(elements(DType::kBF16, 4096, 1 << 20, h200()) == 8);
  CHECK(elements(DType::kBF16, 4096, 1 << 20, b200()) == 16);
  CHECK(elements(DType::kBF16, 4096, (1 << 20) + 16, b200()) == 16);
  CHECK(elements(DType::kF32, 4096, 1 << 20, h200()) == 4);
  CHECK(elements(DType::kF32, 4096, 1 << 20, b200()) == 8);
  CHECK(elements(DType::kF32, 1 << 20, 1 << 20, b200()) == 8);
}

TEST_CASE("geometry: legacy zero rows switch at 16 tokens a multiprocessor", "[ops]") {
  const auto guarded = [](ZeroRows rows, std::int64_t tokens) {
    PerTokenQuant traits;
    traits.zero_rows = rows;
    const auto launch =
        ops::plan(traits, {at(1 << 20), at(1 << 21), nullptr, tokens, 512, 512, 512}, h200());
    return (launch.params.flags & device::kZeroRowGuard) != 0;
  };
  CHECK_FALSE(guarded(ZeroRows::kLegacy, 16 * 132 - 1));
  CHECK(guarded(ZeroRows::kLegacy, 16 * 132));
  CHECK(guarded(ZeroRows::kZero, 1));
}

TEST_CASE("geometry: the tables that ship are valid and name every kernel", "[ops]") {
  for (const char* const name : {"sm_90a", "sm_100a", "sm_103a", "sm_120a"}) {
    const std::vector<GeometryRule> table = default_geometry(Arch::parse(name));
    CHECK_NOTHROW(validate(table));
    for (std::size_t i = 0; i < kGeometryKernels; ++i) {
      const auto kernel = static_cast<GeometryKernel>(i);
      CHECK(parse_geometry_kernel(to_string(kernel)) == kernel);
      CHECK_FALSE(rules_of(table, kernel).empty());
      CHECK(rules_of(table, kernel).size() ==
            service::default_rules(kernel, Arch::parse(name)).size());
    }
  }
  CHECK_THROWS_AS(parse_geometry_kernel("wide"), InvalidArgument);
}

TEST_CASE("geometry: a table that a kernel could not be launched with is refused", "[ops]") {
  constexpr GeometryRule kGood{GeometryKernel::kFlat, kNoSizeLimit, 128, 0, 16, 0, true};
  const auto refused = [](GeometryRule rule) {
    CHECK_THROWS_AS(validate(std::span(&rule, 1)), InvalidArgument);
  };
  CHECK_NOTHROW(validate(std::span(&kGood, 1)));
  CHECK_NOTHROW(validate(std::span<const GeometryRule>()));
  const auto changed = [&](auto member, auto value) {
    GeometryRule rule = kGood;
    rule.*member = value;
    return rule;
  };
  for (const std::uint32_t threads : {0U, 16U, 33U, 96U, 1024U}) {
    refused(changed(&GeometryRule::threads, threads));
  }
  refused(changed(&GeometryRule::at_most, std::int64_t{4096}));
  refused(changed(&GeometryRule::elements, 8U));
  refused(changed(&GeometryRule::blocks_per_sm, 1U));
  refused(changed(&GeometryRule::block_rows, 1U));
  refused({GeometryKernel::kMasked, kNoSizeLimit, 512, 8, 0, 0, false});
  refused({GeometryKernel::kMasked, kNoSizeLimit, 128, 0, 0, 0, false});
  refused({GeometryKernel::kMasked, kNoSizeLimit, 128, 8, 0, 0, true});
  refused({GeometryKernel::kRows, kNoSizeLimit, 512, 0, 0, 17, true});
  const GeometryRule twice[] = {kGood, kGood};
  CHECK_THROWS_AS(validate(twice), InvalidArgument);
}

TEST_CASE("geometry: a table of one's own is what a launch takes", "[ops]") {
  PerTokenGroupQuant traits;
  DeviceFacts device = h200();
  const auto threads = [&](std::int64_t tokens) {
    return ops::plan(traits, dense(tokens, 7168), device).shape.block.x;
  };
  CHECK(threads(1) == 128);
  CHECK(threads(16384) == 512);
  const GeometryRule rules[] = {{GeometryKernel::kFlat, 1000, 64, 0, 16, 0, true},
                                {GeometryKernel::kFlat, kNoSizeLimit, 256, 0, 16, 0, false}};
  device.rules = rules;
  CHECK(threads(1) == 64);
  CHECK(threads(9) == 64);  // 9 rows of 14,336 bytes are 977 bytes a multiprocessor
  CHECK(threads(10) == 256);
  CHECK(threads(16384) == 256);
}

TEST_CASE("geometry: a tuned table survives its text, and a damaged one is none", "[service]") {
  const std::vector<GeometryRule> table = default_geometry(Arch{9, 0, 'a'});
  const std::string text = service::to_text(table);
  REQUIRE(service::from_text(text));
  CHECK(*service::from_text(text) == table);
  for (const std::string& bad :
       {std::string(), std::string("[1]"), std::string("{}["), text.substr(0, text.size() / 2),
        std::string(R"([{"kernel":"flat","at_most":1,"threads":128}])")}) {
    CHECK_FALSE(service::from_text(bad));
  }
  const service::GpuModel model{Arch{9, 0, 'a'}, "NVIDIA H200", 132};
  service::GpuModel other = model;
  other.sm_count = 114;
  CHECK(service::geometry_key_text(model) != service::geometry_key_text(other));
  CHECK(service::to_entry(model, table).key.valid());
}

TEST_CASE("specialization: at most three entry points, one for each geometry entry", "[traits]") {
  for (const char* name : {"sm_90a", "sm_100a", "sm_100f", "sm_120a"}) {
    const Arch arch = Arch::parse(name);
    for (const Traits& traits : enumerate_traits()) {
      const Specialization one =
          specialize(traits, resolve_math({traits, MathMode::kAuto}, arch), arch);
      REQUIRE(!one.name_expressions.empty());
      REQUIRE(one.name_expressions.size() <= 3);
      if (const auto* const token = std::get_if<PerTokenQuant>(&traits)) {
        REQUIRE(one.name_expressions.size() == (wide_token_elements(*token, arch) != 0 ? 2U : 1U));
      }
    }
  }
}

}  // namespace quantjit::test
