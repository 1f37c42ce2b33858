// SPDX-License-Identifier: Apache-2.0
// Kernels by device: requests, counters, eviction.
#include "src/driver/device.hpp"
#include "src/service/body.hpp"
#include "src/service/kept_libraries.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

namespace quantjit {
namespace {

DeviceStats read(const service::DeviceCounters& counters) {
  const auto load = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {.requests = load(counters.requests),
          .memory_hits = load(counters.memory_hits),
          .loads = load(counters.loads),
          .load_failures = load(counters.load_failures),
          .evictions = load(counters.evictions)};
}

}  // namespace

namespace service {

DeviceStats sum_over_devices(const Counters& counters) {
  DeviceStats sum;
  for (const DeviceCounters& device : counters.devices) {
    const DeviceStats one = read(device);
    sum.requests += one.requests;
    sum.memory_hits += one.memory_hits;
    sum.loads += one.loads;
    sum.load_failures += one.load_failures;
    sum.evictions += one.evictions;
  }
  return sum;
}

}  // namespace service

int KernelService::Body::device_for(Stream stream) {
  const driver::DriverApi& api = driver();
  return driver::is_default_stream(stream) ? driver::current_device(api).value_or(0)
                                           : driver::device_of_stream(api, stream);
}

Kernel KernelService::Body::get(const Descriptor& descriptor, int device, Stream stream) {
  service::DeviceCounters& counted = counters.of(device);
  counted.requests.fetch_add(1, std::memory_order_relaxed);
  Kernel kernel;
  {
    const std::shared_lock lock(loaded_mutex);
    const auto found = loaded.find({pack(descriptor.traits), device, descriptor.math});
    if (found != loaded.end()) {
      counted.memory_hits.fetch_add(1, std::memory_order_relaxed);
      kernel = found->second;
    }
  }
  if (!kernel) {
    driver().initialize();
    note(descriptor, device_info(driver(), device).arch);
    kernel = load(descriptor, device, stream);
  }
  if (!kernel.state()->handed_out.load(std::memory_order_relaxed)) [[unlikely]] {
    hand_out(descriptor, *kernel.state());
  }
  return kernel;
}

void KernelService::Body::hand_out(const Descriptor& descriptor,
                                   const detail::LoadedKernel& kernel) {
  note(descriptor, kernel.device->arch);  // it may have been loaded ahead
  service::keep_loaded(*kernel.api, kernel.image->info.key, kernel.library);
  kernel.handed_out.store(true, std::memory_order_relaxed);
}

Kernel KernelService::get(const Descriptor& descriptor, int device, Stream stream) {
  return body_->get(descriptor, device != kCurrentDevice ? device : body_->device_for(stream),
                    stream);
}

Kernel KernelService::get(std::string_view descriptor, int device, Stream stream) {
  return get(parse(descriptor), device, stream);
}

std::size_t KernelService::evict_memory(int device) {
  if (device < 0) {
    throw InvalidArgument("device", std::to_string(device),
                          "it must be the ordinal of the device whose kernels are dropped");
  }
  std::vector<Kernel> dropped = body_->take_loaded(
      [device](const service::LoadedKey& key, const Kernel&) { return key.device == device; });
  const std::size_t count = dropped.size();
  body_->counters.of(device).evictions.fetch_add(count, std::memory_order_relaxed);
  dropped.clear();
  body_->forget_unloaded_libraries();
  return count;
}

std::vector<Kernel> KernelService::Body::take_loaded(
    const std::function<bool(const service::LoadedKey&, const Kernel&)>& is_wanted) {
  std::vector<Kernel> taken;
  const std::unique_lock lock(loaded_mutex);
  for (auto entry = loaded.begin(); entry != loaded.end();) {
    if (is_wanted(entry->first, entry->second)) {
      taken.push_back(std::move(entry->second));
      entry = loaded.erase(entry);
    } else {
      ++entry;
    }
  }
  return taken;
}

void KernelService::Body::forget_loaded() {
  decltype(loaded) dropped;  // destroyed after the lock, as in take_loaded()
  const std::unique_lock lock(loaded_mutex);
  loaded.swap(dropped);
  ++loaded_generation;
}

void KernelService::Body::forget_unloaded_libraries() {
  const std::lock_guard lock(libraries_mutex_);
  std::erase_if(libraries_, [](const auto& entry) { return entry.second.expired(); });
}

DeviceStats KernelService::device_stats(int device) const {
  DeviceStats stats = read(body_->counters.of(device));
  const std::shared_lock lock(body_->loaded_mutex);
  for (const auto& [key, kernel] : body_->loaded) {
    stats.loaded_kernels += key.device == device ? 1 : 0;
  }
  return stats;
}

}  // namespace quantjit
