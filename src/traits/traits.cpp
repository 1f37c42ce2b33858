// SPDX-License-Identifier: Apache-2.0
// Canonical text, validation, enumeration, packing and description of traits.
#include "src/traits/custom.hpp"
#include "src/traits/keys.hpp"
#include "src/traits/rules.hpp"

#include <quantjit/error.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <utility>

namespace quantjit {

namespace {

/// Appends every valid setting of keys `next` and later, later keys varying faster.
void enumerate_from(const traits::Operation& operation, std::size_t next, Traits& current,
                    std::vector<Traits>& all) {
  if (next == operation.keys.size()) {
    if (traits::is_valid(current)) {
      all.push_back(current);
    }
    return;
  }
  const traits::Key& key = operation.keys[next];
  for (const traits::Value& value : key.values) {
    key.set(current, value.code);
    enumerate_from(operation, next + 1, current, all);
  }
}

/// Collects bit fields from the lowest bit up.
class Packer {
 public:
  template <class Field>
  Packer& add(Field field, unsigned width) {
    word_ |= static_cast<std::uint64_t>(field) << used_;
    used_ += width;
    return *this;
  }

  [[nodiscard]] std::uint64_t word() const { return word_; }

 private:
  std::uint64_t word_ = 0;
  unsigned used_ = 0;
};

constexpr unsigned kEnumBits = 4;
constexpr unsigned kGroupBits = 9;  // up to 256

void pack_fields(const PerTokenGroupQuant& traits, Packer& packer) {
  packer.add(traits.in, kEnumBits)
      .add(traits.out, kEnumBits)
      .add(traits.group, kGroupBits)
      .add(traits.scale, kEnumBits)
      .add(traits.layout, kEnumBits)
      .add(traits.silu, 1)
      .add(traits.schedule, kEnumBits)
      .add(traits.numerics, kEnumBits)
      .add(traits.fill, kEnumBits)
      .add(traits.pdl, 1);
}

void pack_fields(const PerTokenQuant& traits, Packer& packer) {
  packer.add(traits.in, kEnumBits)
      .add(traits.out, kEnumBits)
      .add(traits.zero_rows, kEnumBits)
      .add(traits.numerics, kEnumBits)
      .add(traits.pdl, 1);
}

void pack_fields(const CustomTraits& traits, Packer& packer) {
  if (traits.operation == nullptr) {
    return;  // of no operation: numbers begin with 1
  }
  packer.add(traits.operation->id, traits::kOperationBits)
      .add(traits.pdl, 1)
      .add(traits::value_number(traits), 32);
}

}  // namespace

void validate(const Traits& traits) {
  if (const auto* const custom = std::get_if<CustomTraits>(&traits)) {
    traits::validate_custom(*custom);
    return;
  }
  if (auto violation = traits::find_violation(traits)) {
    throw InvalidArgument(std::move(violation->key), std::move(violation->value),
                          std::move(violation->rule));
  }
}

std::string to_text(const Traits& traits) {
  if (const auto* const custom = std::get_if<CustomTraits>(&traits)) {
    return traits::custom_text(*custom);
  }
  const traits::Operation& operation = traits::operation_of(traits);
  std::string text(operation.name);
  char separator = ':';
  for (const traits::Key& key : operation.keys) {
    const std::uint16_t code = key.get(traits);
    const auto found = traits::find_code(key, code);
    text += separator;
    text += key.name;
    text += '=';
    text += found ? std::string(key.values[*found].text) : std::to_string(code);
    separator = ',';
  }
  return text;
}

std::string to_text(const Descriptor& descriptor) {
  std::string text = to_text(descriptor.traits);
  if (descriptor.math != MathMode::kAuto) {
    text += ",math=";
    text += to_string(descriptor.math);
  }
  return text;
}

std::string_view op_name(const Traits& traits) {
  if (const auto* const custom = std::get_if<CustomTraits>(&traits)) {
    return custom->operation != nullptr ? std::string_view(custom->operation->source.op) : "";
  }
  return traits::operation_of(traits).name;
}

namespace {

/// A member that both operations of the library have.
template <typename Member>
DType dtype_of(const Traits& traits, Member member) {
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&traits)) {
    return member(*group);
  }
  if (const auto* const token = std::get_if<PerTokenQuant>(&traits)) {
    return member(*token);
  }
  throw InvalidArgument("traits", to_text(traits),
                        "the tensors of a registered operation are known to its caller alone");
}

}  // namespace

DType input_dtype(const Traits& traits) {
  return dtype_of(traits, [](const auto& fields) { return fields.in; });
}

DType output_dtype(const Traits& traits) {
  return dtype_of(traits, [](const auto& fields) { return fields.out; });
}

std::vector<Traits> enumerate_traits() {
  std::vector<Traits> all;
  for (const traits::Operation& operation : traits::operations()) {
    Traits current = operation.defaults;
    enumerate_from(operation, 0, current, all);
  }
  return all;
}

std::uint64_t pack(const Traits& traits) {
  Packer packer;
  packer.add(traits.index(), kEnumBits);
  std::visit([&packer](const auto& fields) { pack_fields(fields, packer); }, traits);
  return packer.word();
}

std::vector<OpInfo> describe_ops() {
  std::vector<OpInfo> described;
  for (const traits::Operation& operation : traits::operations()) {
    OpInfo& op = described.emplace_back();
    op.op = operation.name;
    op.summary = operation.summary;
    for (const traits::Key& key : operation.keys) {
      KeyInfo& info = op.keys.emplace_back();
      info.key = key.name;
      info.rule = key.rule;
      for (const traits::Value& value : key.values) {
        info.values.push_back(value.text);
      }
    }
  }
  return described;
}

}  // namespace quantjit
