// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands.hpp"
#include "tools/cli/image_report.hpp"
#include "tools/cli/kernel_list.hpp"
#include "tools/cli/prewarm_report.hpp"
#include "tools/cli/prewarm_source.hpp"

#include <quantjit/bundle.hpp>

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

Value::Array texts_value(const std::vector<std::string>& texts) {
  return array_of(texts, [](const std::string& text) -> Value { return text; });
}

/// What every command says about the bundle itself.
Value::Object bundle_value(const BundleInfo& bundle) {
  return {{"path", bundle.path},
          {"format", bundle.format},
          {"entries", bundle.entries.size()},
          {"bytes", bundle.bytes},
          {"unpacked_bytes", bundle.unpacked_bytes},
          {"index_sha256", bundle.index_sha256},
          {"archs", texts_value(bundle.archs)},
          {"signature", to_string(bundle.signature)},
          {"signer", bundle.signer}};
}

std::string bundle_text(const BundleInfo& bundle) {
  std::string archs;
  for (const std::string& arch : bundle.archs) {
    archs += (archs.empty() ? "" : ", ") + arch;
  }
  std::string signature = "not signed";
  switch (bundle.signature) {
    case BundleSignature::kNone: break;
    case BundleSignature::kUnchecked: signature = "signed, which this build cannot check"; break;
    case BundleSignature::kConsistent: signature = "signed by " + bundle.signer; break;
    case BundleSignature::kTrusted: signature = "signed by the key that was given"; break;
  }
  return fmt::format("{}: {} entries for {}, {} bytes ({} unpacked), {}", bundle.path,
                     bundle.entries.size(), archs, bundle.bytes, bundle.unpacked_bytes, signature);
}

Value problem_value(const BundleProblem& problem) {
  return Value::Object{{"key", problem.entry.key},
                       {"traits", problem.entry.traits},
                       {"arch", problem.entry.arch},
                       {"error", problem.reason}};
}

void print_problem(Console& console, const char* word, const BundleProblem& problem) {
  console.line(fmt::format("{:<8} {} for {}: {} ({})", word, problem.entry.traits,
                           problem.entry.arch, problem.reason, short_key(problem.entry.key)));
}

/// What would compile what is missing.
std::string prewarm_hint(const BundleOptions& options, const BundleExportReport& report) {
  const PrewarmOptions& source = options.source;
  std::string suffix;
  for (const std::string& arch : source.archs) {
    suffix += (suffix.empty() ? " --arch " : ",") + arch;
  }
  if (options.all) {
    return "quantjit prewarm TRAITS... --arch " + report.missing.front().arch;
  }
  if (!source.manifest.empty()) {
    return "quantjit prewarm --manifest " + source.manifest + suffix;
  }
  if (!source.trace.empty()) {
    return "quantjit prewarm --from-trace " + source.trace + suffix;
  }
  return "quantjit prewarm and the same " +
         std::string(source.model.path.empty() ? "trait texts" : "options of the model") + suffix;
}

int report_missing(Console& console, const BundleOptions& options,
                   const BundleExportReport& report) {
  console.document(Value::Object{
      {"path", options.file},
      {"entries", 0},
      {"missing", array_of(report.missing, [](const BundleExportReport::Missing& missing) -> Value {
         return Value::Object{{"traits", missing.traits}, {"arch", missing.arch}};
       })}});
  std::string list;
  for (const BundleExportReport::Missing& missing : report.missing) {
    list +=
        "\n  " + (missing.traits.empty() ? "anything" : missing.traits) + " for " + missing.arch;
  }
  console.message(
      fmt::format("{} was not written because the cache lacks {}; compile it ahead "
                  "with {}{}",
                  options.file,
                  report.missing.size() == 1 ? std::string("an entry")
                                             : fmt::format("{} entries", report.missing.size()),
                  prewarm_hint(options, report), list));
  return 1;
}

/// What the command line asks to export.
BundleExport export_request(const BundleOptions& options, MathMode math) {
  BundleExport what{.path = options.file,
                    .requests = {},
                    .all = options.all,
                    .archs = parse_archs(options.source.archs),
                    .signing_key = options.signing_key};
  const PrewarmOptions& source = options.source;
  if (options.all) {
    return what;
  }
  if (source.traits.empty() && source.manifest.empty() && source.trace.empty() &&
      source.model.path.empty()) {
    throw InvalidArgument("bundle export", "nothing to export",
                          "name trait texts, --manifest, --from-trace, --model or --all");
  }
  PrewarmSource gathered = gather(source, math);
  if (const std::string refusals = refusal_text(gathered.models); !refusals.empty()) {
    throw CommandFailure(refusals);
  }
  if (gathered.items.empty()) {
    throw CommandFailure("nothing was exported to " + options.file +
                         " because no kernel is needed; quantjit prewarm with the same options "
                         "shows why");
  }
  what.requests = std::move(gathered.items);
  return what;
}

int run_export(const Context& context, const BundleOptions& options) {
  const ServiceOptions service_options = context.service_options();
  const BundleExport what = export_request(options, service_options.math);
  KernelService service(service_options);
  const BundleExportReport report = export_bundle(service, what);
  if (!report.missing.empty()) {
    return report_missing(context.console, options, report);
  }
  Value::Object document = bundle_value(report.bundle);
  document.emplace_back("missing", Value::Array{});
  context.console.document(std::move(document));
  context.console.line(bundle_text(report.bundle));
  return 0;
}

int run_import(const Context& context, const BundleOptions& options) {
  KernelService service(context.service_options());
  const BundleImportReport report =
      import_bundle(service, {.path = options.file,
                              .verify_key = options.verify_key,
                              .archs = parse_archs(options.source.archs)});
  Value::Object document = bundle_value(report.bundle);
  document.emplace_back("root", report.root);
  document.emplace_back("imported", report.imported);
  document.emplace_back("already_there", report.already_there);
  document.emplace_back("failed", array_of(report.failed, problem_value));
  Console& console = context.console;
  console.document(std::move(document));
  console.line(bundle_text(report.bundle));
  for (const BundleProblem& problem : report.failed) {
    print_problem(console, "failed", problem);
  }
  console.line(fmt::format("{} imported into {}, {} already there, {} failed", report.imported,
                           report.root, report.already_there, report.failed.size()));
  return report.failed.empty() ? 0 : 1;
}

int run_verify(Console& console, const BundleOptions& options) {
  const BundleVerification report = verify_bundle({.path = options.file,
                                                   .verify_key = options.verify_key,
                                                   .archs = parse_archs(options.source.archs)});
  Value::Object document = bundle_value(report.bundle);
  document.emplace_back("bad", array_of(report.bad, problem_value));
  console.document(std::move(document));
  console.line(bundle_text(report.bundle));
  for (const BundleProblem& problem : report.bad) {
    print_problem(console, "bad", problem);
  }
  console.line(fmt::format("{} bad", report.bad.size()));
  return report.bad.empty() ? 0 : 1;
}

int run_list(Console& console, const BundleOptions& options) {
  const BundleInfo bundle = read_bundle(options.file);
  Value::Object document = bundle_value(bundle);
  document.emplace_back("items", array_of(bundle.entries, [](const BundleEntry& entry) -> Value {
                          return Value::Object{{"key", entry.key},
                                               {"traits", entry.traits},
                                               {"arch", entry.arch},
                                               {"math", entry.math},
                                               {"code", entry.code_kind},
                                               {"bytes", entry.bytes},
                                               {"packed_bytes", entry.packed_bytes},
                                               {"sha256", entry.sha256}};
                        }));
  console.document(std::move(document));
  for (const BundleEntry& entry : bundle.entries) {
    console.line(fmt::format("{}  {:>8}  {:<7} {:<7} {:<5}  {}", short_key(entry.key), entry.bytes,
                             entry.arch, entry.math, entry.code_kind, entry.traits));
  }
  console.line(bundle_text(bundle));
  return 0;
}

}  // namespace

int execute(Context& context, const BundleOptions& options) {
  switch (options.action) {
    case BundleAction::kExport: return run_export(context, options);
    case BundleAction::kImport: return run_import(context, options);
    case BundleAction::kVerify: return run_verify(context.console, options);
    case BundleAction::kList: break;
  }
  return run_list(context.console, options);
}

}  // namespace quantjit::cli
