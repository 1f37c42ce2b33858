// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands.hpp"

#include <quantjit/traits.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quantjit::cli {
namespace {

constexpr std::string_view kMathKey =
    "math=auto|fast|precise may stand beside the keys of every operation: how division and "
    "denormals are treated; auto is fast on sm_90* and precise on sm_100 and later";

void check_operation(const std::string& op, const std::vector<OpInfo>& all) {
  if (op.empty() ||
      std::any_of(all.begin(), all.end(), [&](const OpInfo& info) { return info.op == op; })) {
    return;
  }
  std::string names;
  for (const OpInfo& info : all) {
    names += (names.empty() ? "" : " or ") + std::string(info.op);
  }
  throw InvalidArgument("OP", "\"" + op + "\"", "it must be " + names);
}

Value describe(const OpInfo& info) {
  return Value::Object{
      {"op", info.op},
      {"summary", info.summary},
      {"keys", array_of(info.keys, [](const KeyInfo& key) -> Value {
         return Value::Object{
             {"key", key.key},
             {"values", array_of(key.values, [](std::string_view v) -> Value { return v; })},
             {"default", key.values.empty() ? std::string_view() : key.values.front()},
             {"rule", key.rule}};
       })}};
}

void print(Console& console, const OpInfo& info) {
  console.line(fmt::format("{}: {}", info.op, info.summary));
  for (const KeyInfo& key : info.keys) {
    console.line(fmt::format("  {:<10} {}", key.key, fmt::join(key.values, " | ")));
    if (!key.rule.empty()) {
      console.line(fmt::format("  {:<10}   {}", "", key.rule));
    }
  }
}

int list_texts(Console& console, const std::string& op) {
  Value::Array texts;
  for (const Traits& traits : enumerate_traits()) {
    if (op.empty() || op == op_name(traits)) {
      const std::string text = to_text(traits);
      console.line(text);
      if (console.json()) {
        texts.emplace_back(text);
      }
    }
  }
  console.document(Value::Object{{"traits", std::move(texts)}});
  return 0;
}

}  // namespace

int execute(Context& context, const TraitsOptions& options) {
  Console& console = context.console;
  if (!options.check.empty()) {
    const Descriptor descriptor = parse_descriptor(options.check);
    const std::string text = to_text(descriptor.traits);
    console.line(text);
    console.document(Value::Object{{"traits", text}, {"math", to_string(descriptor.math)}});
    return 0;
  }
  const std::vector<OpInfo> all = describe_ops();
  check_operation(options.op, all);
  if (options.enumerate) {
    return list_texts(console, options.op);
  }
  Value::Array described;
  for (const OpInfo& info : all) {
    if (options.op.empty() || options.op == info.op) {
      described.push_back(describe(info));
      print(console, info);
      console.line();
    }
  }
  console.line("The first value of each key is its default.");
  console.line(kMathKey);
  console.document(Value::Object{{"ops", std::move(described)},
                                 {"math", Value::Array{"auto", "fast", "precise"}}});
  return 0;
}

}  // namespace quantjit::cli
