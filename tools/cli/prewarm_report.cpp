// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/prewarm_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quantjit::cli {
namespace {

using models::Derivation;
using models::Site;

Value strings(const std::vector<std::string>& list) {
  return array_of(list, [](const std::string& text) { return Value(text); });
}

/// The texts of all targets, each once.
template <class Get>
Value merged(const std::vector<DerivedModel>& models, Get get) {
  std::vector<std::string> all;
  for (const DerivedModel& model : models) {
    for (const std::string& text : get(model.derivation)) {
      if (std::find(all.begin(), all.end(), text) == all.end()) {
        all.push_back(text);
      }
    }
  }
  return strings(all);
}

Value describe(const Site& site, const Arch& arch) {
  return Value::Object{{"arch", arch.to_string()},
                       {"name", site.name},
                       {"k", site.k},
                       {"groups", site.groups},
                       {"n", site.n == 0 ? Value() : Value(site.n)},
                       {"traits", strings(site.traits)},
                       {"note", site.note}};
}

Value describe_sites(const std::vector<DerivedModel>& models) {
  Value::Array sites;
  for (const DerivedModel& model : models) {
    for (const Site& site : model.derivation.sites) {
      sites.push_back(describe(site, model.arch));
    }
  }
  return sites;
}

Value describe(const DerivedModel& model) {
  const Derivation& derived = model.derivation;
  return Value::Object{
      {"arch", model.arch.to_string()},
      {"architecture", derived.architecture},
      {"scheme", derived.scheme},
      {"reason", derived.reason},
      {"dtype", derived.dtype.empty() ? Value() : Value(derived.dtype)},
      {"moe_runner", derived.moe_runner.empty() ? Value() : Value(derived.moe_runner)},
      {"traits",
       array_of(derived.descriptors, [](const Descriptor& d) { return Value(to_text(d)); })},
      {"refusal", derived.refusal ? Value(*derived.refusal) : Value()}};
}

Value describe(const PrewarmReport::Failure& failure) {
  return Value::Object{{"traits", failure.traits},
                       {"arch", failure.arch.to_string()},
                       {"error", failure.error},
                       {"log", failure.log}};
}

/// Descriptors get numbers, which the table of sites then names.
std::string numbers_of(const Derivation& derived, const Site& site) {
  std::string text;
  for (std::size_t i = 0; i < derived.descriptors.size(); ++i) {
    const std::string traits = to_text(derived.descriptors[i]);
    if (std::find(site.traits.begin(), site.traits.end(), traits) != site.traits.end()) {
      text += fmt::format("{}[{}]", text.empty() ? "" : " ", i + 1);
    }
  }
  return text;
}

void print_needs(Console& console, const Derivation& derived) {
  for (std::size_t i = 0; i < derived.descriptors.size(); ++i) {
    console.line(fmt::format("  [{}] {}", i + 1, to_text(derived.descriptors[i])));
  }
  if (derived.sites.empty()) {
    return;
  }
  console.line(
      fmt::format("  {:<34} {:>6} {:>6} {:>6}  {}", "site", "K", "groups", "N", "descriptor"));
  for (const Site& site : derived.sites) {
    console.line(fmt::format("  {:<34} {:>6} {:>6} {:>6}  {}{}", site.name, site.k, site.groups,
                             site.n == 0 ? std::string("-") : std::to_string(site.n),
                             numbers_of(derived, site),
                             site.note.empty() ? "" : " (" + site.note + ")"));
  }
}

void print(Console& console, const DerivedModel& model) {
  const Derivation& derived = model.derivation;
  const std::string arch = model.arch.to_string();
  console.line(
      fmt::format("{} on {}: scheme {} ({}){}{}",
                  derived.architecture.empty() ? "a model without a name" : derived.architecture,
                  arch, derived.scheme.empty() ? "unknown" : derived.scheme,
                  derived.refusal && derived.reason.empty() ? "refused" : derived.reason,
                  derived.dtype.empty() ? "" : ", " + derived.dtype,
                  derived.moe_runner.empty() ? "" : ", experts: " + derived.moe_runner));
  print_needs(console, derived);
  if (derived.scheme == "none") {
    console.line("  needs no kernel of this library");
  }
  for (const std::string& what : derived.not_covered) {
    console.line("  not covered: " + what);
  }
  for (const std::string& warning : derived.warnings) {
    console.message(arch + ": warning: " + warning);
  }
  if (derived.refusal) {
    console.message(arch + ": refused: " + *derived.refusal);
  }
}

}  // namespace

void print_models(Console& console, const std::vector<DerivedModel>& models) {
  for (const DerivedModel& model : models) {
    print(console, model);
  }
}

RemoteShare& RemoteShare::operator+=(const RemoteShare& other) {
  taken += other.taken;
  stored += other.stored;
  not_stored += other.not_stored;
  return *this;
}

RemoteShare share_of(const KernelService& service) {
  const ServiceStats stats = service.stats();
  return {.taken = stats.remote_hits + stats.service_compiles,
          .stored = stats.remote_puts,
          .not_stored = stats.remote_put_failures + stats.remote_dropped};
}

void print_report(Console& console, const PrewarmReport& report, const RemoteShare* share) {
  for (const PrewarmReport::Failure& failure : report.failures) {
    console.line(fmt::format("FAILED {} for {}: {}", failure.traits, failure.arch.to_string(),
                             failure.error));
    if (!failure.log.empty()) {
      console.line(failure.log);
    }
  }
  console.line(fmt::format(
      "requested {}, hits {}, compiled {}, failed {} in {:.2f} s ({} at a time)", report.requested,
      report.hits, report.compiled, report.failures.size(), report.seconds, report.jobs));
  if (share != nullptr) {
    console.line(fmt::format("remote tiers: {} taken, {} stored, {} not stored", share->taken,
                             share->stored, share->not_stored));
  }
}

std::string refusal_text(const std::vector<DerivedModel>& models) {
  std::string text;
  for (const DerivedModel& model : models) {
    if (model.derivation.refusal) {
      text += text.empty() ? "" : "; ";
      text += models.size() == 1 ? "" : model.arch.to_string() + ": ";
      text += *model.derivation.refusal;
    }
  }
  return text;
}

Value describe_prewarm(const PrewarmReport& report, const RemoteShare* share,
                       const std::vector<DerivedModel>& models) {
  Value::Object document{
      {"requested", report.requested},
      {"hits", report.hits},
      {"compiled", report.compiled},
      {"failed", array_of(report.failures,
                          [](const PrewarmReport::Failure& failure) { return describe(failure); })},
      {"seconds", report.seconds},
      {"jobs", report.jobs},
      {"cancelled", report.cancelled}};
  if (share != nullptr) {
    document.emplace_back("remote", Value::Object{{"taken", share->taken},
                                                  {"stored", share->stored},
                                                  {"not_stored", share->not_stored}});
  }
  if (!models.empty()) {
    const std::string refusal = refusal_text(models);
    document.emplace_back("sites", describe_sites(models));
    document.emplace_back("not_covered", merged(models, [](const Derivation& derived) {
                            return derived.not_covered;
                          }));
    document.emplace_back(
        "warnings", merged(models, [](const Derivation& derived) { return derived.warnings; }));
    document.emplace_back("refusal", refusal.empty() ? Value() : Value(refusal));
    document.emplace_back(
        "models", array_of(models, [](const DerivedModel& model) { return describe(model); }));
  }
  return document;
}

}  // namespace quantjit::cli
