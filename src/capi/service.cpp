// SPDX-License-Identifier: Apache-2.0
#include "src/capi/guard.hpp"
#include "src/capi/handles.hpp"
#include "src/capi/json.hpp"
#include "src/capi/options.hpp"
#include "src/capi/text.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>
#include <quantjit/metrics.hpp>
#include <quantjit/quantjit.h>

#include <chrono>
#include <string>

using namespace quantjit;
using namespace quantjit::capi;

namespace {

DeviceReport describe(KernelService& service, int ordinal) {
  const driver::DriverApi& api = service.body().driver();
  const int devices = driver::device_count(api);
  const driver::DeviceInfo& info = driver::device_info(api, ordinal);
  return {.ordinal = info.ordinal,
          .name = info.name,
          .arch = info.arch,
          .sm_count = info.sm_count,
          .memory_bytes = info.memory_bytes,
          .driver_version = info.driver_version,
          .simulated = api.share_host() != nullptr,
          .devices = devices};
}

}  // namespace

qj_status qj_service_open(const qj_service_options* options, qj_service** service) {
  return guard([&] {
    require(service, "service");
    *service = new qj_service{KernelService(options_of(options))};
  });
}

void qj_service_close(qj_service* service) {
  delete service;
}

qj_status qj_stats(qj_service* service, char** json, size_t* size) {
  return guard([&] {
    require(service, "service");
    store_text(stats_json(service->service.stats()), json, size);
  });
}

qj_status qj_remote_stats(qj_service* service, char** json, size_t* size) {
  return guard([&] {
    require(service, "service");
    store_text(remote_stats_json(service->service.remote_stats()), json, size);
  });
}

qj_status qj_service_flush_remote(qj_service* service, int64_t timeout_ms, int32_t* complete) {
  return guard([&] {
    require(service, "service");
    if (timeout_ms < 0) {
      throw InvalidArgument("timeout_ms", std::to_string(timeout_ms), "it must not be negative");
    }
    const bool done = service->service.flush_remote(std::chrono::milliseconds(timeout_ms));
    if (complete != nullptr) {
      *complete = done ? 1 : 0;
    }
  });
}

qj_status qj_device_stats(qj_service* service, int32_t device, char** json, size_t* size) {
  return guard([&] {
    require(service, "service");
    store_text(device_stats_json(service->service.device_stats(device)), json, size);
  });
}

qj_status qj_prometheus_text(qj_service* service, char** text, size_t* size) {
  return guard([&] {
    require(service, "service");
    store_text(prometheus_text(service->service), text, size);
  });
}

qj_status qj_device_info(qj_service* service, int32_t device, char** json, size_t* size) {
  return guard([&] {
    require(service, "service");
    store_text(device_json(describe(service->service, device)), json, size);
  });
}

qj_status qj_explain(qj_service* service, const char* traits, size_t traits_size, const char* arch,
                     size_t arch_size, char** json, size_t* size) {
  return guard([&] {
    require(service, "service");
    const Explanation explanation =
        service->service.explain(service->service.parse(view_of(traits, traits_size, "traits")),
                                 Arch::parse(view_of(arch, arch_size, "arch")));
    store_text(explanation_json(explanation), json, size);
  });
}

qj_status qj_reload_sources(qj_service* service) {
  return guard([&] {
    require(service, "service");
    service->service.reload_sources();
  });
}

qj_status qj_evict_memory(qj_service* service, int32_t device, uint64_t* count) {
  return guard([&] {
    require(service, "service");
    const std::size_t dropped = service->service.evict_memory(device);
    if (count != nullptr) {
      *count = dropped;
    }
  });
}

qj_status qj_seal(qj_service* service) {
  return guard([&] {
    require(service, "service");
    service->service.seal();
  });
}
