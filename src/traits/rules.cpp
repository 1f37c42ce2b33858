// SPDX-License-Identifier: Apache-2.0
#include "src/traits/rules.hpp"

#include "src/traits/keys.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace quantjit::traits {

namespace {

/// A key and some of its values.
struct Term {
  std::string_view key;
  std::vector<std::string_view> values;
};

/// Where every term of `when` holds, `must` has to hold.
struct Rule {
  std::vector<Term> when;
  Term must;
};

const std::vector<Rule>& group_rules() {
  static const std::vector<Rule> kRules{
      {{{"numerics", {"sglang"}}, {"out", {"int8"}}}, {"scale", {"f32"}}},
      {{{"numerics", {"sglang"}}, {"in", {"f32"}}}, {"silu", {"false"}}},
      {{{"numerics", {"sglang_v2"}}}, {"in", {"bf16", "f16"}}},
      {{{"numerics", {"sglang_v2"}}}, {"group", {"16", "32", "64", "128"}}},
      {{{"numerics", {"vllm"}}}, {"in", {"bf16", "f16"}}},
      {{{"numerics", {"vllm"}}}, {"group", {"128"}}},
      {{{"numerics", {"vllm"}}}, {"scale", {"ue8m0"}}},
      {{{"numerics", {"vllm"}}}, {"layout", {"col"}}},
      {{{"numerics", {"vllm"}}}, {"silu", {"false"}}},
      {{{"numerics", {"vllm"}}}, {"schedule", {"flat"}}},
      {{{"fill", {"zero"}}}, {"numerics", {"vllm"}}},
      {{{"scale", {"e8m0"}}}, {"numerics", {"exact"}}},
      {{{"scale", {"e8m0"}}}, {"out", {"e4m3"}}},
      {{{"scale", {"e8m0"}}}, {"group", {"32"}}},
      {{{"scale", {"e8m0"}}}, {"layout", {"row", "swizzle128x4"}}},
      {{{"layout", {"swizzle128x4"}}}, {"scale", {"e8m0"}}},
  };
  return kRules;
}

const std::vector<Rule>& token_rules() {
  static const std::vector<Rule> kRules{
      {{{"numerics", {"exact"}}}, {"zero_rows", {"zero"}}},
  };
  return kRules;
}

/// A term as the position of its key and a bit set over that key's values.
struct CompiledTerm {
  std::size_t key = 0;
  unsigned mask = 0;
};

struct CompiledRule {
  std::vector<CompiledTerm> when;
  CompiledTerm must;
  const Rule* source = nullptr;
};

CompiledTerm compile(const Operation& operation, const Term& term) {
  CompiledTerm compiled;
  while (operation.keys[compiled.key].name != term.key) {
    ++compiled.key;
  }
  for (const std::string_view text : term.values) {
    compiled.mask |= 1U << find_value(operation.keys[compiled.key], text).value();
  }
  return compiled;
}

std::vector<CompiledRule> compile(const Operation& operation, const std::vector<Rule>& rules) {
  std::vector<CompiledRule> compiled;
  for (const Rule& rule : rules) {
    CompiledRule& entry = compiled.emplace_back();
    for (const Term& term : rule.when) {
      entry.when.push_back(compile(operation, term));
    }
    entry.must = compile(operation, rule.must);
    entry.source = &rule;
  }
  return compiled;
}

std::span<const CompiledRule> rules_of(const Traits& traits) {
  static const std::array kCompiled{compile(operations()[0], group_rules()),
                                    compile(operations()[1], token_rules())};
  return kCompiled[traits.index()];
}

constexpr std::size_t kMaxKeys = 16;
using ValueBits =
    std::array<unsigned, kMaxKeys>;  // for each key, the bit of its value; 0: no value

ValueBits value_bits(const Operation& operation, const Traits& traits) {
  ValueBits bits{};
  for (std::size_t i = 0; i < operation.keys.size(); ++i) {
    const auto found = find_code(operation.keys[i], operation.keys[i].get(traits));
    bits[i] = found ? 1U << *found : 0U;
  }
  return bits;
}

bool broken(const CompiledRule& rule, const ValueBits& bits) {
  for (const CompiledTerm& term : rule.when) {
    if ((bits[term.key] & term.mask) == 0) {
      return false;
    }
  }
  return (bits[rule.must.key] & rule.must.mask) == 0;
}

std::string value_text(const Key& key, const Traits& traits) {
  const std::uint16_t code = key.get(traits);
  const auto found = find_code(key, code);
  return found ? std::string(key.values[*found].text) : std::to_string(code);
}

/// "numerics=sglang with out=int8 allows only scale=f32".
std::string explain(const Rule& rule) {
  std::string text;
  for (const Term& term : rule.when) {
    text += text.empty() ? "" : " with ";
    text += std::string(term.key) + "=" + std::string(term.values.front());
  }
  text += " allows only " + std::string(rule.must.key) + "=";
  for (std::size_t i = 0; i < rule.must.values.size(); ++i) {
    text += i == 0 ? "" : "|";
    text += rule.must.values[i];
  }
  return text;
}

}  // namespace

std::optional<Violation> find_violation(const Traits& traits) {
  const Operation& operation = operation_of(traits);
  const ValueBits bits = value_bits(operation, traits);
  for (std::size_t i = 0; i < operation.keys.size(); ++i) {
    const Key& key = operation.keys[i];
    if (bits[i] == 0) {
      return Violation{std::string(key.name), value_text(key, traits),
                       std::string(operation.name) + " allows only " + std::string(key.name) + "=" +
                           list_values(key)};
    }
  }
  for (const CompiledRule& rule : rules_of(traits)) {
    if (broken(rule, bits)) {
      const Key& key = operation.keys[rule.must.key];
      return Violation{std::string(key.name), value_text(key, traits), explain(*rule.source)};
    }
  }
  return std::nullopt;
}

bool is_valid(const Traits& traits) {
  const Operation& operation = operation_of(traits);
  const ValueBits bits = value_bits(operation, traits);
  for (std::size_t i = 0; i < operation.keys.size(); ++i) {
    if (bits[i] == 0) {
      return false;
    }
  }
  for (const CompiledRule& rule : rules_of(traits)) {
    if (broken(rule, bits)) {
      return false;
    }
  }
  return true;
}

}  // namespace quantjit::traits
