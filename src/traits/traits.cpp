// SPDX-License-Identifier: Apache-2.0
// Canonical text, validation, enumeration, packing and description of traits.
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

}  // namespace

void validate(const Traits& traits) {
  if (auto violation = traits::find_violation(traits)) {
    throw InvalidArgument(std::move(violation->key), std::move(violation->value),
                          std::move(violation->rule));
  }
}

std::string to_text(const Traits& traits) {
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
  return traits::operation_of(traits).name;
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
