// SPDX-License-Identifier: Apache-2.0
#include "src/models/node.hpp"

#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace quantjit::models {

using nlohmann::json;

namespace {

constexpr std::size_t kDeepest = 32;
constexpr std::size_t kLongest = std::size_t{32} << 20U;

std::string describe(const Node* node) {
  if (node == nullptr) {
    return "missing";
  }
  switch (node->kind()) {
    case Node::Kind::kNull: return "null";
    case Node::Kind::kBoolean: return node->boolean() ? "true" : "false";
    case Node::Kind::kInteger: return std::to_string(node->integer());
    case Node::Kind::kReal: return "a number that is no 64-bit integer";
    case Node::Kind::kText: return traits::quote(node->text());
    case Node::Kind::kList: return "a list";
    case Node::Kind::kObject: return "an object";
  }
  return "unknown";
}

}  // namespace

/// Builds the tree from the parser's events, so that depth is checked before anything nests.
class NodeBuilder final : public nlohmann::json_sax<json> {
 public:
  NodeBuilder(Node& root, std::string name) : root_(root), name_(std::move(name)) {}

  bool null() override {
    place(Node::Kind::kNull);
    return true;
  }

  bool boolean(bool value) override {
    place(Node::Kind::kBoolean).integer_ = value ? 1 : 0;
    return true;
  }

  bool number_integer(number_integer_t value) override {
    place(Node::Kind::kInteger).integer_ = value;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      place(Node::Kind::kReal);
    } else {
      place(Node::Kind::kInteger).integer_ = static_cast<std::int64_t>(value);
    }
    return true;
  }

  bool number_float(number_float_t, const string_t&) override {
    place(Node::Kind::kReal);
    return true;
  }

  bool string(string_t& value) override {
    place(Node::Kind::kText).text_ = std::move(value);
    return true;
  }

  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    std::string path = open_.empty() ? name_ : parent_path() + key_;
    Node& node = place(Node::Kind::kObject);
    node.text_ = std::move(path);
    return open(node);
  }

  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    open_.pop_back();
    return true;
  }

  bool start_array(std::size_t) override { return open(place(Node::Kind::kList)); }

  bool end_array() override {
    open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    throw InvalidArgument(name_, "not JSON",
                          "what stands at byte " + std::to_string(position) + " is no JSON");
  }

 private:
  Node& place(Node::Kind kind) {
    Node* node = &root_;
    if (!open_.empty() && open_.back()->kind_ == Node::Kind::kList) {
      node = &open_.back()->items_.emplace_back();
    } else if (!open_.empty()) {
      node = &open_.back()->members_.emplace_back(key_, Node{}).second;
    }
    node->kind_ = kind;
    return *node;
  }

  bool open(Node& node) {
    if (open_.size() == kDeepest) {
      throw InvalidArgument(name_, "deeply nested",
                            "a config nests at most " + std::to_string(kDeepest) + " deep");
    }
    // A node is complete before its next sibling moves it: the pointer stays good while it is open.
    open_.push_back(&node);
    return true;
  }

  [[nodiscard]] std::string parent_path() const {
    const auto object = std::find_if(open_.rbegin(), open_.rend(), [](const Node* node) {
      return node->kind_ == Node::Kind::kObject;
    });
    if (object == open_.rend()) {
      return name_ + ".";
    }
    // Long paths serve nobody; a hostile file could make them grow with every level.
    return (*object)->text_.size() > 200 ? "..." : (*object)->text_ + ".";
  }

  Node& root_;
  std::string name_;
  std::string key_;
  std::vector<Node*> open_;
};

Node Node::parse(std::string_view text, const std::string& name) {
  if (text.size() > kLongest) {
    throw InvalidArgument(name, std::to_string(text.size()) + " bytes long",
                          "a config has at most " + std::to_string(kLongest) + " bytes");
  }
  Node root;
  NodeBuilder builder(root, name);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    throw InvalidArgument(name, "not JSON", "it must be a JSON object");
  }
  if (!root.is_object()) {
    throw InvalidArgument(name, describe(&root), "it must be a JSON object");
  }
  return root;
}

const Node* Node::find(std::string_view key) const {
  const Node* found = nullptr;
  for (const auto& [name, value] : members_) {
    if (name == key) {
      found = value.kind_ == Kind::kNull ? nullptr : &value;
    }
  }
  return found;
}

void Node::refuse(std::string_view key, const std::string& rule) const {
  throw InvalidArgument(text_ + "." + std::string(key), describe(find(key)), rule);
}

const Node* Node::find_of_kind(std::string_view key, Kind kind, const char* rule) const {
  const Node* const found = find(key);
  if (found != nullptr && found->kind_ != kind) {
    refuse(key, rule);
  }
  return found;
}

std::optional<std::int64_t> Node::find_size(std::string_view key) const {
  constexpr const char* kRule = "it must be an integer from 0 to 16777216";
  const Node* const found = find_of_kind(key, Kind::kInteger, kRule);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->integer_ < 0 || found->integer_ > kLargestSize) {
    refuse(key, kRule);
  }
  return found->integer_;
}

std::int64_t Node::size(std::string_view key) const {
  const std::optional<std::int64_t> found = find_size(key);
  if (!found || *found == 0) {
    refuse(key, "this model needs it: it must be an integer from 1 to 16777216");
  }
  return *found;
}

std::optional<std::string> Node::find_text(std::string_view key) const {
  const Node* const found = find_of_kind(key, Kind::kText, "it must be a string");
  return found == nullptr ? std::nullopt : std::optional(found->text_);
}

std::optional<bool> Node::find_flag(std::string_view key) const {
  const Node* const found = find_of_kind(key, Kind::kBoolean, "it must be true or false");
  return found == nullptr ? std::nullopt : std::optional(found->boolean());
}

const Node* Node::find_object(std::string_view key) const {
  return find_of_kind(key, Kind::kObject, "it must be an object");
}

const Node* Node::find_list(std::string_view key) const {
  return find_of_kind(key, Kind::kList, "it must be a list");
}

std::vector<std::string> Node::texts(std::string_view key) const {
  std::vector<std::string> values;
  if (const Node* const list = find_list(key)) {
    for (const Node& item : list->items()) {
      if (!item.is_text()) {
        refuse(key, "it must hold strings only");
      }
      values.push_back(item.text_);
    }
  }
  return values;
}

std::vector<std::int64_t> Node::sizes(std::string_view key) const {
  std::vector<std::int64_t> values;
  if (const Node* const list = find_list(key)) {
    for (const Node& item : list->items()) {
      if (!item.is_integer() || item.integer_ < 0 || item.integer_ > kLargestSize) {
        refuse(key, "it must hold integers from 0 to 16777216 only");
      }
      values.push_back(item.integer_);
    }
  }
  return values;
}

}  // namespace quantjit::models
