// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/geometry_report.hpp"

#include <quantjit/error.hpp>

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

/// The table that launches for this target look into: that of a GPU here if there is one.
Geometry geometry_of(KernelService& service, const ServiceOptions& options, const Arch& arch) {
  try {
    const driver::DriverApi& api =
        driver::DriverApi::get(options.cuda_driver.value_or(std::string{}));
    api.initialize();
    for (int device = 0; device < driver::device_count(api); ++device) {
      if (driver::device_info(api, device).arch == arch) {
        return service.geometry(device);
      }
    }
  } catch (const DriverError&) {
    // No GPU here: what ships is what would be used elsewhere.
  }
  return {default_geometry(arch), "built in"};
}

Value describe(const Explanation& explanation, const Geometry& geometry) {
  Value nearest;
  if (!explanation.nearest_key.empty()) {
    nearest = Value::Object{
        {"key", explanation.nearest_key},
        {"differs", array_of(explanation.differs, [](const Explanation::Difference& d) -> Value {
           return Value::Object{{"field", d.field}, {"wanted", d.wanted}, {"found", d.found}};
         })}};
  }
  return Value::Object{
      {"traits", explanation.traits},
      {"arch", explanation.arch.to_string()},
      {"key", explanation.key},
      {"hit", explanation.hit},
      {"path", explanation.path},
      {"nearest", std::move(nearest)},
      {"key_text", explanation.key_text},
      {"geometry", Value::Object{{"source", geometry.source},
                                 {"rules", array_of(geometry.rules, [](const GeometryRule& r) {
                                    return cli::describe(r);
                                  })}}}};
}

void print(Console& console, const Explanation& explanation, const Geometry& geometry) {
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
  console.line(fmt::format("geometry {}", geometry.source));
  for (const GeometryRule& rule : geometry.rules) {
    console.line(fmt::format("  {}: {}", size_class(rule), brief(rule)));
  }
  console.line("The key is the SHA-256 of these fields, then the identity of NVRTC:");
  console.line(explanation.key_text);
}

}  // namespace

int execute(Context& context, const ExplainOptions& options) {
  const ServiceOptions service_options = context.service_options();
  const Descriptor descriptor = parse_descriptor(options.traits);
  const Arch arch = Arch::parse(options.arch);
  KernelService service(service_options);
  const Explanation explanation = service.explain(descriptor, arch);
  Geometry geometry = geometry_of(service, service_options, arch);
  geometry.rules = rules_of(geometry.rules, geometry_kernel(descriptor.traits));
  context.console.document(describe(explanation, geometry));
  print(context.console, explanation, geometry);
  return 0;
}

}  // namespace quantjit::cli
