// SPDX-License-Identifier: Apache-2.0
#include "src/traits/keys.hpp"

#include <array>

namespace quantjit::traits {

namespace {

template <class Enum>
constexpr std::uint16_t code(Enum value) {
  return static_cast<std::uint16_t>(value);
}

template <class Struct, auto Member>
std::uint16_t get_field(const Traits& traits) {
  return code(std::get<Struct>(traits).*Member);
}

template <class Struct, auto Member>
void set_field(Traits& traits, std::uint16_t value) {
  auto& field = std::get<Struct>(traits).*Member;
  field = static_cast<std::remove_reference_t<decltype(field)>>(value);
}

template <class Struct, auto Member>
constexpr Key make_key(std::string_view name, std::span<const Value> values,
                       std::string_view rule) {
  return {name, values, rule, &get_field<Struct, Member>, &set_field<Struct, Member>};
}

constexpr std::array kIn{Value{"bf16", code(DType::kBF16)}, Value{"f16", code(DType::kF16)},
                         Value{"f32", code(DType::kF32)}};
constexpr std::array kOut{Value{"e4m3", code(DType::kE4M3)}, Value{"int8", code(DType::kInt8)}};
constexpr std::array kOutFp8{Value{"e4m3", code(DType::kE4M3)}};
constexpr std::array kGroup{Value{"128", 128}, Value{"16", 16}, Value{"32", 32}, Value{"64", 64},
                            Value{"256", 256}};
constexpr std::array kScale{
    Value{"f32", code(ScaleFormat::kF32)}, Value{"ue8m0", code(ScaleFormat::kUE8M0)},
    Value{"f32_pow2", code(ScaleFormat::kF32Pow2)}, Value{"e8m0", code(ScaleFormat::kE8M0)}};
constexpr std::array kLayout{Value{"row", code(ScaleLayout::kRow)},
                             Value{"col", code(ScaleLayout::kCol)},
                             Value{"swizzle128x4", code(ScaleLayout::kSwizzle128x4)}};
constexpr std::array kOff{Value{"false", 0}, Value{"true", 1}};
constexpr std::array kOn{Value{"true", 1}, Value{"false", 0}};
constexpr std::array kSchedule{Value{"flat", code(Schedule::kFlat)},
                               Value{"masked", code(Schedule::kMasked)}};
constexpr std::array kNumerics{
    Value{"sglang", code(Numerics::kSglang)}, Value{"sglang_v2", code(Numerics::kSglangV2)},
    Value{"vllm", code(Numerics::kVllm)}, Value{"exact", code(Numerics::kExact)}};
constexpr std::array kTokenNumerics{Value{"sglang", code(Numerics::kSglang)},
                                    Value{"exact", code(Numerics::kExact)}};
constexpr std::array kFill{Value{"none", code(Fill::kNone)}, Value{"zero", code(Fill::kZero)}};
constexpr std::array kZeroRows{Value{"legacy", code(ZeroRows::kLegacy)},
                               Value{"zero", code(ZeroRows::kZero)}};

using Group = PerTokenGroupQuant;
using Token = PerTokenQuant;

constexpr std::array kGroupKeys{
    make_key<Group, &Group::in>("in", kIn,
                                "sglang_v2 and vllm: 16-bit only; sglang with f32: no silu"),
    make_key<Group, &Group::out>("out", kOut, "int8 with sglang: scale=f32; e8m0: e4m3 only"),
    make_key<Group, &Group::group>("group", kGroup,
                                   "sglang_v2: at most 128; vllm: 128; scale=e8m0: 32"),
    make_key<Group, &Group::scale>("scale", kScale,
                                   "vllm: ue8m0; e8m0 (MXFP8): exact, e4m3, group 32"),
    make_key<Group, &Group::layout>(
        "layout", kLayout, "vllm: col; scale=e8m0: row or swizzle128x4, which nothing else takes"),
    make_key<Group, &Group::silu>("silu", kOff, "sglang: not with in=f32; vllm: false"),
    make_key<Group, &Group::schedule>("schedule", kSchedule, "vllm: flat"),
    make_key<Group, &Group::numerics>("numerics", kNumerics,
                                      "exact takes everything; exact and vllm are never math=fast"),
    make_key<Group, &Group::fill>("fill", kFill, "zero only with vllm, and the default there"),
    make_key<Group, &Group::pdl>("pdl", kOn, ""),
};

constexpr std::array kTokenKeys{
    make_key<Token, &Token::in>("in", kIn, ""),
    make_key<Token, &Token::out>("out", kOutFp8, ""),
    make_key<Token, &Token::zero_rows>("zero_rows", kZeroRows,
                                       "exact: zero, and the default there"),
    make_key<Token, &Token::numerics>("numerics", kTokenNumerics, "exact is never math=fast"),
    make_key<Token, &Token::pdl>("pdl", kOn, ""),
};

std::string_view name_in(std::span<const Value> values, std::uint16_t wanted) {
  for (const Value& value : values) {
    if (value.code == wanted) {
      return value.text;
    }
  }
  return "invalid";
}

}  // namespace

std::span<const Operation> operations() {
  static const std::array kOperations{
      Operation{"per_token_group_quant",
                "quantizes groups of consecutive elements of a row, one scale each", kGroupKeys,
                PerTokenGroupQuant{}},
      Operation{"per_token_quant", "quantizes each row with one f32 scale", kTokenKeys,
                PerTokenQuant{}},
  };
  return kOperations;
}

const Operation& operation_of(const Traits& traits) {
  return operations()[traits.index()];
}

std::optional<std::size_t> find_value(const Key& key, std::string_view text) {
  for (std::size_t i = 0; i < key.values.size(); ++i) {
    if (key.values[i].text == text) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> find_code(const Key& key, std::uint16_t code) {
  for (std::size_t i = 0; i < key.values.size(); ++i) {
    if (key.values[i].code == code) {
      return i;
    }
  }
  return std::nullopt;
}

std::string list_values(const Key& key) {
  std::string list;
  for (const Value& value : key.values) {
    list += list.empty() ? "" : "|";
    list += value.text;
  }
  return list;
}

}  // namespace quantjit::traits

namespace quantjit {

std::string_view to_string(ScaleFormat value) {
  return traits::name_in(traits::kScale, traits::code(value));
}

std::string_view to_string(ScaleLayout value) {
  return traits::name_in(traits::kLayout, traits::code(value));
}

std::string_view to_string(Schedule value) {
  return traits::name_in(traits::kSchedule, traits::code(value));
}

std::string_view to_string(Numerics value) {
  return traits::name_in(traits::kNumerics, traits::code(value));
}

std::string_view to_string(Fill value) {
  return traits::name_in(traits::kFill, traits::code(value));
}

std::string_view to_string(ZeroRows value) {
  return traits::name_in(traits::kZeroRows, traits::code(value));
}

}  // namespace quantjit
