// SPDX-License-Identifier: Apache-2.0
#include "src/ops/geometry.hpp"

#include "src/service/geometry_table.hpp"
#include "src/traits/specialization.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace quantjit::ops {

namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMaxGridX = 0x7FFFFFFF;
constexpr std::int64_t kMaxGridYZ = 65535;
constexpr std::int64_t kTileTokens = 128;  // of swizzled scales
constexpr std::int64_t kTileBytes = 512;
constexpr std::int64_t kPack = 4;           // groups a word
constexpr std::int64_t kSliceExperts = 32;  // a lane each

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

std::uint32_t narrow(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

[[noreturn]] void refuse_size(const char* what, std::int64_t value, std::int64_t limit) {
  throw InvalidArgument(what, std::to_string(value),
                        "a launch can express at most " + std::to_string(limit));
}

void require_at_most(const char* what, std::int64_t value, std::int64_t limit) {
  if (value > limit) [[unlikely]] {
    refuse_size(what, value, limit);
  }
}

/// The rule of the device's table, or of the one that ships, for a problem of this size.
const GeometryRule& rule_for(GeometryKernel kernel, const DeviceFacts& device, std::int64_t size) {
  const std::span<const GeometryRule> rules =
      device.rules.empty() ? service::default_rules(kernel, device.arch) : device.rules;
  return service::find_rule(rules, size, std::max(device.sm_count, 1));
}

std::int64_t multiprocessors(const DeviceFacts& device) {
  return std::max(device.sm_count, 1);
}

/// Round-up division by a power of two.
std::int64_t ceil_div_pow2(std::int64_t value, std::uint32_t power) {
  return (value + power - 1) >> std::countr_zero(power);
}

/// Round-up division by an invariant: exact for dividends below 2^31.
device::Divisor make_divisor(std::uint32_t value) {
  const auto shift = static_cast<std::uint32_t>(std::bit_width(value - 1));
  const std::uint64_t power = std::uint64_t{1} << shift;
  const std::uint64_t multiplier = ((power - value) << 32) / value + 1;
  return {value, static_cast<std::uint32_t>(multiplier), shift};
}

/// Whether all of these bytes are multiples of `alignment`.
template <typename... Bytes>
bool all_aligned(std::int64_t alignment, Bytes... bytes) {
  return (... && (bytes % alignment == 0));
}

std::int64_t address_of(const void* pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// Strides of a group problem in bytes, as far as the choice of an entry point needs them.
struct GroupBytes {
  std::int64_t input_token = 0;
  std::int64_t input_expert = 0;
  std::int64_t up_offset = 0;
  bool input_aligned32 = false;
  bool q_aligned32 = false;
};

GroupBytes byte_strides(const PerTokenGroupQuant& traits, const GroupQuantProblem& problem) {
  const auto size = static_cast<std::int64_t>(size_in_bytes(traits.in));
  GroupBytes bytes;
  bytes.input_token = problem.input_token_stride * size;
  bytes.input_expert = problem.input_expert_stride * size;
  bytes.up_offset = traits.silu ? problem.hidden_size * size : 0;
  bytes.input_aligned32 = all_aligned(32, address_of(problem.input), bytes.input_token,
                                      bytes.input_expert, bytes.up_offset);
  bytes.q_aligned32 = all_aligned(32, address_of(problem.output_q), problem.q_token_stride,
                                  problem.q_expert_stride);
  return bytes;
}

void set_scale_strides(const PerTokenGroupQuant& traits, const GroupQuantProblem& problem,
                       device::GroupQuantParams& params) {
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    params.s_group_stride = kTileBytes;
    params.s_token_stride = ceil_div(params.num_groups, kPack) * kTileBytes;  // a row of tiles
    params.s_expert_stride = problem.s_expert_stride;
    return;
  }
  const std::int64_t size = traits.scale == ScaleFormat::kE8M0 ? 1 : 4;
  params.s_group_stride = problem.s_group_stride * size;
  params.s_token_stride = problem.s_token_stride * size;
  params.s_expert_stride = problem.s_expert_stride * size;
}

/// Rows that a flat kernel visits beyond num_tokens.
std::int64_t pad_rows(const PerTokenGroupQuant& traits, const GroupQuantProblem& problem,
                      device::GroupQuantParams& params) {
  const std::int64_t tokens = problem.num_tokens;
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    return round_up(tokens, kTileTokens) - tokens;
  }
  if (traits.fill != Fill::kZero) {
    return 0;
  }
  const std::int64_t padded = round_up(tokens, kPack);
  params.q_fill_end = std::clamp(problem.q_rows, tokens, padded);
  // A column that is shorter than its aligned size has no more room than its stride.
  params.s_fill_rows = narrow(std::clamp(problem.s_group_stride, tokens, padded) - tokens);
  return padded - tokens;
}

device::GroupQuantParams common_params(const PerTokenGroupQuant& traits,
                                       const GroupQuantProblem& problem, const GroupBytes& bytes) {
  device::GroupQuantParams params{};
  params.input = problem.input;
  params.output_q = problem.output_q;
  params.output_s = problem.output_s;
  params.masked_m = problem.masked_m;
  params.input_token_stride = bytes.input_token;
  params.input_expert_stride = bytes.input_expert;
  params.input_up_offset = bytes.up_offset;
  params.q_token_stride = problem.q_token_stride;
  params.q_expert_stride = problem.q_expert_stride;
  params.num_tokens = problem.num_tokens;
  params.num_groups = narrow(problem.hidden_size >> std::countr_zero(traits.group));
  params.num_experts = narrow(problem.num_experts);
  params.flags = (bytes.input_aligned32 ? device::kInputAligned32 : 0U) |
                 (problem.masked_m_is_int64 ? device::kMaskIs64Bit : 0U);
  set_scale_strides(traits, problem, params);
  return params;
}

/// Rows a slab, given chunks a row. Swizzled tiles are not cut in two.
std::int64_t slab_rows(const PerTokenGroupQuant& traits, std::int64_t rows, std::int64_t row_chunks,
                       const DeviceFacts& device) {
  if (rows * row_chunks <= device.max_slab_chunks) [[likely]] {
    return rows;
  }
  std::int64_t limit = std::max<std::int64_t>(device.max_slab_chunks / row_chunks, 1);
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    limit = std::max(limit / kTileTokens, std::int64_t{1}) * kTileTokens;
  }
  return std::min(rows, limit);
}

GroupQuantLaunch plan_flat(const PerTokenGroupQuant& traits, const GroupQuantProblem& problem,
                           const DeviceFacts& device) {
  const GroupBytes bytes = byte_strides(traits, problem);
  GroupQuantLaunch launch;
  device::GroupQuantParams& params = launch.params;
  params = common_params(traits, problem, bytes);
  const std::int64_t rows = problem.num_tokens + pad_rows(traits, problem, params);

  const std::int64_t row_bytes = problem.hidden_size * (traits.silu ? 2 : 1) *
                                 static_cast<std::int64_t>(size_in_bytes(traits.in));
  const GeometryRule& rule =
      rule_for(service::geometry_kernel(traits), device, problem.num_tokens * row_bytes);
  params.flags |= rule.prefetch ? device::kPrefetchInput : 0U;
  const bool wide = rule.elements == 32 && has_wide_entry(traits, device.arch) &&
                    bytes.input_aligned32 && bytes.q_aligned32;
  launch.shape.entry = static_cast<unsigned>(wide ? GroupEntry::kLanes32 : GroupEntry::kLanes16);

  const std::int64_t row_chunks = problem.hidden_size / (wide ? 32 : 16);
  const std::int64_t slab = slab_rows(traits, rows, row_chunks, device);
  const std::int64_t slabs = slab == rows ? 1 : ceil_div(rows, slab);
  require_at_most("num_tokens * hidden_size / 2^35", slabs, kMaxGridYZ);
  params.row_chunks = make_divisor(narrow(row_chunks));
  params.slab_rows = narrow(slab);
  params.slab_chunks = narrow(slab * row_chunks);
  params.last_slab_chunks = narrow((rows - (slabs - 1) * slab) * row_chunks);
  launch.shape.block.x = rule.threads;
  launch.shape.grid = {narrow(ceil_div_pow2(slab * row_chunks, rule.threads)), narrow(slabs), 1};
  return launch;
}

GroupQuantLaunch plan_masked(const PerTokenGroupQuant& traits, const GroupQuantProblem& problem,
                             const DeviceFacts& device) {
  GroupQuantLaunch launch;
  device::GroupQuantParams& params = launch.params;
  params = common_params(traits, problem, byte_strides(traits, problem));
  const std::int64_t row_chunks = problem.hidden_size / 16;
  const std::int64_t slab = slab_rows(traits, problem.num_tokens, row_chunks, device);
  const std::int64_t slabs = ceil_div(problem.num_tokens, slab);
  require_at_most("num_tokens * hidden_size / 2^35", slabs, kMaxGridYZ);
  params.row_chunks = make_divisor(narrow(row_chunks));
  params.slab_rows = narrow(slab);

  // Slices of 32 experts take the grid's second dimension, and layers of it where they are too
  // many; slabs take the third. Both at once would need more memory than any device has.
  const std::int64_t slices = ceil_div(problem.num_experts, kSliceExperts);
  const std::int64_t grid_y = std::min(slices, kMaxGridYZ);
  const std::int64_t layers = ceil_div(slices, grid_y);
  if (slabs > 1 && layers > 1) [[unlikely]] {
    refuse_size("num_experts", problem.num_experts, kMaxGridYZ * kSliceExperts);
  }
  params.z_rows = slabs > 1 ? params.slab_rows : 0;
  params.z_slices = narrow(layers > 1 ? grid_y : 0);

  // The hint only sizes the grid: warps take as many units as there turn out to be. The slices
  // share what the device holds at once, but each has at least two blocks a multiprocessor: one may
  // get all the work.
  const std::int64_t expected = problem.expected_m > 0
                                    ? std::min(problem.expected_m, problem.num_tokens)
                                    : problem.num_tokens;
  const std::int64_t expert_units = ceil_div(std::min(expected, slab) * row_chunks, kWarp);
  const std::int64_t units = expert_units * std::min(problem.num_experts, kSliceExperts);
  const std::int64_t sms = multiprocessors(device);
  const GeometryRule& rule = rule_for(service::geometry_kernel(traits), device, units);
  const std::int64_t blocks = ceil_div(units * kWarp, rule.threads);
  launch.shape.block.x = rule.threads;
  const std::int64_t resident =
      std::max(sms * rule.blocks_per_sm / std::min(grid_y, kMaxGridYZ), sms * 2);
  launch.shape.grid = {narrow(std::min(blocks, resident)), narrow(grid_y),
                       narrow(std::max(layers, slabs))};
  return launch;
}

/// Elements that a thread of per_token_quant loads at once: the most that rows and addresses allow.
std::int64_t token_elements(const PerTokenQuant& traits, const TokenQuantProblem& problem,
                            const DeviceFacts& device) {
  const auto size = static_cast<std::int64_t>(size_in_bytes(traits.in));
  const std::int64_t wide = wide_token_elements(traits, device.arch);
  // 32 bytes are loaded in two halves where they lie on 16.
  if (wide != 0 && all_aligned(16, address_of(problem.input), problem.input_token_stride * size) &&
      all_aligned(wide, address_of(problem.output_q), problem.q_token_stride,
                  problem.hidden_size)) {
    return wide;
  }
  return 4;
}

}  // namespace

GroupQuantLaunch plan(const PerTokenGroupQuant& traits, const GroupQuantProblem& problem,
                      const DeviceFacts& device) {
  if (problem.num_tokens <= 0 || problem.num_experts <= 0 || problem.hidden_size < traits.group) {
    GroupQuantLaunch launch;
    launch.shape.empty = true;
    return launch;
  }
  require_at_most("hidden_size / 16", problem.hidden_size / 16, kMaxSlabChunks / kTileTokens);
  require_at_most("num_experts", problem.num_experts, kMaxGridX);
  return traits.schedule == Schedule::kFlat ? plan_flat(traits, problem, device)
                                            : plan_masked(traits, problem, device);
}

TokenQuantLaunch plan(const PerTokenQuant& traits, const TokenQuantProblem& problem,
                      const DeviceFacts& device) {
  constexpr std::int64_t kMaxBlock = 1024;
  constexpr std::int64_t kHeldVectors = 2;  // what a thread keeps in registers
  constexpr std::int64_t kMostPrefetchedBytes = std::int64_t{160} * 1024;  // a multiprocessor
  constexpr std::int64_t kLegacyTokensPerSm = 16;
  TokenQuantLaunch launch;
  if (problem.num_tokens <= 0 || problem.hidden_size <= 0) {
    launch.shape.empty = true;
    return launch;
  }
  const auto size = static_cast<std::int64_t>(size_in_bytes(traits.in));
  const std::int64_t elements = token_elements(traits, problem, device);
  const std::int64_t vectors = problem.hidden_size / elements;
  require_at_most("hidden_size / 4", vectors, kMaxSlabChunks);

  const std::int64_t sms = multiprocessors(device);
  const GeometryRule& rule = rule_for(GeometryKernel::kRows, device, problem.num_tokens);
  const std::int64_t row_threads =
      std::min(round_up(ceil_div(vectors, kHeldVectors), kWarp), kMaxBlock);
  const std::int64_t block_rows = std::clamp<std::int64_t>(
      rule.threads / row_threads, 1, static_cast<std::int64_t>(rule.block_rows));
  const std::int64_t blocks = ceil_div(problem.num_tokens, block_rows);
  const std::int64_t grid_x = std::min(blocks, kMaxGridX);
  require_at_most("num_tokens", ceil_div(blocks, grid_x), kMaxGridYZ);

  launch.shape.entry =
      static_cast<unsigned>(elements == 4 ? TokenEntry::kNarrow : TokenEntry::kWide);
  launch.shape.grid = {narrow(grid_x), narrow(ceil_div(blocks, grid_x)), 1};
  launch.shape.block = {narrow(row_threads), narrow(block_rows), 1};
  device::TokenQuantParams& params = launch.params;
  params.input = problem.input;
  params.output_q = problem.output_q;
  params.output_s = problem.output_s;
  params.input_token_stride = problem.input_token_stride * size;
  params.q_token_stride = problem.q_token_stride;
  params.num_tokens = problem.num_tokens;
  params.row_vectors = narrow(vectors);
  const bool guard = traits.zero_rows == ZeroRows::kZero ||
                     problem.num_tokens >= kLegacyTokensPerSm * device.sm_count;
  const bool aligned32 = all_aligned(32, address_of(problem.input), params.input_token_stride);
  const bool prefetch = rule.prefetch && problem.num_tokens * problem.hidden_size * size <=
                                             sms * kMostPrefetchedBytes;
  params.flags = (aligned32 ? device::kInputAligned32 : 0U) | (guard ? device::kZeroRowGuard : 0U) |
                 (prefetch ? device::kPrefetchInput : 0U);
  return launch;
}

}  // namespace quantjit::ops
