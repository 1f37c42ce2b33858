// SPDX-License-Identifier: Apache-2.0
// A JSON value as the commands build it. Only json_writer.cpp sees a JSON library.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quantjit::cli {

/// Null, boolean, number, text, array or object; members keep the order they were added in.
class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;
  using Content = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double,
                               std::string, Array, Object>;

  Value() = default;

  // Conversions are implicit so that members read as the values they are.
  Value(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  Value(std::same_as<bool> auto flag) : content_(flag) {}  // NOLINT(google-explicit-constructor)

  template <std::signed_integral T>
  Value(T number)  // NOLINT(google-explicit-constructor)
      : content_(static_cast<std::int64_t>(number)) {}

  template <std::unsigned_integral T>

  requires(!std::same_as<T, bool>) Value(T number)  // NOLINT(google-explicit-constructor)
      : content_(static_cast<std::uint64_t>(number)) {}

  Value(double number) : content_(number) {}  // NOLINT(google-explicit-constructor)

  Value(std::string text) : content_(std::move(text)) {}  // NOLINT(google-explicit-constructor)

  Value(std::string_view text)
      : content_(std::string(text)) {}  // NOLINT(google-explicit-constructor)

  Value(const char* text) : content_(std::string(text)) {}  // NOLINT(google-explicit-constructor)

  Value(Array array) : content_(std::move(array)) {}  // NOLINT(google-explicit-constructor)

  Value(Object object) : content_(std::move(object)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Content& content() const { return content_; }

 private:
  Content content_ = nullptr;
};

/// Array of `make(element)` for each element of a range.
template <typename Range, typename Make>
Value::Array array_of(const Range& range, Make make) {
  Value::Array array;
  for (const auto& element : range) {
    array.push_back(make(element));
  }
  return array;
}

}  // namespace quantjit::cli
