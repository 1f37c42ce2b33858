// SPDX-License-Identifier: Apache-2.0
// Trait descriptors as text and as numbers.
#include "src/capi/traits.hpp"

#include "src/capi/guard.hpp"
#include "src/capi/json.hpp"
#include "src/capi/text.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>

#include <cstdint>
#include <limits>
#include <string>

namespace quantjit::capi {
namespace {

// The C enumerators are those of quantjit/traits.hpp once more.
constexpr int number(auto value) {
  return static_cast<int>(value);
}

static_assert(QJ_BF16 == number(DType::kBF16) && QJ_F16 == number(DType::kF16) &&
              QJ_F32 == number(DType::kF32) && QJ_E4M3 == number(DType::kE4M3) &&
              QJ_INT8 == number(DType::kInt8));
static_assert(QJ_SCALE_F32 == number(ScaleFormat::kF32) &&
              QJ_SCALE_UE8M0 == number(ScaleFormat::kUE8M0) &&
              QJ_SCALE_F32_POW2 == number(ScaleFormat::kF32Pow2) &&
              QJ_SCALE_E8M0 == number(ScaleFormat::kE8M0));
static_assert(QJ_LAYOUT_ROW == number(ScaleLayout::kRow) &&
              QJ_LAYOUT_COL == number(ScaleLayout::kCol) &&
              QJ_LAYOUT_SWIZZLE128X4 == number(ScaleLayout::kSwizzle128x4));
static_assert(QJ_SCHEDULE_FLAT == number(Schedule::kFlat) &&
              QJ_SCHEDULE_MASKED == number(Schedule::kMasked));
static_assert(QJ_NUMERICS_SGLANG == number(Numerics::kSglang) &&
              QJ_NUMERICS_SGLANG_V2 == number(Numerics::kSglangV2) &&
              QJ_NUMERICS_VLLM == number(Numerics::kVllm) &&
              QJ_NUMERICS_EXACT == number(Numerics::kExact));
static_assert(QJ_FILL_NONE == number(Fill::kNone) && QJ_FILL_ZERO == number(Fill::kZero));
static_assert(QJ_ZERO_ROWS_LEGACY == number(ZeroRows::kLegacy) &&
              QJ_ZERO_ROWS_ZERO == number(ZeroRows::kZero));
static_assert(QJ_MATH_AUTO == number(MathMode::kAuto) && QJ_MATH_FAST == number(MathMode::kFast) &&
              QJ_MATH_PRECISE == number(MathMode::kPrecise));

[[noreturn]] void refuse(const char* member, std::int32_t value, std::int32_t last) {
  throw InvalidArgument(std::string("traits.") + member, std::to_string(value),
                        "it must be 0 to " + std::to_string(last));
}

/// A number of an enumeration whose last value is `last`.
template <typename Enum>
Enum checked(const char* member, std::int32_t value, Enum last) {
  if (value < 0 || value > number(last)) {
    refuse(member, value, number(last));
  }
  return static_cast<Enum>(value);
}

bool flag(const char* member, std::int32_t value) {
  if (value != 0 && value != 1) {
    refuse(member, value, 1);
  }
  return value == 1;
}

PerTokenGroupQuant group_of(const qj_traits& from) {
  if (from.group < 0 || from.group > std::numeric_limits<std::uint16_t>::max()) {
    refuse("group", from.group, std::numeric_limits<std::uint16_t>::max());
  }
  return {.in = checked("in", from.in, DType::kInt8),
          .out = checked("out", from.out, DType::kInt8),
          .group = static_cast<std::uint16_t>(from.group),
          .scale = checked("scale", from.scale, ScaleFormat::kE8M0),
          .layout = checked("layout", from.layout, ScaleLayout::kSwizzle128x4),
          .silu = flag("silu", from.silu),
          .schedule = checked("schedule", from.schedule, Schedule::kMasked),
          .numerics = checked("numerics", from.numerics, Numerics::kExact),
          .fill = checked("fill", from.fill, Fill::kZero),
          .pdl = flag("pdl", from.pdl)};
}

PerTokenQuant token_of(const qj_traits& from) {
  return {.in = checked("in", from.in, DType::kInt8),
          .out = checked("out", from.out, DType::kInt8),
          .zero_rows = checked("zero_rows", from.zero_rows, ZeroRows::kZero),
          .numerics = checked("numerics", from.numerics, Numerics::kExact),
          .pdl = flag("pdl", from.pdl)};
}

/// What all operations of the library have.
template <typename Op>
void fill_shared(const Op& from, qj_traits& to) {
  to.in = number(from.in);
  to.out = number(from.out);
  to.numerics = number(from.numerics);
  to.pdl = from.pdl ? 1 : 0;
}

void fill(const PerTokenGroupQuant& from, qj_traits& to) {
  to.op = QJ_OP_PER_TOKEN_GROUP_QUANT;
  fill_shared(from, to);
  to.group = from.group;
  to.scale = number(from.scale);
  to.layout = number(from.layout);
  to.silu = from.silu ? 1 : 0;
  to.schedule = number(from.schedule);
  to.fill = number(from.fill);
}

void fill(const PerTokenQuant& from, qj_traits& to) {
  to.op = QJ_OP_PER_TOKEN_QUANT;
  fill_shared(from, to);
  to.zero_rows = number(from.zero_rows);
}

[[noreturn]] void fill(const CustomTraits& from, qj_traits& /*to*/) {
  throw InvalidArgument("text", to_text(from), "registered operations have no form as numbers");
}

qj_traits numbers_of(const Descriptor& descriptor) {
  qj_traits traits{};
  traits.math = number(descriptor.math);
  std::visit([&traits](const auto& fields) { fill(fields, traits); }, descriptor.traits);
  return traits;
}

}  // namespace

Descriptor descriptor_of(const qj_traits* traits) {
  const qj_traits given = read_struct(traits, "traits");
  Descriptor descriptor;
  descriptor.math = checked("math", given.math, MathMode::kPrecise);
  switch (given.op) {
    case QJ_OP_PER_TOKEN_GROUP_QUANT: descriptor.traits = group_of(given); break;
    case QJ_OP_PER_TOKEN_QUANT: descriptor.traits = token_of(given); break;
    default: refuse("op", given.op, QJ_OP_PER_TOKEN_QUANT);
  }
  return descriptor;
}

}  // namespace quantjit::capi

using namespace quantjit;
using namespace quantjit::capi;

qj_status qj_traits_init(qj_traits* traits, int32_t op) {
  return guard([&] {
    Descriptor descriptor;
    switch (op) {
      case QJ_OP_PER_TOKEN_GROUP_QUANT: descriptor.traits = PerTokenGroupQuant{}; break;
      case QJ_OP_PER_TOKEN_QUANT: descriptor.traits = PerTokenQuant{}; break;
      default: throw InvalidArgument("op", std::to_string(op), "it must be one of QJ_OP_*");
    }
    write_struct(numbers_of(descriptor), traits, "traits");
  });
}

qj_status qj_traits_parse(const char* text, size_t size, qj_traits* traits) {
  return guard([&] {
    write_struct(numbers_of(parse_descriptor(view_of(text, size, "text"))), traits, "traits");
  });
}

qj_status qj_traits_text(const qj_traits* traits, char** text, size_t* text_size) {
  return guard([&] {
    const Descriptor descriptor = descriptor_of(traits);
    validate(descriptor.traits);
    static_cast<void>(resolve_math(descriptor, Arch{}));  // refuses modes that traits exclude
    store_text(to_text(descriptor), text, text_size);
  });
}

qj_status qj_describe_operations(char** json, size_t* size) {
  return guard([&] { store_text(operations_json(describe_ops()), json, size); });
}
