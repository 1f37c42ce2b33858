// SPDX-License-Identifier: Apache-2.0
// A JSON document as plain data, read without trust: its depth and size are bounded, and every
// reader says which key it wants of which type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit::models {

class Node {
 public:
  enum class Kind : std::uint8_t { kNull, kBoolean, kInteger, kReal, kText, kList, kObject };

  /// Dimensions beyond this are a damaged file, and products of two of them still fit 64 bits.
  static constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;

  /// Parses a whole document whose outermost value is an object. `name` stands for it in messages.
  /// Throws: InvalidArgument if it is no such JSON, nests too deeply, or is too long.
  static Node parse(std::string_view text, const std::string& name);

  [[nodiscard]] Kind kind() const { return kind_; }

  [[nodiscard]] bool is_object() const { return kind_ == Kind::kObject; }

  [[nodiscard]] bool is_list() const { return kind_ == Kind::kList; }

  [[nodiscard]] bool is_integer() const { return kind_ == Kind::kInteger; }

  [[nodiscard]] bool is_text() const { return kind_ == Kind::kText; }

  /// Elements of a list; empty for every other kind.
  [[nodiscard]] const std::vector<Node>& items() const { return items_; }

  /// Keys and values of an object in file order; of a key that stands twice, both.
  [[nodiscard]] const std::vector<std::pair<std::string, Node>>& members() const {
    return members_;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] std::int64_t integer() const { return integer_; }

  [[nodiscard]] bool boolean() const { return integer_ != 0; }

  /// The value of a key, or nothing where it is missing or null. The last one of a doubled key.
  [[nodiscard]] const Node* find(std::string_view key) const;

  // Typed readers of an object's keys. Nothing where the key is missing or null. They throw
  // InvalidArgument, with the key's whole path, where it holds another type.

  /// An integer from 0 to kLargestSize.
  [[nodiscard]] std::optional<std::int64_t> find_size(std::string_view key) const;
  /// As find_size, for a key that must be there and positive.
  [[nodiscard]] std::int64_t size(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const;
  [[nodiscard]] std::optional<bool> find_flag(std::string_view key) const;
  [[nodiscard]] const Node* find_object(std::string_view key) const;
  [[nodiscard]] const Node* find_list(std::string_view key) const;
  /// A list of strings; empty where the key is missing or null.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// A list of integers as find_size reads them; empty where the key is missing or null.
  [[nodiscard]] std::vector<std::int64_t> sizes(std::string_view key) const;

  /// Throws InvalidArgument for a key of this object.
  [[noreturn]] void refuse(std::string_view key, const std::string& rule) const;

 private:
  friend class NodeBuilder;

  [[nodiscard]] const Node* find_of_kind(std::string_view key, Kind kind, const char* rule) const;

  Kind kind_ = Kind::kNull;
  std::int64_t integer_ = 0;
  std::string text_;  ///< of a text; of an object, its path for messages
  std::vector<Node> items_;
  std::vector<std::pair<std::string, Node>> members_;
};

}  // namespace quantjit::models
