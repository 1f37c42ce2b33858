// SPDX-License-Identifier: Apache-2.0
#include "src/traits/specialization.hpp"

#include "kernels/device/traits.cuh"
#include "kernels/params.h"
#include "src/traits/custom.hpp"

#include <initializer_list>
#include <utility>

namespace quantjit {

namespace {

template <typename Enum>
constexpr int value_of(Enum value) {
  return static_cast<int>(value);
}

// The device code spells the enumerators of quantjit/traits.hpp a second time.
static_assert(value_of(DType::kBF16) == device::kBF16 && value_of(DType::kF16) == device::kF16 &&
              value_of(DType::kF32) == device::kF32 && value_of(DType::kE4M3) == device::kE4M3 &&
              value_of(DType::kInt8) == device::kInt8);
static_assert(value_of(ScaleFormat::kF32) == device::kScaleF32 &&
              value_of(ScaleFormat::kUE8M0) == device::kScaleUE8M0 &&
              value_of(ScaleFormat::kF32Pow2) == device::kScaleF32Pow2 &&
              value_of(ScaleFormat::kE8M0) == device::kScaleE8M0);
static_assert(value_of(ScaleLayout::kRow) == device::kRow &&
              value_of(ScaleLayout::kCol) == device::kCol &&
              value_of(ScaleLayout::kSwizzle128x4) == device::kSwizzle128x4);
static_assert(value_of(Numerics::kSglang) == device::kSglang &&
              value_of(Numerics::kSglangV2) == device::kSglangV2 &&
              value_of(Numerics::kVllm) == device::kVllm &&
              value_of(Numerics::kExact) == device::kExact);
static_assert(value_of(Fill::kNone) == device::kFillNone &&
              value_of(Fill::kZero) == device::kFillZero);
static_assert(value_of(MathMode::kFast) == device::kFast &&
              value_of(MathMode::kPrecise) == device::kPrecise);

std::string text_of(bool value) {
  return value ? "true" : "false";
}

/// `quantjit::device::name<argument, argument>`.
std::string instantiation(std::string_view name, std::initializer_list<std::string> arguments) {
  std::string text = "quantjit::device::" + std::string(name) + "<";
  const char* separator = "";
  for (const std::string& argument : arguments) {
    text += separator + argument;
    separator = ", ";
  }
  return text + ">";
}

std::string group_expression(const PerTokenGroupQuant& traits, MathMode math, int elements) {
  using std::to_string;
  return instantiation(
      traits.schedule == Schedule::kFlat ? "per_token_group_quant_flat"
                                         : "per_token_group_quant_masked",
      {to_string(value_of(traits.in)), to_string(value_of(traits.out)), to_string(traits.group),
       to_string(value_of(traits.scale)), to_string(value_of(traits.layout)), text_of(traits.silu),
       to_string(value_of(traits.numerics)), to_string(value_of(traits.fill)), text_of(traits.pdl),
       to_string(value_of(math)), to_string(elements)});
}

void add_entries(const PerTokenGroupQuant& traits, MathMode math, const Arch& arch,
                 Specialization& to) {
  to.source = "per_token_group_quant.cuh";
  to.name_expressions.push_back(group_expression(traits, math, 16));
  if (has_wide_entry(traits, arch)) {
    to.name_expressions.push_back(group_expression(traits, math, 32));
  }
}

std::string token_expression(const PerTokenQuant& traits, MathMode math, unsigned elements) {
  using std::to_string;
  return instantiation("per_token_quant_rows",
                       {to_string(value_of(traits.in)), to_string(value_of(traits.numerics)),
                        text_of(traits.pdl), to_string(value_of(math)), to_string(elements)});
}

void add_entries(const PerTokenQuant& traits, MathMode math, const Arch& arch, Specialization& to) {
  to.source = "per_token_quant.cuh";
  to.name_expressions.push_back(token_expression(traits, math, 4));
  if (const unsigned elements = wide_token_elements(traits, arch); elements != 0) {
    to.name_expressions.push_back(token_expression(traits, math, elements));
  }
}

}  // namespace

bool has_wide_entry(const PerTokenGroupQuant& traits, const Arch& arch) {
  return arch.is_blackwell_or_later() && traits.schedule == Schedule::kFlat &&
         traits.in != DType::kF32 && traits.group >= 32;
}

unsigned wide_token_elements(const PerTokenQuant& traits, const Arch& arch) {
  if (traits.in == DType::kF32) {
    return arch.is_blackwell_or_later() ? 8 : 0;
  }
  return arch.is_blackwell_or_later() ? 16 : 8;
}

Specialization specialize(const Traits& traits, MathMode math, const Arch& arch) {
  Specialization specialization;
  if (const auto* const custom = std::get_if<CustomTraits>(&traits)) {
    traits::specialize_custom(*custom, math, specialization);
    return specialization;
  }
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&traits)) {
    add_entries(*group, math, arch, specialization);
  } else {
    add_entries(std::get<PerTokenQuant>(traits), math, arch, specialization);
  }
  // Every operation names its rounding, so these hold for all math modes; the kernels use none of
  // the CUDA runtime types that -minimal leaves out.
  specialization.options = {"--std=c++17", "--fmad=false", "-minimal"};
  return specialization;
}

}  // namespace quantjit
