// SPDX-License-Identifier: Apache-2.0
// What a program may register. Everything that ends in a name expression passes here: identifiers,
// integers and booleans, nothing else.
#include "src/base/file.hpp"
#include "src/traits/custom.hpp"
#include "src/traits/keys.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace quantjit::traits {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxValues = 64;
constexpr std::size_t kMaxEntries = 3;
constexpr std::size_t kMaxDigits = 18;

[[noreturn]] void refuse(const std::string& what, std::string_view value, const std::string& rule) {
  throw InvalidArgument("source." + what, quote(value), rule);
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/// Lower-case letters, digits and '_', a letter first.
bool is_key_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::all_of(text.begin(), text.end(), is_word);
}

/// Identifiers joined by "::".
bool is_qualified(std::string_view text) {
  if (text.size() > kMaxName) {
    return false;
  }
  for (;;) {
    const std::size_t colons = text.find("::");
    if (!is_identifier(text.substr(0, colons))) {
      return false;
    }
    if (colons == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(colons + 2);
  }
}

bool is_integer(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  // A leading 0 would make it octal.
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), is_digit) && (text == "0" || text.front() != '0');
}

bool is_literal(std::string_view text) {
  return is_integer(text) || text == "true" || text == "false";
}

/// Relative, made of plain names, with the ending of a kernel file.
bool is_path(std::string_view path) {
  if (path.size() > kMaxName || !(path.ends_with(".cuh") || path.ends_with(".h"))) {
    return false;
  }
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (name.empty() || name.front() == '.' || !std::all_of(name.begin(), name.end(), [](char c) {
          return is_word(c) || c == '.' || c == '-';
        })) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
}

void check_path(const std::string& what, const std::string& path) {
  if (!is_path(path)) {
    refuse(what, path,
           "it must be a relative path of letters, digits, '_', '-' and '.', ending in .cuh or .h");
  }
}

void check_names(const Source& source) {
  const auto built_in = [&source](const Operation& operation) {
    return operation.name == source.op;
  };
  if (!is_key_name(source.op)) {
    refuse("op", source.op, "it must be a lower-case identifier");
  }
  if (std::any_of(operations().begin(), operations().end(), built_in)) {
    refuse("op", source.op, "an operation of the library has this name");
  }
  check_path("path", source.path);
  std::set<std::string> paths{source.path};
  for (const SourceInclude& include : source.includes) {
    check_path("includes.path", include.path);
    if (!paths.insert(include.path).second) {
      refuse("includes.path", include.path, "every path may be given once");
    }
    if (include.text.size() > kMaxSourceBytes) {
      refuse("includes.text", include.path, "it may be 1 MiB long");
    }
  }
}

void check_value(const SourceKey& key, const SourceValue& value) {
  const bool plain = !value.value.empty() && value.value.size() <= kMaxName &&
                     std::all_of(value.value.begin(), value.value.end(),
                                 [](char c) { return is_word(c) || c == '.'; });
  if (!plain) {
    refuse("keys." + key.key, value.value, "a value must be of letters, digits, '_' and '.'");
  }
  const std::string& argument = value.argument.empty() ? value.value : value.argument;
  if (!is_literal(argument) && !is_qualified(argument)) {
    refuse("keys." + key.key, argument,
           "a template argument must be an integer, true, false or an identifier");
  }
}

void check_keys(const Source& source) {
  if (source.keys.size() > CustomTraits::kMaxKeys) {
    refuse("keys", std::to_string(source.keys.size()), "there may be 16 keys");
  }
  std::set<std::string> names{"pdl", "math", "true", "false"};
  std::uint64_t combinations = 1;
  for (const SourceKey& key : source.keys) {
    if (!is_key_name(key.key) || !names.insert(key.key).second) {
      refuse("keys", key.key,
             "a key must be a lower-case identifier of its own, and pdl, math, true and false are "
             "taken");
    }
    if (key.values.empty() || key.values.size() > kMaxValues) {
      refuse("keys." + key.key, std::to_string(key.values.size()) + " values",
             "it must have 1 to 64");
    }
    std::set<std::string> values;
    for (const SourceValue& value : key.values) {
      check_value(key, value);
      if (!values.insert(value.value).second) {
        refuse("keys." + key.key, value.value, "every value may be given once");
      }
    }
    combinations *= key.values.size();
    if (combinations > kMaxCombinations) {
      refuse("keys", key.key, "all keys together may have 2^32 - 1 combinations of values");
    }
  }
}

void check_entries(const Source& source) {
  if (source.entries.empty() || source.entries.size() > kMaxEntries) {
    refuse("entries", std::to_string(source.entries.size()), "there must be 1 to 3");
  }
  for (const SourceEntry& entry : source.entries) {
    if (!is_qualified(entry.function)) {
      refuse("entries.function", entry.function, "it must be an identifier such as engine::kernel");
    }
    for (const std::string& argument : entry.arguments) {
      const bool is_key =
          argument == "pdl" || argument == "math" ||
          std::any_of(source.keys.begin(), source.keys.end(),
                      [&argument](const SourceKey& key) { return key.key == argument; });
      if (!is_key && !is_literal(argument)) {
        refuse("entries.arguments", argument,
               "it must be a key of the source, pdl, math, an integer, true or false");
      }
    }
  }
  if (source.parameter_bytes == 0 || source.parameter_bytes > kMaxParameterBytes) {
    refuse("parameter_bytes", std::to_string(source.parameter_bytes), "it must be 1 to 4096");
  }
}

void read_text(Source& source) {
  if (source.text.empty() == source.file.empty()) {
    refuse("text", source.file, "there must be either a text or a file");
  }
  if (!source.file.empty()) {
    auto text = base::read_file(source.file);
    if (!text || text->empty()) {
      refuse("file", source.file, "it cannot be read, or is empty");
    }
    source.text = std::move(*text);
  }
  if (source.text.size() > kMaxSourceBytes) {
    refuse("text", source.path, "it may be 1 MiB long");
  }
}

/// All that were ever made, by name. Never destroyed: descriptors point into it.
struct Operations {
  std::mutex mutex;  // guards what follows
  std::multimap<std::string, std::unique_ptr<const CustomOperation>> by_name;
  std::uint32_t last_id = 0;
};

Operations& all_operations() {
  static auto* const instance = new Operations;
  return *instance;
}

}  // namespace

const CustomOperation& make_operation(Source source) {
  check_names(source);
  check_keys(source);
  check_entries(source);
  read_text(source);
  Operations& all = all_operations();
  const std::lock_guard lock(all.mutex);
  const auto [first, last] = all.by_name.equal_range(source.op);
  for (auto known = first; known != last; ++known) {
    if (known->second->source == source) {
      return *known->second;
    }
  }
  if ((all.last_id + 1) >> kOperationBits != 0) {
    refuse("op", source.op, "a process may register 2^27 sources");
  }
  auto operation =
      std::make_unique<const CustomOperation>(CustomOperation{std::move(source), all.last_id + 1});
  const CustomOperation& made = *operation;
  all.by_name.emplace(made.source.op, std::move(operation));
  ++all.last_id;
  return made;
}

}  // namespace quantjit::traits
