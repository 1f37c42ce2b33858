// SPDX-License-Identifier: Apache-2.0
#include "src/traits/keys.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <string>

namespace quantjit {

namespace {

using traits::Key;
using traits::Operation;
using traits::quote;

constexpr std::string_view kMathKey = "math";

/// Splits `rest` at the first `separator`: returns what stands before it and leaves what stands
/// behind it. Without one, everything is returned and `more` is false.
std::string_view take_until(std::string_view& rest, char separator, bool& more) {
  const std::size_t at = rest.find(separator);
  more = at != std::string_view::npos;
  const std::string_view head = rest.substr(0, at);
  rest = more ? rest.substr(at + 1) : std::string_view{};
  return head;
}

void reject_blanks(std::string_view text) {
  const std::size_t at = text.find_first_of(" \t\r\n\v\f");
  if (at != std::string_view::npos) {
    throw InvalidArgument("trait text", quote(text),
                          "blanks are not allowed (one is at offset " + std::to_string(at) + ")");
  }
}

const Operation& find_operation(std::string_view name) {
  std::string names;
  for (const Operation& operation : traits::operations()) {
    if (operation.name == name) {
      return operation;
    }
    names += names.empty() ? "" : "|";
    names += operation.name;
  }
  throw InvalidArgument("operation", quote(name),
                        "it must be one of " + names + ", written as op:key=value,key=value");
}

std::string list_keys(const Operation& operation) {
  std::string keys;
  for (const Key& key : operation.keys) {
    keys += std::string(key.name) + ", ";
  }
  return keys + std::string(kMathKey);
}

/// Reads the items of one trait text into a descriptor.
class ItemReader {
 public:
  explicit ItemReader(const Operation& operation)
      : operation_(operation), descriptor_{operation.defaults, MathMode::kAuto} {}

  void read(std::string_view item) {
    bool has_value = false;
    std::string_view value = item;
    const std::string_view name = take_until(value, '=', has_value);
    if (!has_value) {
      throw InvalidArgument("trait text item", quote(item),
                            "every item must be key=value, with a key of " +
                                std::string(operation_.name) + ": " + list_keys(operation_));
    }
    if (name == kMathKey) {
      mark_seen(operation_.keys.size(), name, value);
      descriptor_.math = parse_math_mode(value);
      return;
    }
    const std::size_t index = find_key(name);
    const Key& key = operation_.keys[index];
    mark_seen(index, name, value);
    const auto found = traits::find_value(key, value);
    if (!found) {
      throw InvalidArgument(std::string(name), quote(value),
                            std::string(operation_.name) + " allows only " + std::string(name) +
                                "=" + traits::list_values(key));
    }
    key.set(descriptor_.traits, key.values[*found].code);
  }

  /// The descriptor, with the defaults that depend on another key.
  Descriptor finish() {
    if (auto* group = std::get_if<PerTokenGroupQuant>(&descriptor_.traits)) {
      if (group->numerics == Numerics::kVllm && !seen("fill")) {
        group->fill = Fill::kZero;
      }
    } else if (auto* token = std::get_if<PerTokenQuant>(&descriptor_.traits)) {
      if (token->numerics == Numerics::kExact && !seen("zero_rows")) {
        token->zero_rows = ZeroRows::kZero;
      }
    }
    return descriptor_;
  }

 private:
  [[nodiscard]] std::size_t find_key(std::string_view name) const {
    for (std::size_t i = 0; i < operation_.keys.size(); ++i) {
      if (operation_.keys[i].name == name) {
        return i;
      }
    }
    throw InvalidArgument(
        "key", quote(name),
        std::string(operation_.name) + " has only the keys " + list_keys(operation_));
  }

  [[nodiscard]] bool seen(std::string_view name) const {
    return (seen_ >> find_key(name) & 1U) != 0;
  }

  void mark_seen(std::size_t index, std::string_view name, std::string_view value) {
    const unsigned bit = 1U << index;
    if ((seen_ & bit) != 0) {
      throw InvalidArgument("key " + std::string(name), "given again as " + quote(value),
                            "every key may be given once");
    }
    seen_ |= bit;
  }

  const Operation& operation_;
  Descriptor descriptor_;
  unsigned seen_ = 0;
};

}  // namespace

Descriptor parse_descriptor(std::string_view text) {
  reject_blanks(text);
  bool more = false;
  const Operation& operation = find_operation(take_until(text, ':', more));
  ItemReader reader(operation);
  while (more) {
    reader.read(take_until(text, ',', more));
  }
  const Descriptor descriptor = reader.finish();
  validate(descriptor.traits);
  // Any target will do: what is refused does not depend on it.
  static_cast<void>(resolve_math(descriptor, Arch{}));
  return descriptor;
}

}  // namespace quantjit
