// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.hpp"
#include "src/bundle/bundle_layer.hpp"
#include "src/driver/device.hpp"
#include "src/remote/open.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

namespace quantjit {
namespace {

cache::StoreOptions store_options(const ServiceOptions& options) {
  cache::StoreOptions store;
  for (const std::string& root : options.cache_roots.value_or(std::vector<std::string>{})) {
    store.roots.push_back({root, {}});
  }
  std::vector<cache::RootSpec> shared;
  for (const SharedRoot& root : options.shared_roots) {
    shared.push_back({root.root, root.key_file});
  }
  store.roots = cache::merge_roots(std::move(store.roots), shared);
  std::vector<std::string> bundles;
  for (const cache::RootSpec& root : store.roots) {
    if (root.mac_key_file.empty() && bundle::is_bundle_path(root.path)) {
      bundles.push_back(root.path);
    }
  }
  if (!bundles.empty()) {
    store.file_system_owner =
        std::make_shared<bundle::BundleLayers>(cache::posix_file_system(), std::move(bundles));
    store.file_system = store.file_system_owner.get();
  }
  store.max_bytes = options.cache_max_bytes;
  return store;
}

}  // namespace

KernelService::Body::Body(ServiceOptions service_options)
    : options(std::move(service_options)),
      toolchain(service::nvrtc_search(options.nvrtc)),
      store(store_options(options)),
      remote(remote::open_tiers(options.remote)) {}

KernelService::KernelService(ServiceOptions options) {
  if (!options.cache_roots) {
    options.cache_roots = default_cache_roots();
    if (options.cache_roots->empty() && options.shared_roots.empty()) {
      base::log_warn(
          "the user has no home directory, so compiled kernels are kept in memory only; "
          "set QUANTJIT_CACHE_DIR to a directory of your own to store them");
    }
  }
  validate(options.geometry);
  body_ = std::make_unique<Body>(std::move(options));
  if (!body_->options.record.empty()) {
    record(body_->options.record);
  }
}

KernelService::~KernelService() = default;
KernelService::KernelService(KernelService&&) noexcept = default;
KernelService& KernelService::operator=(KernelService&&) noexcept = default;

Image KernelService::get_image(const Descriptor& descriptor, const Arch& arch,
                               ImageSource* source) {
  body_->counters.requests.fetch_add(1, std::memory_order_relaxed);
  const service::Request request = body_->request_for(descriptor, arch);
  body_->note(descriptor, arch);
  service::Fetched fetched = body_->fetch(request);
  if (source != nullptr) {
    *source = fetched.source;
  }
  return Image(std::move(fetched.image));
}

Image KernelService::compile(const Descriptor& descriptor, const Arch& arch) {
  const service::Request request = body_->request_for(descriptor, arch);
  if (!body_->may_compile()) {
    throw SealedMiss(request.traits_text + " for " + arch.to_string() +
                     " cannot be compiled, since the service is sealed or compiling is off "
                     "(QUANTJIT_JIT=off); ask for the stored image");
  }
  return Image(body_->compile(request));
}

void KernelService::reload_sources() {
  body_->reload();
}

const ServiceOptions& KernelService::options() const {
  return body_->options;
}

std::vector<RemoteTierStats> KernelService::remote_stats() const {
  return body_->remote != nullptr ? body_->remote->stats() : std::vector<RemoteTierStats>{};
}

bool KernelService::flush_remote(std::chrono::milliseconds timeout) {
  return body_->remote == nullptr || body_->remote->flush(timeout);
}

ServiceStats KernelService::stats() const {
  const service::Counters& counters = body_->counters;
  const auto read = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const DeviceStats kernels = service::sum_over_devices(counters);
  ServiceStats stats{.requests = read(counters.requests) + kernels.requests,
                     .memory_hits = read(counters.memory_hits) + kernels.memory_hits,
                     .disk_hits = read(counters.disk_hits),
                     .compiles = read(counters.compiles),
                     .compile_failures = read(counters.compile_failures),
                     .waits = read(counters.waits),
                     .loads = kernels.loads,
                     .rejected_entries = read(counters.rejected_entries),
                     .publish_failures = read(counters.publish_failures),
                     .sealed_misses = read(counters.sealed_misses),
                     .capture_misses = read(counters.capture_misses),
                     .nvrtc_loaded = body_->toolchain.is_loaded()};
  for (const RemoteTierStats& tier : remote_stats()) {
    stats.remote_hits += tier.hits;
    stats.remote_misses += tier.misses;
    stats.remote_failures += tier.failures;
    stats.remote_rejected += tier.rejected;
    stats.remote_puts += tier.puts;
    stats.remote_put_failures += tier.put_failures;
    stats.remote_dropped += tier.dropped;
    stats.remote_benched += tier.skipped;
    stats.fleet_waits += tier.waits;
    stats.service_compiles += tier.service_compiles;
  }
  return stats;
}

}  // namespace quantjit
