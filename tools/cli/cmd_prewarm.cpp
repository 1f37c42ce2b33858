// SPDX-License-Identifier: Apache-2.0
#include "src/base/resources.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/interrupt.hpp"
#include "tools/cli/prewarm_pool.hpp"
#include "tools/cli/prewarm_progress.hpp"
#include "tools/cli/prewarm_report.hpp"
#include "tools/cli/prewarm_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace quantjit::cli {
namespace {

/// A worker with libnvrtc in it, in the middle of a compile.
constexpr std::uint64_t kWorkerBytes = std::uint64_t{128} << 20U;

/// How many workers the cores and the memory of this process allow.
int worker_count(int wanted) {
  const int most = wanted > 0 ? wanted : base::usable_cores();
  const std::optional<std::uint64_t> memory = base::available_memory();
  return memory ? static_cast<int>(std::clamp<std::uint64_t>(*memory / kWorkerBytes, 1,
                                                             static_cast<std::uint64_t>(most)))
                : most;
}

/// Waits until all is stored that can be, or the user has enough.
void flush(KernelService& service) {
  constexpr std::chrono::milliseconds kLook{100};
  while (!service.flush_remote(kLook) && !Interrupt::raised().load()) {
  }
}

PrewarmReport compile(Context& context, const PrewarmOptions& options,
                      const ServiceOptions& service_options, const std::vector<PrewarmItem>& items,
                      RemoteShare& share) {
  PrewarmMeter meter(context.console);
  const auto show = [&meter](const PrewarmProgress& progress) { meter.show(progress); };
  if (options.isolate) {
    return prewarm_isolated(items, service_options, worker_count(options.jobs), show,
                            Interrupt::raised(), share);
  }
  KernelService service(service_options);
  quantjit::PrewarmOptions how;
  how.jobs = options.jobs;
  how.progress = show;
  how.cancel = &Interrupt::raised();
  PrewarmReport report = service.prewarm(items, how);
  flush(service);
  share = share_of(service);
  return report;
}

}  // namespace

int execute(Context& context, const PrewarmOptions& options) {
  Console& console = context.console;
  const ServiceOptions service_options = context.service_options();
  const PrewarmSource source = gather(options, service_options.math);
  print_models(console, source.models);
  const Interrupt interrupt;
  RemoteShare sum;
  const PrewarmReport report = compile(context, options, service_options, source.items, sum);
  const RemoteShare* const share = service_options.remote.empty() ? nullptr : &sum;
  print_report(console, report, share);
  console.document(describe_prewarm(report, share, source.models));
  if (report.cancelled) {
    console.message(
        fmt::format("interrupted: {} of {} are done and kept; the same command does the rest",
                    report.hits + report.compiled, report.requested));
    return Interrupt::status() == 0 ? 1 : Interrupt::status();
  }
  return report.failures.empty() && refusal_text(source.models).empty() ? 0 : 1;
}

}  // namespace quantjit::cli
