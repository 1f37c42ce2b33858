// SPDX-License-Identifier: Apache-2.0
#include "src/io/manifest.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/kernel_list.hpp"

#include <fmt/format.h>

#include <set>

namespace quantjit::cli {
namespace {

/// What a trace asks for beside what a manifest offers.
struct Coverage {
  std::vector<PrewarmItem> requested;  ///< distinct
  std::vector<PrewarmItem> missing;
  std::vector<PrewarmItem> unused;  ///< in the manifest, never asked for
  std::size_t torn = 0;             ///< records of the trace that were cut off
};

Coverage measure(const CoverageOptions& options, MathMode preference) {
  std::vector<Arch> archs = parse_archs(options.archs);
  Coverage coverage;
  KernelList requested(preference);
  std::set<Arch> recorded;
  for (const std::string& path : options.traces) {
    const io::Trace trace = io::read_trace_file(path);
    coverage.torn += trace.torn;
    for (const PrewarmItem& record : trace.records) {
      recorded.insert(record.arch);
      if (archs.empty()) {
        requested.add(record);
      }
      for (const Arch& arch : archs) {
        requested.add({record.descriptor, arch});
      }
    }
  }
  if (archs.empty()) {  // of an item without any: whatever the trace may need
    archs.assign(recorded.begin(), recorded.end());
  }
  KernelList offered(preference);
  const io::Manifest manifest = io::read_manifest_file(options.manifest);
  for (const io::ManifestItem& item : manifest.items) {
    for (const Arch& arch : item.archs.empty() ? archs : item.archs) {
      offered.add({item.descriptor, arch});
    }
  }
  coverage.requested = requested.items();
  coverage.missing = requested.without(offered);
  coverage.unused = offered.without(requested);
  return coverage;
}

Value describe(const std::vector<PrewarmItem>& items) {
  return array_of(items, [](const PrewarmItem& item) -> Value {
    return Value::Object{{"traits", to_text(item.descriptor)}, {"arch", item.arch.to_string()}};
  });
}

void print(Console& console, const Coverage& coverage) {
  for (const PrewarmItem& item : coverage.missing) {
    console.line(fmt::format("miss {} {}", item.arch.to_string(), to_text(item.descriptor)));
  }
  console.line(fmt::format("{} of {} requests covered, {} would miss, {} of the manifest unused",
                           coverage.requested.size() - coverage.missing.size(),
                           coverage.requested.size(), coverage.missing.size(),
                           coverage.unused.size()));
  if (coverage.torn > 0) {
    console.message(fmt::format(
        "{} record(s) of the trace were cut off by a crash and are not counted", coverage.torn));
  }
}

}  // namespace

int execute(Context& context, const CoverageOptions& options) {
  const Coverage coverage = measure(options, context.service_options().math);
  context.console.document(
      Value::Object{{"requested", coverage.requested.size()},
                    {"covered", coverage.requested.size() - coverage.missing.size()},
                    {"missing", describe(coverage.missing)},
                    {"unused", describe(coverage.unused)},
                    {"torn", coverage.torn}});
  print(context.console, coverage);
  return coverage.missing.empty() ? 0 : 1;
}

}  // namespace quantjit::cli
