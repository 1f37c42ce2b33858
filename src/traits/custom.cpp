// SPDX-License-Identifier: Apache-2.0
// Descriptors of the program's operations.
#include "src/traits/custom.hpp"

#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <type_traits>

namespace quantjit::traits {
namespace {

// Descriptors are copied on every launch.
static_assert(std::is_trivially_copyable_v<Traits>);

std::string text_of(bool value) {
  return value ? "true" : "false";
}

std::string list_values(const SourceKey& key) {
  std::string list;
  for (const SourceValue& value : key.values) {
    list += list.empty() ? value.value : "|" + value.value;
  }
  return list;
}

std::string list_keys(const Source& source) {
  std::string list;
  for (const SourceKey& key : source.keys) {
    list += key.key + ", ";
  }
  return list + "pdl, math";
}

[[noreturn]] void refuse_value(const std::string& op, std::string_view key, std::string_view value,
                               const std::string& allowed) {
  throw InvalidArgument(std::string(key), quote(value),
                        op + " allows only " + std::string(key) + "=" + allowed);
}

/// Reads the items of one descriptor text.
class ItemReader {
 public:
  explicit ItemReader(const CustomOperation& operation) : source_(operation.source) {
    traits_.operation = &operation;
  }

  void read(std::string_view item) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw InvalidArgument(
          "trait text item", quote(item),
          "every item must be key=value, with a key of " + source_.op + ": " + list_keys(source_));
    }
    const std::string_view key = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    const std::size_t index = find_key(key);
    if ((seen_ >> index & 1U) != 0) {
      throw InvalidArgument("key " + std::string(key), "given again as " + quote(value),
                            "every key may be given once");
    }
    seen_ |= 1U << index;
    set(index, value);
  }

  [[nodiscard]] Descriptor finish() const { return {traits_, math_}; }

 private:
  [[nodiscard]] std::size_t find_key(std::string_view name) const {
    const std::size_t count = source_.keys.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (source_.keys[i].key == name) {
        return i;
      }
    }
    if (name == "pdl") {
      return count;
    }
    if (name == "math") {
      return count + 1;
    }
    throw InvalidArgument("key", quote(name),
                          source_.op + " has only the keys " + list_keys(source_));
  }

  void set(std::size_t index, std::string_view value) {
    const std::size_t count = source_.keys.size();
    if (index == count + 1) {
      math_ = parse_math_mode(value);
      return;
    }
    if (index == count) {
      if (value != "true" && value != "false") {
        refuse_value(source_.op, "pdl", value, "true|false");
      }
      traits_.pdl = value == "true";
      return;
    }
    const SourceKey& key = source_.keys[index];
    const auto found = std::find_if(key.values.begin(), key.values.end(),
                                    [value](const SourceValue& v) { return v.value == value; });
    if (found == key.values.end()) {
      refuse_value(source_.op, key.key, value, list_values(key));
    }
    traits_.values[index] = static_cast<std::uint8_t>(found - key.values.begin());
  }

  const Source& source_;
  CustomTraits traits_;
  MathMode math_ = MathMode::kAuto;
  unsigned seen_ = 0;
};

const SourceValue& value_of(const CustomTraits& traits, std::size_t key) {
  return traits.operation->source.keys[key].values[traits.values[key]];
}

/// What an argument of an entry becomes: the value of a key, or the literal that it is.
std::string argument_text(const CustomTraits& traits, const std::string& argument, MathMode math) {
  if (argument == "pdl") {
    return text_of(traits.pdl);
  }
  if (argument == "math") {
    return std::to_string(static_cast<int>(math));
  }
  const auto& keys = traits.operation->source.keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].key == argument) {
      const SourceValue& value = value_of(traits, i);
      return value.argument.empty() ? value.value : value.argument;
    }
  }
  return argument;
}

}  // namespace

Descriptor parse_custom(const CustomOperation& operation, std::string_view items) {
  ItemReader reader(operation);
  while (!items.empty()) {
    const std::size_t comma = items.find(',');
    reader.read(items.substr(0, comma));
    if (comma == items.size() - 1) {
      reader.read({});  // a comma that nothing follows
    }
    items = comma == std::string_view::npos ? std::string_view{} : items.substr(comma + 1);
  }
  return reader.finish();
}

void validate_custom(const CustomTraits& traits) {
  if (traits.operation == nullptr) {
    throw InvalidArgument("traits", "without an operation",
                          "they must come from KernelService::parse");
  }
  const auto& keys = traits.operation->source.keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (traits.values[i] >= keys[i].values.size()) {
      refuse_value(traits.operation->source.op, keys[i].key,
                   "value " + std::to_string(traits.values[i]), list_values(keys[i]));
    }
  }
}

std::string custom_text(const CustomTraits& traits) {
  if (traits.operation == nullptr) {
    return "an operation of the program";
  }
  std::string text = traits.operation->source.op + ":";
  const auto& keys = traits.operation->source.keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool known = traits.values[i] < keys[i].values.size();
    text += keys[i].key + "=" +
            (known ? value_of(traits, i).value : std::to_string(traits.values[i])) + ",";
  }
  return text + "pdl=" + text_of(traits.pdl);
}

std::uint64_t value_number(const CustomTraits& traits) {
  std::uint64_t number = 0;
  const auto& keys = traits.operation->source.keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (traits.values[i] >= keys[i].values.size()) {
      return kMaxCombinations;
    }
    number = number * keys[i].values.size() + traits.values[i];
  }
  return number;
}

void specialize_custom(const CustomTraits& traits, MathMode math, Specialization& to) {
  const Source& source = traits.operation->source;
  to.source = source.path;
  for (const SourceEntry& entry : source.entries) {
    std::string name = entry.function;
    for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
      name += (i == 0 ? "<" : ", ") + argument_text(traits, entry.arguments[i], math);
    }
    to.name_expressions.push_back(entry.arguments.empty() ? name : name + ">");
  }
  to.options = {"--std=c++17", source.fmad ? "--fmad=true" : "--fmad=false"};
}

}  // namespace quantjit::traits
