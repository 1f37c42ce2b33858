// SPDX-License-Identifier: Apache-2.0
#include "src/capi/guard.hpp"
#include "src/capi/handles.hpp"
#include "src/capi/json.hpp"
#include "src/capi/text.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>

#include <string>
#include <vector>

using namespace quantjit;
using namespace quantjit::capi;

namespace {

std::vector<Arch> archs_of(const qj_prewarm_options& options) {
  std::vector<Arch> archs;
  for (const qj_text& text : array_of(options.archs, options.num_archs, "options.archs")) {
    archs.push_back(Arch::parse(view_of(text, "options.archs")));
  }
  if (options.num_devices != 0 && archs.empty()) {
    archs.emplace_back();  // any will do: what counts is that of the device
  }
  return archs;
}

void append(std::vector<PrewarmItem>& items, const std::vector<PrewarmItem>& more) {
  items.insert(items.end(), more.begin(), more.end());
}

std::vector<PrewarmItem> items_of(const KernelService& service, const qj_prewarm_options& options) {
  const std::vector<Arch> archs = archs_of(options);
  const auto texts = array_of(options.traits, options.num_traits, "options.traits");
  if (!texts.empty() && archs.empty()) {
    throw InvalidArgument("options.archs", "empty",
                          "descriptors need a target: give archs or devices");
  }
  std::vector<PrewarmItem> items;
  for (const qj_text& text : texts) {
    const Descriptor descriptor = service.parse(view_of(text, "options.traits"));
    for (const Arch& arch : archs) {
      items.push_back({descriptor, arch});
    }
  }
  if (options.manifest.size != 0) {
    append(items, read_manifest(std::string(view_of(options.manifest, "options.manifest")), archs));
  }
  if (options.trace.size != 0) {
    append(items, read_trace(std::string(view_of(options.trace, "options.trace")), archs));
  }
  return items;
}

/// Turns `cancel` on where the callback says so.
void tell(const qj_prewarm_options& options, std::atomic<bool>& cancel,
          const PrewarmProgress& progress) {
  const qj_prewarm_progress plain{.struct_size = sizeof(qj_prewarm_progress),
                                  .requested = progress.requested,
                                  .hits = progress.hits,
                                  .compiled = progress.compiled,
                                  .failed = progress.failed,
                                  .seconds = progress.seconds};
  if (options.progress(&plain, options.user) != 0) {
    cancel.store(true, std::memory_order_relaxed);
  }
}

qj_status status_of(const PrewarmReport& report) {
  if (report.cancelled) {
    return remember(QJ_CANCELLED, "the prewarm was ended early, with " +
                                      std::to_string(report.hits + report.compiled) + " of " +
                                      std::to_string(report.requested) +
                                      " kernels there; a second one goes on where it stopped");
  }
  if (!report.complete()) {
    return remember(QJ_INCOMPLETE, std::to_string(report.failures.size()) + " of " +
                                       std::to_string(report.requested) +
                                       " kernels could not be had, the first because " +
                                       report.failures.front().error +
                                       "; the report lists all of them");
  }
  return QJ_OK;
}

}  // namespace

qj_status qj_prewarm(qj_service* service, const qj_prewarm_options* options, char** json,
                     size_t* size) {
  return guard([&] {
    require(service, "service");
    const qj_prewarm_options given = read_struct(options, "options");
    qj_cancel own_cancel;
    qj_cancel& cancel = given.cancel != nullptr ? *given.cancel : own_cancel;
    PrewarmOptions prewarm{.jobs = given.jobs, .memory_limit = given.memory_limit};
    const auto devices = array_of(given.devices, given.num_devices, "options.devices");
    prewarm.devices.assign(devices.begin(), devices.end());
    prewarm.cancel = &cancel.requested;
    if (given.progress != nullptr) {
      prewarm.progress = [&](const PrewarmProgress& progress) {
        tell(given, cancel.requested, progress);
      };
    }
    const PrewarmReport report =
        service->service.prewarm(items_of(service->service, given), prewarm);
    if (json != nullptr) {
      store_text(prewarm_json(report), json, size);
    }
    return status_of(report);
  });
}

qj_status qj_cancel_create(qj_cancel** cancel) {
  return guard([&] {
    require(cancel, "cancel");
    *cancel = new qj_cancel;
  });
}

void qj_cancel_request(qj_cancel* cancel) {
  if (cancel != nullptr) {
    cancel->requested.store(true, std::memory_order_relaxed);
  }
}

void qj_cancel_destroy(qj_cancel* cancel) {
  delete cancel;
}
