// SPDX-License-Identifier: Apache-2.0
#include "src/io/problem.hpp"

#include <quantjit/error.hpp>

#include <cstring>
#include <limits>
#include <string>

namespace quantjit::io {

namespace {

constexpr std::byte kPoison{0xA5};
constexpr std::uint32_t kPoisonFloat = 0x7FC00000;
constexpr std::int64_t kLargestBuffer = std::int64_t{1} << 40U;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 36U;  // keeps sums of sizes in range

void require(bool holds, const char* field, std::int64_t value, const std::string& rule) {
  if (!holds) {
    throw InvalidArgument(field, std::to_string(value), rule);
  }
}

/// Product of sizes; refused where a buffer of that many elements would be too large.
std::int64_t checked_product(const char* field, std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    require(size == 0 || product <= kLargestBuffer / size, field, size,
            "no buffer may be larger than 2^40 bytes");
    product *= size;
  }
  return product;
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

const PerTokenGroupQuant* group_traits(const Problem& problem) {
  return std::get_if<PerTokenGroupQuant>(&problem.traits);
}

bool is_masked(const Problem& problem) {
  const auto* group = group_traits(problem);
  return group != nullptr && group->schedule == Schedule::kMasked;
}

std::int64_t input_columns(const Problem& problem) {
  const auto* group = group_traits(problem);
  return problem.hidden * (group != nullptr && group->silu ? 2 : 1);
}

/// View of [E,] rows, columns, with the expert dimension only where there are experts.
TensorView matrix(const Problem& problem, void* data, DType dtype, std::int64_t rows,
                  std::int64_t columns) {
  return is_masked(problem) ? TensorView::contiguous(data, dtype, {problem.experts, rows, columns})
                            : TensorView::contiguous(data, dtype, {rows, columns});
}

/// View of the scales over null, and the number of elements of its storage.
struct ScalePlan {
  TensorView view;
  std::int64_t elements = 0;
};

ScalePlan plan_group_scales(const Problem& problem, const PerTokenGroupQuant& traits) {
  const std::int64_t groups = problem.hidden / traits.group;
  const std::int64_t experts = is_masked(problem) ? problem.experts : 1;
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    const std::int64_t bytes =
        checked_product("tokens", {round_up(problem.tokens, 128), round_up(groups, 4)});
    const std::int64_t all = checked_product("tokens", {experts, bytes});
    return {is_masked(problem) ? TensorView::contiguous(nullptr, DType::kE8M0, {experts, bytes})
                               : TensorView::contiguous(nullptr, DType::kE8M0, {bytes}),
            all};
  }
  const bool packed = traits.scale == ScaleFormat::kUE8M0;
  const std::int64_t columns = packed ? round_up(groups, 4) / 4 : groups;
  DType dtype = packed ? DType::kInt32 : DType::kF32;
  if (traits.scale == ScaleFormat::kE8M0) {
    dtype = DType::kE8M0;
  }
  if (traits.layout == ScaleLayout::kRow) {
    return {matrix(problem, nullptr, dtype, problem.tokens, columns),
            checked_product("tokens", {experts, problem.tokens, columns})};
  }
  const std::int64_t stride = round_up(problem.tokens, 4);
  const std::int64_t all = checked_product("tokens", {experts, stride, columns});
  if (is_masked(problem)) {
    return {TensorView::strided(nullptr, dtype, {experts, problem.tokens, columns},
                                {stride * columns, 1, stride}),
            all};
  }
  return {TensorView::strided(nullptr, dtype, {problem.tokens, columns}, {1, stride}), all};
}

ScalePlan plan_scales(const Problem& problem) {
  if (const auto* traits = group_traits(problem)) {
    return plan_group_scales(problem, *traits);
  }
  const std::int64_t rows = problem.tokens + problem.pad_rows;
  return {TensorView::contiguous(nullptr, DType::kF32, {rows}), rows};
}

void poison(std::vector<std::byte>& bytes, DType dtype) {
  std::fill(bytes.begin(), bytes.end(), kPoison);
  if (dtype != DType::kF32) {
    return;
  }
  for (std::size_t at = 0; at < bytes.size(); at += sizeof kPoisonFloat) {
    std::memcpy(&bytes[at], &kPoisonFloat, sizeof kPoisonFloat);
  }
}

void fill_mask(const Problem& problem, ProblemBuffers& buffers) {
  const std::size_t size = size_in_bytes(problem.mask_dtype);
  buffers.mask.resize(problem.masked_m.size() * size);
  for (std::size_t i = 0; i < problem.masked_m.size(); ++i) {
    const std::int64_t wide = problem.masked_m[i];
    const auto narrow = static_cast<std::int32_t>(wide);
    std::memcpy(
        &buffers.mask[i * size],
        size == sizeof wide ? static_cast<const void*>(&wide) : static_cast<const void*>(&narrow),
        size);
  }
  buffers.mask_view = TensorView::contiguous(buffers.mask.data(), problem.mask_dtype,
                                             {static_cast<std::int64_t>(problem.masked_m.size())});
}

void validate_mask(const Problem& problem) {
  if (!is_masked(problem)) {
    require(problem.experts == 0, "experts", problem.experts,
            "only schedule=masked has experts, and the traits say otherwise");
    require(problem.masked_m.empty(), "masked_m entries",
            static_cast<std::int64_t>(problem.masked_m.size()),
            "only schedule=masked takes masked_m, and the traits say otherwise");
    return;
  }
  require(problem.experts >= 0 && problem.experts <= kLargestSize, "experts", problem.experts,
          "it must be in [0, 2^36]");
  require(static_cast<std::int64_t>(problem.masked_m.size()) == problem.experts, "masked_m entries",
          static_cast<std::int64_t>(problem.masked_m.size()),
          "there must be one for each of " + std::to_string(problem.experts) + " experts");
  if (problem.mask_dtype != DType::kInt32 && problem.mask_dtype != DType::kInt64) {
    throw InvalidArgument("mask_dtype", std::string(to_string(problem.mask_dtype)),
                          "it must be int32 or int64");
  }
  using Narrow = std::numeric_limits<std::int32_t>;
  for (const std::int64_t count : problem.masked_m) {
    require(
        problem.mask_dtype == DType::kInt64 || (count >= Narrow::min() && count <= Narrow::max()),
        "masked_m", count, "mask_dtype=int32 cannot hold it");
  }
}

}  // namespace

void validate(const Problem& problem) {
  quantjit::validate(problem.traits);
  for (const auto& [field, value] :
       {std::pair{"tokens", problem.tokens}, std::pair{"hidden", problem.hidden},
        std::pair{"pad_rows", problem.pad_rows}}) {
    require(value >= 0 && value <= kLargestSize, field, value, "it must be in [0, 2^36]");
  }
  const auto* group = group_traits(problem);
  const std::int64_t multiple = group != nullptr ? group->group : 4;
  require(problem.hidden % multiple == 0, "hidden", problem.hidden,
          "it must be a multiple of " + std::to_string(multiple));
  validate_mask(problem);
  const std::int64_t experts = is_masked(problem) ? problem.experts : 1;
  const std::int64_t rows = problem.tokens + problem.pad_rows;
  checked_product("tokens", {experts, rows, input_columns(problem), 4});
  static_cast<void>(plan_scales(problem));
}

ProblemBuffers make_buffers(const Problem& problem) {
  validate(problem);
  ProblemBuffers buffers;
  const DType in = input_dtype(problem.traits);
  const std::int64_t columns = input_columns(problem);
  buffers.input_view = matrix(problem, nullptr, in, problem.tokens, columns);
  const auto count = static_cast<std::size_t>(buffers.input_view.numel());
  buffers.input.resize(count * size_in_bytes(in));
  reference::generate(problem.kind, in, problem.seed, count, static_cast<std::size_t>(columns),
                      buffers.input.data());
  buffers.input_view.data = buffers.input.data();

  buffers.q_view = matrix(problem, nullptr, output_dtype(problem.traits),
                          problem.tokens + problem.pad_rows, problem.hidden);
  buffers.q.resize(static_cast<std::size_t>(buffers.q_view.numel()));
  poison(buffers.q, buffers.q_view.dtype);
  buffers.q_view.data = buffers.q.data();

  const ScalePlan plan = plan_scales(problem);
  buffers.s.resize(static_cast<std::size_t>(plan.elements) * size_in_bytes(plan.view.dtype));
  poison(buffers.s, plan.view.dtype);
  buffers.s_view = rebased(plan.view, buffers.s.data(), 0);
  if (is_masked(problem)) {
    fill_mask(problem, buffers);
  }
  return buffers;
}

TensorView rebased(const TensorView& view, void* data, std::int32_t device) {
  TensorView moved = view;
  moved.data = data;
  moved.device = device;
  return moved;
}

void run_reference(const Problem& problem, const reference::Target& target,
                   const ProblemBuffers& buffers) {
  if (const auto* group = group_traits(problem)) {
    reference::per_token_group_quant(
        *group, target, {buffers.input_view, buffers.q_view, buffers.s_view, buffers.mask_view});
    return;
  }
  reference::per_token_quant(std::get<PerTokenQuant>(problem.traits), target, buffers.input_view,
                             buffers.q_view, buffers.s_view);
}

}  // namespace quantjit::io
