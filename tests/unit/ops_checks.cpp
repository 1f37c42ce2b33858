// SPDX-License-Identifier: Apache-2.0
// Every rule of the tensor contract. The kernels here have no driver behind them, so anything that
// got past a check and made a CUDA call would crash: what throws InvalidArgument throws before.
#include "src/service/loaded_kernel.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>

#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

namespace {

const driver::DeviceInfo kDevice = [] {
  driver::DeviceInfo info;
  info.ordinal = 1;
  info.sm_count = 132;
  return info;
}();

Kernel fake_kernel(const std::string& text) {
  auto state = std::make_shared<detail::LoadedKernel>();
  auto image = std::make_shared<detail::ImageState>();
  state->traits = parse_descriptor(text).traits;
  image->info.arch = Arch::parse("sm_90a");
  state->image = image;
  state->device = &kDevice;
  return Kernel(state);
}

void* at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

constexpr std::uint64_t kInput = 0x10000000;
constexpr std::uint64_t kQ = 0x20000000;
constexpr std::uint64_t kS = 0x30000000;
constexpr std::uint64_t kMask = 0x40000000;

/// [6, 512] bf16, group 128: everything in order.
GroupQuantArgs flat_args() {
  return {.input = TensorView::contiguous(at(kInput), DType::kBF16, {6, 512}, 1),
          .output_q = TensorView::contiguous(at(kQ), DType::kE4M3, {6, 512}, 1),
          .output_s = TensorView::contiguous(at(kS), DType::kF32, {6, 4}, 1)};
}

GroupQuantArgs masked_args() {
  return {.input = TensorView::contiguous(at(kInput), DType::kBF16, {3, 6, 512}, 1),
          .output_q = TensorView::contiguous(at(kQ), DType::kE4M3, {3, 6, 512}, 1),
          .output_s = TensorView::contiguous(at(kS), DType::kF32, {3, 6, 4}, 1),
          .masked_m = TensorView::contiguous(at(kMask), DType::kInt32, {3}, 1)};
}

struct Violation {
  const char* parameter;
  std::function<void(GroupQuantArgs&)> apply;
};

void expect_refused(const Kernel& kernel, const GroupQuantArgs& good,
                    const std::vector<Violation>& violations) {
  for (const Violation& violation : violations) {
    INFO(violation.parameter);
    GroupQuantArgs args = good;
    violation.apply(args);
    try {
      per_token_group_quant(kernel, args, nullptr);
      FAIL_CHECK("it was taken");
    } catch (const InvalidArgument& error) {
      INFO(error.what());
      CHECK(error.parameter() == violation.parameter);
      CHECK_FALSE(error.rule().empty());
    }
  }
}

}  // namespace

TEST_CASE("per_token_group_quant: each broken rule of a flat call is named", "[ops]") {
  expect_refused(
      fake_kernel("per_token_group_quant"), flat_args(),
      {
          {"input.ndim", [](auto& a) { a.input.ndim = 3; }},
          {"input.device", [](auto& a) { a.input.device = 0; }},
          {"input.dtype", [](auto& a) { a.input.dtype = DType::kF16; }},
          {"input.shape[0]", [](auto& a) { a.input.shape[0] = -1; }},
          {"input.shape[1]", [](auto& a) { a.input.shape[1] = 500; }},
          {"input.strides[0]", [](auto& a) { a.input.strides[0] = 516; }},
          {"input.strides[0]", [](auto& a) { a.input.strides[0] = -512; }},
          {"input.strides[0]",
           [](auto& a) { a.input.strides[0] = std::numeric_limits<std::int64_t>::max() / 2; }},
          {"input.strides[1]", [](auto& a) { a.input.strides[1] = 2; }},
          {"input.data", [](auto& a) { a.input.data = at(kInput + 8); }},
          {"input.data", [](auto& a) { a.input.data = nullptr; }},
          {"output_q.ndim", [](auto& a) { a.output_q.ndim = 1; }},
          {"output_q.device", [](auto& a) { a.output_q.device = 2; }},
          {"output_q.dtype", [](auto& a) { a.output_q.dtype = DType::kInt8; }},
          {"output_q.shape[0]", [](auto& a) { a.output_q.shape[0] = 5; }},
          {"output_q.shape[1]", [](auto& a) { a.output_q.shape[1] = 528; }},
          {"output_q.strides[0]", [](auto& a) { a.output_q.strides[0] = 520; }},
          {"output_q.strides", [](auto& a) { a.output_q.strides[0] = 496; }},
          {"output_q.strides[1]", [](auto& a) { a.output_q.strides[1] = 0; }},
          {"output_q.data", [](auto& a) { a.output_q.data = at(kQ + 4); }},
          {"output_q.data", [](auto& a) { a.output_q.data = at(kInput + 64); }},
          {"output_s.ndim", [](auto& a) { a.output_s.ndim = 3; }},
          {"output_s.device", [](auto& a) { a.output_s.device = 0; }},
          {"output_s.dtype", [](auto& a) { a.output_s.dtype = DType::kInt32; }},
          {"output_s.shape[0]", [](auto& a) { a.output_s.shape[0] = 7; }},
          {"output_s.shape[1]", [](auto& a) { a.output_s.shape[1] = 5; }},
          {"output_s.strides[-1]", [](auto& a) { a.output_s.strides[1] = 8; }},
          {"output_s.strides", [](auto& a) { a.output_s.strides[0] = 2; }},
          {"output_s.data", [](auto& a) { a.output_s.data = at(kS + 2); }},
          {"output_s.data", [](auto& a) { a.output_s.data = at(kInput); }},
          {"output_q.data", [](auto& a) { a.output_s.data = at(kQ + 16); }},
          {"masked_m.ndim",
           [](auto& a) { a.masked_m = TensorView::contiguous(at(kMask), DType::kInt32, {6}, 1); }},
      });
}

TEST_CASE("per_token_group_quant: each broken rule of a masked call is named", "[ops]") {
  expect_refused(fake_kernel("per_token_group_quant:schedule=masked"), masked_args(),
                 {
                     {"input.ndim", [](auto& a) { a.input.ndim = 2; }},
                     {"input.strides[0]", [](auto& a) { a.input.strides[0] += 4; }},
                     {"output_q.shape[0]", [](auto& a) { a.output_q.shape[0] = 4; }},
                     {"output_q.shape[2]", [](auto& a) { a.output_q.shape[2] = 384; }},
                     {"output_s.shape[0]", [](auto& a) { a.output_s.shape[0] = 2; }},
                     {"output_q.strides", [](auto& a) { a.output_q.strides[0] = 512; }},
                     {"masked_m.ndim", [](auto& a) { a.masked_m = {}; }},
                     {"masked_m.dtype", [](auto& a) { a.masked_m.dtype = DType::kF32; }},
                     {"masked_m.shape[0]", [](auto& a) { a.masked_m.shape[0] = 2; }},
                     {"masked_m.strides[0]", [](auto& a) { a.masked_m.strides[0] = 2; }},
                     {"masked_m.device", [](auto& a) { a.masked_m.device = 0; }},
                     {"masked_m.data", [](auto& a) { a.masked_m.data = at(kMask + 2); }},
                     {"output_q.data", [](auto& a) { a.masked_m.data = at(kQ + 16); }},
                 });
}

TEST_CASE(
    "per_token_group_quant: column scales need token stride 1, the zero fill its exact columns",
    "[ops]") {
  GroupQuantArgs good = flat_args();
  good.output_s = TensorView::strided(at(kS), DType::kInt32, {6, 1}, {1, 8}, 1);
  expect_refused(fake_kernel("per_token_group_quant:scale=ue8m0,layout=col"), good,
                 {{"output_s.strides[-2]", [](auto& a) { a.output_s.strides[0] = 4; }}});
  expect_refused(
      fake_kernel("per_token_group_quant:scale=ue8m0,layout=col,numerics=vllm,fill=zero"), good,
      {{"output_s.strides[1]", [](auto& a) { a.output_s.strides[1] = 12; }}});
}

TEST_CASE("per_token_group_quant: SiLU needs both halves", "[ops]") {
  GroupQuantArgs good = flat_args();
  good.input = TensorView::contiguous(at(kInput), DType::kBF16, {6, 1024}, 1);
  expect_refused(fake_kernel("per_token_group_quant:silu=true"), good,
                 {{"input.shape[1]", [](auto& a) { a.input.shape[1] = 1023; }},
                  {"input.shape[1]", [](auto& a) { a.input.shape[1] = 1024 + 128; }},
                  {"output_q.shape[1]", [](auto& a) { a.output_q.shape[1] = 1024; }}});
}

TEST_CASE("per_token_group_quant: swizzled scales are whole tiles", "[ops]") {
  GroupQuantArgs good = flat_args();
  good.output_s = TensorView::contiguous(at(kS), DType::kE8M0, {4 * 512}, 1);
  expect_refused(
      fake_kernel("per_token_group_quant:group=32,scale=e8m0,layout=swizzle128x4,numerics=exact"),
      good,
      {{"output_s.shape[0]", [](auto& a) { a.output_s.shape[0] = 4 * 512 - 1; }},
       {"output_s.ndim", [](auto& a) { a.output_s.ndim = 2; }},
       {"output_s.data", [](auto& a) { a.output_s.data = at(kS + 4); }},
       {"output_s.dtype", [](auto& a) { a.output_s.dtype = DType::kInt32; }}});
}

TEST_CASE("per_token_group_quant: empty work returns without a launch, after the checks", "[ops]") {
  const Kernel kernel = fake_kernel("per_token_group_quant");
  GroupQuantArgs args = flat_args();
  args.input.shape[0] = args.output_q.shape[0] = args.output_s.shape[0] = 0;
  CHECK_NOTHROW(per_token_group_quant(kernel, args, nullptr));
  args.input.data = args.output_q.data = args.output_s.data = nullptr;
  CHECK_NOTHROW(per_token_group_quant(kernel, args, nullptr));
  args.output_s.dtype = DType::kInt32;
  CHECK_THROWS_AS(per_token_group_quant(kernel, args, nullptr), InvalidArgument);

  GroupQuantArgs masked = masked_args();
  masked.input.shape[0] = masked.output_q.shape[0] = masked.output_s.shape[0] =
      masked.masked_m.shape[0] = 0;
  CHECK_NOTHROW(
      per_token_group_quant(fake_kernel("per_token_group_quant:schedule=masked"), masked, nullptr));

  GroupQuantArgs columns = flat_args();
  columns.input.shape[1] = columns.output_q.shape[1] = columns.output_s.shape[1] = 0;
  CHECK_NOTHROW(per_token_group_quant(kernel, columns, nullptr));
}

TEST_CASE("per_token_group_quant: outputs made for an input without columns or rows are taken",
          "[ops]") {
  const std::vector<std::string> descriptors = {
      "per_token_group_quant", "per_token_group_quant:scale=ue8m0,layout=col,numerics=vllm",
      "per_token_group_quant:scale=ue8m0,layout=col",
      "per_token_group_quant:group=32,scale=e8m0,layout=swizzle128x4,numerics=exact",
      "per_token_group_quant:silu=true"};
  for (const std::string& text : descriptors) {
    for (const std::int64_t tokens : {0, 1, 6}) {
      for (const std::int64_t columns : {0, tokens == 0 ? 512 : 0}) {
        INFO(text << " for [" << tokens << ", " << columns << "]");
        const Kernel kernel = fake_kernel(text);
        const TensorView input =
            TensorView::contiguous(nullptr, DType::kBF16, {tokens, columns}, 1);
        const OutputSpecs specs = output_specs(kernel.traits(), input);
        CHECK_NOTHROW(per_token_group_quant(kernel,
                                            {.input = input,
                                             .output_q = specs.q.over(nullptr, 1),
                                             .output_s = specs.s.over(nullptr, 1)},
                                            nullptr));
      }
    }
  }
}

TEST_CASE("per_token_group_quant: a kernel of another operation or none at all is refused",
          "[ops]") {
  CHECK_THROWS_WITH(per_token_group_quant(Kernel{}, flat_args(), nullptr),
                    ContainsSubstring("KernelService::get"));
  CHECK_THROWS_WITH(per_token_group_quant(fake_kernel("per_token_quant"), flat_args(), nullptr),
                    ContainsSubstring("per_token_group_quant"));
}

TEST_CASE("per_token_quant: each broken rule is named", "[ops]") {
  const Kernel kernel = fake_kernel("per_token_quant");
  const TokenQuantArgs good{.input = TensorView::contiguous(at(kInput), DType::kBF16, {6, 1076}, 1),
                            .output_q = TensorView::contiguous(at(kQ), DType::kE4M3, {8, 1076}, 1),
                            .output_s = TensorView::contiguous(at(kS), DType::kF32, {8, 1}, 1)};
  const std::vector<std::pair<const char*, std::function<void(TokenQuantArgs&)>>> violations = {
      {"input.ndim", [](auto& a) { a.input.ndim = 1; }},
      {"input.device", [](auto& a) { a.input.device = 0; }},
      {"input.dtype", [](auto& a) { a.input.dtype = DType::kF32; }},
      {"input.shape[0]", [](auto& a) { a.input.shape[0] = 0; }},
      {"input.shape[1]", [](auto& a) { a.input.shape[1] = 0; }},
      {"input.shape[1]", [](auto& a) { a.input.shape[1] = 1075; }},
      {"input.strides[0]", [](auto& a) { a.input.strides[0] = 2048; }},
      {"input.strides[1]", [](auto& a) { a.input.strides[1] = 2; }},
      {"input.data", [](auto& a) { a.input.data = at(kInput + 4); }},
      {"output_q.dtype", [](auto& a) { a.output_q.dtype = DType::kInt8; }},
      {"output_q.shape[0]", [](auto& a) { a.output_q.shape[0] = 5; }},
      {"output_q.shape[1]", [](auto& a) { a.output_q.shape[1] = 1080; }},
      {"output_q.strides[0]", [](auto& a) { a.output_q.strides[0] = 1080; }},
      {"output_q.data", [](auto& a) { a.output_q.data = at(kQ + 2); }},
      {"output_q.data", [](auto& a) { a.output_q.data = at(kInput + 16); }},
      {"output_s.ndim", [](auto& a) { a.output_s.ndim = 3; }},
      {"output_s.dtype", [](auto& a) { a.output_s.dtype = DType::kInt32; }},
      {"output_s.shape[0]", [](auto& a) { a.output_s.shape[0] = 5; }},
      {"output_s.shape[1]", [](auto& a) { a.output_s.shape[1] = 2; }},
      {"output_s.strides[0]", [](auto& a) { a.output_s.strides[0] = 2; }},
      {"output_s.data", [](auto& a) { a.output_s.data = at(kS + 1); }},
      {"output_s.data", [](auto& a) { a.output_s.data = at(kInput); }},
  };
  for (const auto& [parameter, apply] : violations) {
    INFO(parameter);
    TokenQuantArgs args = good;
    apply(args);
    try {
      per_token_quant(kernel, args, nullptr);
      FAIL_CHECK("it was taken");
    } catch (const InvalidArgument& error) {
      INFO(error.what());
      CHECK(error.parameter() == parameter);
    }
  }
}
