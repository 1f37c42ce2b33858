// SPDX-License-Identifier: Apache-2.0
#include "src/serve/order.hpp"

#include "src/serve/reply.hpp"
#include "src/serve/source_text.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <set>

namespace quantjit::serve {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& message) {
  throw Refusal(400, "BadRequest", message);
}

/// For messages: what a client sent, shortened.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "\"" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "") + "\"";
}

/// An object whose members are taken one by one, so that those nobody knows are left.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) {
      refuse(where_ + " must be a JSON object");
    }
  }

  const Json* take(const std::string& name) {
    known_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  std::string text(const std::string& name, bool required = false) {
    const Json* const value = take(name);
    if (value == nullptr && !required) {
      return {};
    }
    if (value == nullptr || !value->is_string() ||
        (required && value->get_ref<const std::string&>().empty())) {
      refuse(where_ + " must have the text \"" + name + "\"");
    }
    return value->get<std::string>();
  }

  std::size_t number(const std::string& name) {
    const Json* const value = take(name);
    if (value == nullptr) {
      return 0;
    }
    if (!value->is_number_unsigned()) {
      refuse("\"" + name + "\" of " + where_ + " must be an integer that is not negative");
    }
    return value->get<std::size_t>();
  }

  bool flag(const std::string& name) {
    const Json* const value = take(name);
    if (value != nullptr && !value->is_boolean()) {
      refuse("\"" + name + "\" of " + where_ + " must be true or false");
    }
    return value != nullptr && value->get<bool>();
  }

  /// Calls `each` for the elements of a list, which may be missing.
  template <typename Each>
  void list(const std::string& name, Each each) {
    const Json* const value = take(name);
    if (value == nullptr) {
      return;
    }
    if (!value->is_array()) {
      refuse("\"" + name + "\" of " + where_ + " must be a list");
    }
    for (const Json& element : *value) {
      each(element);
    }
  }

  void end() const {
    for (const auto& [name, value] : json_.items()) {
      if (!known_.contains(name)) {
        refuse(where_ + " has the member " + shown(name) + ", which is not known");
      }
    }
  }

 private:
  const Json& json_;
  const std::string where_;
  std::set<std::string> known_;
};

SourceKey read_key(const Json& json) {
  Members members(json, "a key of \"source\"");
  SourceKey key{.key = members.text("key", true), .values = {}};
  members.list("values", [&](const Json& element) {
    Members value(element, "a value of a key of \"source\"");
    key.values.push_back({.value = value.text("value", true), .argument = value.text("argument")});
    value.end();
  });
  members.end();
  return key;
}

SourceEntry read_entry_point(const Json& json) {
  Members members(json, "an entry of \"source\"");
  SourceEntry entry{.function = members.text("function", true), .arguments = {}};
  members.list("arguments", [&](const Json& argument) {
    if (!argument.is_string()) {
      refuse("the arguments of an entry of \"source\" must be texts");
    }
    entry.arguments.push_back(argument.get<std::string>());
  });
  members.end();
  return entry;
}

/// Everything but `file`: no path of a client is ever opened.
Source read_source(const Json& json) {
  Members members(json, "\"source\"");
  Source source;
  source.op = members.text("op", true);
  source.path = members.text("path", true);
  source.text = members.text("text", true);
  members.list("includes", [&](const Json& element) {
    Members include(element, "an include of \"source\"");
    source.includes.push_back({.path = include.text("path", true), .text = include.text("text")});
    include.end();
  });
  members.list("keys", [&](const Json& key) { source.keys.push_back(read_key(key)); });
  members.list("entries",
               [&](const Json& entry) { source.entries.push_back(read_entry_point(entry)); });
  source.parameter_bytes = members.number("parameter_bytes");
  source.dynamic_shared_bytes = members.number("dynamic_shared_bytes");
  source.fmad = members.flag("fmad");
  members.end();
  check_source_text(source.text, source.path);
  for (const SourceInclude& include : source.includes) {
    check_source_text(include.text, include.path);
  }
  return source;
}

/// Parses, and refuses a member that stands twice: which one counts is nobody's guess.
Json parse(std::string_view body) {
  std::vector<std::set<std::string>> open;
  std::string doubled;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == Json::parse_event_t::key &&
               !open.back().insert(value.get<std::string>()).second) {
      doubled = value.get<std::string>();
    }
    return true;
  };
  Json json = Json::parse(body, watch, false);
  if (json.is_discarded()) {
    refuse("the body is no JSON text in UTF-8");
  }
  if (!doubled.empty()) {
    refuse("the member " + shown(doubled) + " stands twice");
  }
  return json;
}

void require_hexadecimal(const std::string& text, std::size_t digits, const char* name) {
  if (!text.empty() &&
      (text.size() != digits || text.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    refuse("\"" + std::string(name) + "\" must be " + std::to_string(digits) +
           " lower-case hexadecimal digits");
  }
}

}  // namespace

Order read_order(std::string_view body, bool allow_sources) {
  const Json json = parse(body);
  Members members(json, "the body");
  Order order;
  if (const Json* const source = members.take("source")) {
    if (!allow_sources) {
      throw Refusal(403, "Forbidden",
                    "this service compiles no sources of its clients; it takes them if it is "
                    "started with --allow-sources");
    }
    order.source = read_source(*source);
  }
  order.traits = members.text("traits", true);
  order.arch = members.text("arch", true);
  order.math = members.text("math");
  order.code = members.text("code");
  order.toolchain = members.text("toolchain");
  order.request = members.text("request");
  order.at_once = members.flag("at_once");
  members.end();
  require_hexadecimal(order.toolchain, 16, "toolchain");
  require_hexadecimal(order.request, 64, "request");
  return order;
}

}  // namespace quantjit::serve
