// SPDX-License-Identifier: Apache-2.0
#include "src/service/geometry_table.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <array>

namespace quantjit {

namespace service {
namespace {

using enum GeometryKernel;

constexpr std::int64_t kKi = 1024;

// Flat and rows. Little work: small blocks reach more multiprocessors. More: large blocks cost
// fewer launches. Prefetching pays until the input of two kernels no longer fits the L2 cache. SiLU
// keeps more registers, so large blocks would leave the last wave of a multiprocessor half empty.
// Masked grids are capped at what is resident, so that no warp comes late to its share.
constexpr std::array kSm90{
    // Measured on an H200 (tests/gpu/reports).
    GeometryRule{kFlat, 2560, 128, 0, 16, 0, true},
    GeometryRule{kFlat, 12 * kKi, 256, 0, 16, 0, true},
    GeometryRule{kFlat, 160 * kKi, 512, 0, 16, 0, true},
    GeometryRule{kFlat, kNoSizeLimit, 512, 0, 16, 0, false},
    GeometryRule{kFlatSilu, 8 * kKi, 128, 0, 16, 0, true},
    GeometryRule{kFlatSilu, 160 * kKi, 256, 0, 16, 0, true},
    GeometryRule{kFlatSilu, kNoSizeLimit, 128, 0, 16, 0, false},
    GeometryRule{kMasked, 8, 128, 2, 0, 0, false},
    GeometryRule{kMasked, 48, 128, 8, 0, 0, false},
    GeometryRule{kMasked, kNoSizeLimit, 128, 16, 0, 0, false},
    GeometryRule{kMaskedSilu, 8, 128, 2, 0, 0, false},
    GeometryRule{kMaskedSilu, kNoSizeLimit, 128, 8, 0, 0, false},
    GeometryRule{kRows, 4, 512, 0, 0, 1, true},
    GeometryRule{kRows, 16, 512, 0, 0, 2, true},
    GeometryRule{kRows, kNoSizeLimit, 512, 0, 0, 4, false},
};

/// The same, with the wide entry point of flat kernels once there is work enough for half as many
/// threads.
constexpr auto kSm100 = [] {
  auto table = kSm90;
  for (GeometryRule& rule : table) {
    const bool is_flat = rule.kernel == kFlat || rule.kernel == kFlatSilu;
    rule.elements = is_flat && rule.at_most > 12 * kKi ? 32 : rule.elements;
  }
  return table;
}();

std::span<const GeometryRule> table_of(const Arch& arch) {
  return arch.is_blackwell_or_later() ? std::span<const GeometryRule>(kSm100)
                                      : std::span<const GeometryRule>(kSm90);
}

[[noreturn]] void refuse(std::size_t index, const GeometryRule& rule, const std::string& what,
                         std::int64_t value, const std::string& allowed) {
  throw InvalidArgument("geometry rule " + std::to_string(index) + " (" +
                            std::string(to_string(rule.kernel)) + ") " + what,
                        std::to_string(value), allowed);
}

void require_within(std::size_t index, const GeometryRule& rule, const char* what,
                    std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  if (value < low || value > high) {
    refuse(index, rule, what, value,
           low == high ? "it must be " + std::to_string(low)
                       : "it must be " + std::to_string(low) + " to " + std::to_string(high));
  }
}

void validate_ranges(std::size_t index, const GeometryRule& rule) {
  const bool masked = is_masked(rule.kernel);
  const bool rows = rule.kernel == kRows;
  require_within(index, rule, "threads", rule.threads, 32, masked ? 256 : 512);
  if (rule.threads % 32 != 0 || (!rows && (rule.threads & (rule.threads - 1)) != 0)) {
    refuse(index, rule, "threads", rule.threads,
           rows ? "it must be a multiple of 32" : "it must be a power of two");
  }
  require_within(index, rule, "blocks_per_sm", rule.blocks_per_sm, masked ? 1 : 0, masked ? 32 : 0);
  require_within(index, rule, "block_rows", rule.block_rows, rows ? 1 : 0, rows ? 16 : 0);
  if (masked || rows) {
    require_within(index, rule, "elements", rule.elements, 0, 0);
  } else if (rule.elements != 16 && rule.elements != 32) {
    refuse(index, rule, "elements", rule.elements, "it must be 16 or 32");
  }
  if (masked && rule.prefetch) {
    refuse(index, rule, "prefetch", 1, "a masked kernel does not know its input in advance");
  }
}

}  // namespace

std::span<const GeometryRule> default_rules(GeometryKernel kernel, const Arch& arch) {
  const std::span<const GeometryRule> table = table_of(arch);
  const auto is_of = [kernel](const GeometryRule& rule) { return rule.kernel == kernel; };
  const auto first = std::find_if(table.begin(), table.end(), is_of);
  const auto last = std::find_if_not(first, table.end(), is_of);
  return {first, last};
}

}  // namespace service

namespace {

constexpr std::array<std::string_view, kGeometryKernels> kNames{"flat", "flat_silu", "masked",
                                                                "masked_silu", "rows"};

}  // namespace

std::string_view to_string(GeometryKernel kernel) {
  return kNames.at(static_cast<std::size_t>(kernel));
}

GeometryKernel parse_geometry_kernel(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) {
    throw InvalidArgument("geometry kernel", std::string(text),
                          "it must be flat, flat_silu, masked, masked_silu or rows");
  }
  return static_cast<GeometryKernel>(found - kNames.begin());
}

GeometryKernel geometry_kernel(const Traits& traits) {
  const auto* const group = std::get_if<PerTokenGroupQuant>(&traits);
  if (group == nullptr) {
    if (!std::holds_alternative<PerTokenQuant>(traits)) {
      throw InvalidArgument("traits", to_text(traits),
                            "the geometry of a registered operation is its caller's");
    }
    return GeometryKernel::kRows;
  }
  return service::geometry_kernel(*group);
}

std::vector<GeometryRule> default_geometry(const Arch& arch) {
  const std::span<const GeometryRule> table = service::table_of(arch);
  return {table.begin(), table.end()};
}

std::vector<GeometryRule> rules_of(std::span<const GeometryRule> table, GeometryKernel kernel) {
  std::vector<GeometryRule> rules;
  std::copy_if(table.begin(), table.end(), std::back_inserter(rules),
               [kernel](const GeometryRule& rule) { return rule.kernel == kernel; });
  return rules;
}

void validate(std::span<const GeometryRule> rules) {
  std::array<const GeometryRule*, kGeometryKernels> last{};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const GeometryRule& rule = rules[i];
    service::validate_ranges(i, rule);
    const GeometryRule*& before = last.at(static_cast<std::size_t>(rule.kernel));
    if (rule.at_most <= (before != nullptr ? before->at_most : 0)) {
      service::refuse(i, rule, "at_most", rule.at_most,
                      "size classes of a kernel must be positive and rise");
    }
    before = &rule;
  }
  for (const GeometryRule* const rule : last) {
    if (rule != nullptr && rule->at_most != kNoSizeLimit) {
      service::refuse(static_cast<std::size_t>(rule - rules.data()), *rule, "at_most",
                      rule->at_most, "the last rule of a kernel must have no limit");
    }
  }
}

}  // namespace quantjit
