// SPDX-License-Identifier: Apache-2.0
// The tiers: memory -> disk -> remote (remote_fetch.cpp) -> compile -> publish.
#include "src/base/log.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>

namespace quantjit {

using service::Fetched;
using service::ImagePointer;
using service::Request;

std::shared_ptr<const service::KernelSources> KernelService::Body::sources() {
  const std::lock_guard lock(sources_mutex_);
  if (!sources_) {
    sources_ = options.kernel_dir.empty()
                   ? service::KernelSources::embedded()
                   : service::KernelSources::from_directory(options.kernel_dir);
  }
  return sources_;
}

void KernelService::Body::reload() {
  reload_operations();
  {
    const std::lock_guard lock(sources_mutex_);
    sources_.reset();
  }
  forget_loaded();
  const std::unique_lock lock(images_mutex);
  images.clear();
}

Request KernelService::Body::request_for(const Descriptor& descriptor, const Arch& arch) {
  const CodeKind code = options.code == CodeKind::kAuto ? CodeKind::kCubin : options.code;
  return make_request(descriptor, arch, options.math, code, sources());
}

Fetched KernelService::Body::fetch(const Request& request, ImagePointer stored) {
  if (ImagePointer image = find_image(request.id)) {
    counters.memory_hits.fetch_add(1, std::memory_order_relaxed);
    return {std::move(image), ImageSource::kMemory};
  }
  return image_flights_.run(
      request.id, [&] { return fetch_cold(request, std::move(stored)); },
      [&] { counters.waits.fetch_add(1, std::memory_order_relaxed); });
}

Fetched KernelService::Body::fetch_cold(const Request& request, ImagePointer stored) {
  // Another thread's flight may have ended between this thread's look and its own flight.
  if (ImagePointer image = find_image(request.id)) {
    return {std::move(image), ImageSource::kMemory};
  }
  if (stored == nullptr) {
    stored = lookup(request);
  }
  if (stored != nullptr) {
    counters.disk_hits.fetch_add(1, std::memory_order_relaxed);
    return {remember(request, std::move(stored)), ImageSource::kDisk};
  }
  if (!may_compile() || (may_ask_remote() && toolchain.find() == nullptr)) {
    if (ImagePointer image = fetch_remotely(request)) {
      return {remember(request, std::move(image)), ImageSource::kRemote};
    }
  }
  if (!may_compile()) {
    throw_sealed_miss(request);
  }
  const std::string identity = require_toolchain(request).identity.short_form();
  cache::Turn turn;
  if (request.origin == service::Origin::kHere) {
    turn = store.wait_for_entry_or_lease({request.id, identity}, request.key_text);
  }
  if (turn.found()) {
    if (ImagePointer image = from_entry(request, std::move(*turn.entry), turn.path, identity)) {
      counters.disk_hits.fetch_add(1, std::memory_order_relaxed);
      return {remember(request, std::move(image)), ImageSource::kDisk};
    }
  }
  Fetched fetched = fetch_or_compile(request, identity);
  return {remember(request, std::move(fetched.image)), fetched.source};
}

ImagePointer KernelService::Body::find_image(const std::string& request_id) {
  const std::shared_lock lock(images_mutex);
  const auto found = images.find(request_id);
  return found == images.end() ? nullptr : found->second;
}

ImagePointer KernelService::Body::lookup(const Request& request) {
  const service::Toolchain::Found* const found = toolchain.find();
  const std::string identity = found != nullptr ? found->identity.short_form() : std::string{};
  cache::LookupResult result;
  if (found != nullptr) {
    result = store.lookup({request.id, identity}, request.key_text);
  }
  if (!result.found() && (found == nullptr || !may_compile())) {
    result = store.lookup_any_toolchain(request.id, request.key_text);
  }
  if (result.status == cache::LookupStatus::kRejected) {
    counters.rejected_entries.fetch_add(1, std::memory_order_relaxed);
  }
  if (!result.found()) {
    return nullptr;
  }
  ImagePointer image = from_entry(request, std::move(*result.entry), result.path, identity);
  if (!image) {
    counters.rejected_entries.fetch_add(1, std::memory_order_relaxed);
    base::log_warn("cache entry " + result.path +
                   " has metadata that does not fit its key; it is compiled again");
  }
  return image;
}

ImagePointer KernelService::Body::compile(const Request& request) {
  const service::Toolchain::Found& found =
      toolchain.require(request.traits_text, request.arch.to_string());
  counters.compiles.fetch_add(1, std::memory_order_relaxed);
  try {
    ImagePointer image = compile_image(request, found);
    counters.compile_times.add(image->info.compile_ms / 1000);
    base::log_info("compiled " + request.traits_text + " for " + request.arch.to_string() + " in " +
                   std::to_string(image->info.compile_ms) + " ms");
    return image;
  } catch (const Error&) {
    counters.compile_failures.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

std::string KernelService::Body::publish(const Request& request, const cache::Entry& entry) {
  if (!serializable(entry)) {
    counters.publish_failures.fetch_add(1, std::memory_order_relaxed);
    base::log_warn("the entry of " + request.traits_text +
                   " is beyond the limits of the cache format; it stays in memory");
    return {};
  }
  cache::PublishOutcome outcome = store.publish(entry);
  if (outcome.status == cache::PublishStatus::kFailed) {
    counters.publish_failures.fetch_add(1, std::memory_order_relaxed);
  }
  return outcome.status == cache::PublishStatus::kPublished ? std::move(outcome.path)
                                                            : std::string();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the map takes it over
ImagePointer KernelService::Body::remember(const Request& request, ImagePointer image) {
  const std::unique_lock lock(images_mutex);
  return images.try_emplace(request.id, std::move(image)).first->second;
}

}  // namespace quantjit
