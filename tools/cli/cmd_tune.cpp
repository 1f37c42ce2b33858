// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/bench_measure.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/geometry_report.hpp"
#include "tools/cli/tune_search.hpp"

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

BenchCase case_of(GeometryKernel kernel, const TuneStep& step) {
  const TuneSubject subject = tune_subject(kernel);
  BenchCase bench{.name = std::string(to_string(kernel)),
                  .descriptor = parse_descriptor(subject.traits),
                  .tokens = step.tokens,
                  .hidden = subject.hidden,
                  .experts = step.experts,
                  .masked_m = {},
                  .expected_m = step.live,
                  .best_original_us = std::nullopt,
                  .best_original = {}};
  bench.masked_m.assign(static_cast<std::size_t>(step.experts), step.live);
  return bench;
}

Value describe(const TuneChoice& choice) {
  return Value::Object{{"tokens", choice.step.tokens},   {"live", choice.step.live},
                       {"size", choice.step.size},       {"us", choice.us},
                       {"us_before", choice.present_us}, {"rule", cli::describe(choice.rule)}};
}

}  // namespace

int execute(Context& context, const TuneOptions& options) {
  ServiceOptions service_options = context.service_options();
  const OpenDevice device = open_device(parse_device_choice(options.device), service_options);
  KernelService service(service_options);
  const Geometry present = service.geometry(device.ordinal);
  Console& console = context.console;
  console.line(fmt::format("{} ({}), {} multiprocessors; geometry in force: {}", device.name,
                           device.arch.to_string(), device.sm_count, present.source));

  std::vector<GeometryRule> table;
  Value::Object steps;
  for (std::size_t i = 0; i < kGeometryKernels; ++i) {
    const auto kernel = static_cast<GeometryKernel>(i);
    std::vector<GeometryRule> rules = rules_of(present.rules, kernel);
    if (rules.empty()) {
      rules = rules_of(default_geometry(device.arch), kernel);
    }
    const auto measure = [&](const TuneStep& step, GeometryRule rule) {
      ServiceOptions candidate = service_options;
      rule.at_most = kNoSizeLimit;
      candidate.geometry = {rule};
      KernelService trial(std::move(candidate));
      return measure_case(trial, device, case_of(kernel, step)).us_median;
    };
    const auto choices = tune(kernel, device.arch, device.sm_count, rules, measure);
    for (const TuneChoice& choice : choices) {
      console.line(fmt::format("{:<12} {:>6} rows {:9.3f} us before, {:9.3f} us with {}",
                               to_string(kernel),
                               choice.step.experts == 0 ? choice.step.tokens : choice.step.live,
                               choice.present_us, choice.us, brief(choice.rule)));
    }
    steps.emplace_back(std::string(to_string(kernel)),
                       array_of(choices, [](const TuneChoice& c) { return describe(c); }));
    const std::vector<GeometryRule> tuned = tuned_rules(choices);
    table.insert(table.end(), tuned.begin(), tuned.end());
  }
  std::string path;
  if (!options.dry_run) {
    path = service.store_geometry(device.ordinal, table);
    console.line(path.empty() ? "no cache root takes writes: the table is not kept"
                              : "kept in " + path);
  }
  context.console.document(Value::Object{
      {"machine", device.name},
      {"path", path},
      {"rules", array_of(table, [](const GeometryRule& r) { return cli::describe(r); })},
      {"steps", std::move(steps)}});
  return !options.dry_run && path.empty() ? 1 : 0;
}

}  // namespace quantjit::cli
