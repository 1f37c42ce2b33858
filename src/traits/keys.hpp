// SPDX-License-Identifier: Apache-2.0
// The one table of operations, keys and values that parsing, printing, validation, enumeration and
// description read.
#pragma once

#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quantjit::traits {

/// A value of a key: its text, and the enumerator, group size or 0/1 that the struct holds.
struct Value {
  std::string_view text;
  std::uint16_t code;
};

/// A key of an operation and its way into the struct.
struct Key {
  std::string_view name;
  std::span<const Value> values;  ///< default first
  std::string_view rule;          ///< for people; src/traits/rules.cpp decides
  std::uint16_t (*get)(const Traits&);
  void (*set)(Traits&, std::uint16_t code);
};

/// An operation with its keys in canonical order and its default traits.
struct Operation {
  std::string_view name;
  std::string_view summary;
  std::span<const Key> keys;
  Traits defaults;
};

/// All operations, in the order of the alternatives of `Traits`.
[[nodiscard]] std::span<const Operation> operations();
/// The operation that `traits` belongs to.
[[nodiscard]] const Operation& operation_of(const Traits& traits);

/// Position of a value in `key.values` by text or by code; nothing if it is not one of them.
[[nodiscard]] std::optional<std::size_t> find_value(const Key& key, std::string_view text);
[[nodiscard]] std::optional<std::size_t> find_code(const Key& key, std::uint16_t code);

/// "bf16|f16|f32" for messages.
[[nodiscard]] std::string list_values(const Key& key);

}  // namespace quantjit::traits
