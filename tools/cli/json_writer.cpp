// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <type_traits>

namespace quantjit::cli {
namespace {

using Json = nlohmann::ordered_json;

Json convert(const Value& value) {
  return std::visit(
      [](const auto& content) -> Json {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, Value::Array>) {
          Json array = Json::array();
          for (const Value& element : content) {
            array.push_back(convert(element));
          }
          return array;
        } else if constexpr (std::is_same_v<T, Value::Object>) {
          Json object = Json::object();
          for (const auto& [name, member] : content) {
            object[name] = convert(member);
          }
          return object;
        } else {
          return Json(content);
        }
      },
      value.content());
}

Value convert(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<std::int64_t>();
    case Json::value_t::number_unsigned: return json.get<std::uint64_t>();
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return json.get<std::string>();
    case Json::value_t::array: {
      Value::Array array;
      for (const Json& element : json) {
        array.push_back(convert(element));
      }
      return array;
    }
    case Json::value_t::object: {
      Value::Object object;
      for (const auto& [name, member] : json.items()) {
        object.emplace_back(name, convert(member));
      }
      return object;
    }
    default: return nullptr;
  }
}

}  // namespace

std::string to_json(const Value& value) {
  return convert(value).dump(2, ' ', false, Json::error_handler_t::replace);
}

Value from_json(const std::string& text) {
  // What is nested deeper than any report is dropped, since each level takes some of the stack.
  constexpr int kDeepest = 64;
  const Json json = Json::parse(
      text, [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; }, false);
  return json.is_discarded() ? Value() : convert(json);
}

}  // namespace quantjit::cli
