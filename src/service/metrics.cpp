// SPDX-License-Identifier: Apache-2.0
#include "src/base/exposition.hpp"
#include "src/service/body.hpp"

#include <quantjit/metrics.hpp>
#include <quantjit/version.hpp>

#include <vector>

namespace quantjit {
namespace {

using Kind = base::Exposition::Kind;

void write_requests(base::Exposition& to, const ServiceStats& stats) {
  to.counter("quantjit_requests_total", "Kernels and images that were asked for.", stats.requests);
  to.family("quantjit_hits_total", Kind::kCounter, "Requests answered without a compile, by tier.");
  to.sample(stats.memory_hits, {{"tier", "memory"}});
  to.sample(stats.disk_hits, {{"tier", "disk"}});
  to.sample(stats.remote_hits, {{"tier", "remote"}});
  to.counter("quantjit_waits_total", "Requests that waited for another thread's compile.",
             stats.waits);
  to.counter("quantjit_rejected_entries_total",
             "Damaged or untrusted cache entries that were treated as a miss.",
             stats.rejected_entries);
  to.counter("quantjit_publish_failures_total", "Images that could not be stored.",
             stats.publish_failures);
  to.counter("quantjit_sealed_misses_total",
             "Requests that failed because compiling is not allowed.", stats.sealed_misses);
  to.counter("quantjit_capture_misses_total",
             "Requests that failed because their stream was being captured.", stats.capture_misses);
}

void write_compiles(base::Exposition& to, const ServiceStats& stats,
                    const base::TimeHistogram& times) {
  to.counter("quantjit_compiles_total", "Compiles that were begun.", stats.compiles);
  to.counter("quantjit_compile_failures_total", "Compiles that failed.", stats.compile_failures);
  to.family("quantjit_compile_seconds", Kind::kHistogram, "Time of compiles that succeeded.");
  to.histogram(base::TimeHistogram::kBounds, times.counts(), times.seconds());
  to.gauge("quantjit_nvrtc_loaded", "Whether libnvrtc is mapped by this service.",
           stats.nvrtc_loaded ? 1 : 0);
}

struct DeviceRow {
  std::string ordinal;
  DeviceStats stats;
};

void write_devices(base::Exposition& to, const std::vector<DeviceRow>& rows) {
  const auto family = [&](std::string_view name, Kind kind, std::string_view help,
                          std::uint64_t DeviceStats::*member) {
    to.family(name, kind, help);
    for (const DeviceRow& row : rows) {
      to.sample(row.stats.*member, {{"device", row.ordinal}});
    }
  };
  family("quantjit_device_requests_total", Kind::kCounter, "Kernels asked for on a device.",
         &DeviceStats::requests);
  family("quantjit_device_memory_hits_total", Kind::kCounter,
         "Of those, answered by a kernel that was loaded already.", &DeviceStats::memory_hits);
  family("quantjit_device_loads_total", Kind::kCounter, "Kernels loaded on a device.",
         &DeviceStats::loads);
  family("quantjit_device_load_failures_total", Kind::kCounter, "Loads that failed.",
         &DeviceStats::load_failures);
  family("quantjit_device_evictions_total", Kind::kCounter,
         "Kernels dropped from the memory tier on demand.", &DeviceStats::evictions);
  family("quantjit_device_loaded_kernels", Kind::kGauge, "Kernels in the memory tier now.",
         &DeviceStats::loaded_kernels);
}

void write_remote_tiers(base::Exposition& to, const std::vector<RemoteTierStats>& tiers) {
  const auto family = [&](std::string_view name, std::string_view help,
                          std::uint64_t RemoteTierStats::*member) {
    to.family(name, Kind::kCounter, help);
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      const std::string place = std::to_string(i);
      to.sample(tiers[i].*member, {{"tier", tiers[i].label}, {"place", place}});
    }
  };
  family("quantjit_remote_hits_total", "Entries taken from a remote tier.", &RemoteTierStats::hits);
  family("quantjit_remote_misses_total", "Look-ups that it answered with \"not there\".",
         &RemoteTierStats::misses);
  family("quantjit_remote_failures_total",
         "Calls that it refused, or did not answer in time or with sense.",
         &RemoteTierStats::failures);
  family("quantjit_remote_rejected_total", "Answers that were no entry of the wanted key.",
         &RemoteTierStats::rejected);
  family("quantjit_remote_puts_total", "Entries stored there.", &RemoteTierStats::puts);
  family("quantjit_remote_put_failures_total", "Entries that it did not take.",
         &RemoteTierStats::put_failures);
  family("quantjit_remote_dropped_total",
         "Entries that were not sent: the queue was full, or closed.", &RemoteTierStats::dropped);
  family("quantjit_remote_skipped_total", "Calls that were not made since it had failed.",
         &RemoteTierStats::skipped);
  family("quantjit_remote_waits_total", "Waits for another machine's compile.",
         &RemoteTierStats::waits);
  family("quantjit_remote_compiles_total", "Entries that it compiled for this service.",
         &RemoteTierStats::service_compiles);
  family("quantjit_remote_read_bytes_total", "Bytes of its answers.", &RemoteTierStats::bytes_read);
  family("quantjit_remote_written_bytes_total", "Bytes of entries stored there.",
         &RemoteTierStats::bytes_written);
  to.family("quantjit_remote_benched", Kind::kGauge, "Whether it failed and is left alone now.");
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const std::string place = std::to_string(i);
    to.sample(std::uint64_t{tiers[i].benched}, {{"tier", tiers[i].label}, {"place", place}});
  }
}

}  // namespace

std::string prometheus_text(const KernelService& service) {
  const ServiceStats stats = service.stats();
  base::Exposition text;
  text.family("quantjit_build_info", Kind::kGauge, "Version of the library; always 1.");
  text.sample(std::uint64_t{1}, {{"version", kVersion}});
  write_requests(text, stats);
  write_compiles(text, stats, service.body().counters.compile_times);
  std::vector<DeviceRow> devices;
  for (std::size_t ordinal = 0; ordinal < service::kCountedDevices; ++ordinal) {
    const DeviceStats of_device = service.device_stats(static_cast<int>(ordinal));
    if (of_device.requests + of_device.loads + of_device.load_failures + of_device.evictions > 0) {
      devices.push_back({std::to_string(ordinal), of_device});
    }
  }
  if (!devices.empty()) {
    write_devices(text, devices);
  }
  if (const std::vector<RemoteTierStats> tiers = service.remote_stats(); !tiers.empty()) {
    write_remote_tiers(text, tiers);
  }
  return text.take();
}

}  // namespace quantjit
