// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands.hpp"

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

Value describe(const Explanation& explanation) {
  Value nearest;
  if (!explanation.nearest_key.empty()) {
    nearest = Value::Object{
        {"key", explanation.nearest_key},
        {"differs", array_of(explanation.differs, [](const Explanation::Difference& d) -> Value {
           return Value::Object{{"field", d.field}, {"wanted", d.wanted}, {"found", d.found}};
         })}};
  }
  return Value::Object{{"traits", explanation.traits},    {"arch", explanation.arch.to_string()},
                       {"key", explanation.key},          {"hit", explanation.hit},
                       {"path", explanation.path},        {"nearest", std::move(nearest)},
                       {"key_text", explanation.key_text}};
}

void print(Console& console, const Explanation& explanation) {
  console.line(fmt::format("traits   {}", explanation.traits));
  console.line(fmt::format("target   {}", explanation.arch.to_string()));
  console.line(fmt::format("key      {}", explanation.key));
  console.line(explanation.hit ? fmt::format("hit      {}", explanation.path) : "miss");
  if (!explanation.nearest_key.empty()) {
    console.line(fmt::format("nearest  {} differs in", explanation.nearest_key));
    for (const Explanation::Difference& difference : explanation.differs) {
      console.line(fmt::format("  {}: wanted {}, found {}", difference.field, difference.wanted,
                               difference.found));
    }
  } else if (!explanation.hit) {
    console.line("nearest  (the cache is empty)");
  }
  console.line("The key is the SHA-256 of these fields, then the identity of NVRTC:");
  console.line(explanation.key_text);
}

}  // namespace

int execute(Context& context, const ExplainOptions& options) {
  ServiceOptions service_options = context.service_options();
  const Descriptor descriptor = parse_descriptor(options.traits);
  const Arch arch = Arch::parse(options.arch);
  KernelService service(std::move(service_options));
  const Explanation explanation = service.explain(descriptor, arch);
  context.console.document(describe(explanation));
  print(context.console, explanation);
  return 0;
}

}  // namespace quantjit::cli
