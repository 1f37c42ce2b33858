// SPDX-License-Identifier: Apache-2.0
// From an image to a kernel on a device.
#include "kernels/params.h"
#include "src/base/log.hpp"
#include "src/driver/stream.hpp"
#include "src/service/body.hpp"
#include "src/service/kept_libraries.hpp"
#include "src/service/target.hpp"
#include "src/traits/custom.hpp"

#include <quantjit/error.hpp>

#include <optional>

namespace quantjit {

using service::Fetched;
using service::ImagePointer;

const driver::DriverApi& KernelService::Body::driver() {
  const driver::DriverApi* api = driver_.load(std::memory_order_acquire);
  if (api == nullptr) {
    api = &driver::DriverApi::get(options.cuda_driver.value_or(std::string{}));
    driver_.store(api, std::memory_order_release);
  }
  return *api;
}

Kernel KernelService::Body::load(const Descriptor& descriptor, int device, Stream stream) {
  validate(descriptor.traits);
  const driver::DriverApi& api = driver();
  api.initialize();  // also refuses to go on in a forked child
  // A capture in this or any other thread must survive what follows, whatever its mode.
  const driver::RelaxedCaptureGuard relaxed(api);
  // Everything below happens in a context of the device: some calls look at the current one.
  const driver::ContextGuard context(api, device);
  driver::require_stream_on(api, stream, device, "the kernel is asked for");
  if (stream != nullptr && options.capture_policy == CapturePolicy::kError &&
      capture_state(api, stream) != driver::CaptureState::kNone) {
    if (!may_compile() && !may_ask_remote()) {
      // A kernel that is nowhere is the graver news. Looking needs no call that a capture forbids;
      // but a capture waits for no network.
      static_cast<void>(fetch_for_device(descriptor, api, device_info(api, device).arch));
    }
    counters.capture_misses.fetch_add(1, std::memory_order_relaxed);
    throw CaptureMiss(to_text(descriptor.traits) + " is not loaded on device " +
                      std::to_string(device) +
                      ", and its stream is being captured into a graph; request or prewarm the "
                      "kernel before the capture begins, or set QUANTJIT_CAPTURE_POLICY=load");
  }
  const service::LoadedKey key{pack(descriptor.traits), device, descriptor.math};
  return kernel_flights_.run(
      key, [&] { return load_and_remember(key, descriptor, api); },
      [&] { counters.waits.fetch_add(1, std::memory_order_relaxed); });
}

Kernel KernelService::Body::load_and_remember(const service::LoadedKey& key,
                                              const Descriptor& descriptor,
                                              const driver::DriverApi& api) {
  service::DeviceCounters& counted = counters.of(key.device);
  std::uint64_t generation = 0;
  {
    // Another thread's flight may have ended between this thread's look and its own flight.
    const std::shared_lock lock(loaded_mutex);
    if (const auto found = loaded.find(key); found != loaded.end()) {
      return found->second;
    }
    generation = loaded_generation;
  }
  try {
    Kernel kernel = load_on_device(descriptor, api, key.device);
    counted.loads.fetch_add(1, std::memory_order_relaxed);
    const std::unique_lock lock(loaded_mutex);
    if (generation != loaded_generation) {
      return kernel;  // of sources or geometry that were replaced meanwhile: for this caller alone
    }
    return loaded.try_emplace(key, std::move(kernel)).first->second;
  } catch (const Error&) {
    counted.load_failures.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

Fetched KernelService::Body::fetch_for_device(const Descriptor& descriptor,
                                              const driver::DriverApi& api, const Arch& arch) {
  const CodeKind code = options.code != CodeKind::kAuto ? options.code
                        : api.wants_ptx()               ? CodeKind::kPtx
                                                        : CodeKind::kCubin;
  const auto snapshot = sources();
  const auto request_for = [&](const Arch& target, CodeKind kind) {
    return make_request(descriptor, target, options.math, kind, snapshot);
  };
  const service::Request request = request_for(arch, code);
  const service::Toolchain::Found* const found = may_compile() ? toolchain.find() : nullptr;
  if (found == nullptr || options.code == CodeKind::kCubin) {
    return fetch(request);
  }
  if (ImagePointer image = find_image(request.id)) {
    return {std::move(image), ImageSource::kMemory};
  }
  ImagePointer stored = lookup(request);
  if (stored != nullptr || found->compiler->supports(arch)) {
    return fetch(request, std::move(stored));
  }
  const std::optional<Arch> newest =
      service::newest_ptx_target(arch, found->compiler->supported_archs());
  if (!newest) {
    return fetch(request);  // ends in the compiler's own error, which lists its targets
  }
  base::log_info("NVRTC at " + found->library.path.string() + " does not know " + arch.to_string() +
                 "; taking PTX for " + newest->to_string() +
                 ", which the driver compiles when it loads");
  return fetch(request_for(*newest, CodeKind::kPtx));
}

std::shared_ptr<const driver::Library> KernelService::Body::library_of(
    const ImagePointer& image, const driver::DriverApi& api) {
  const std::string& key = image->info.key;
  const auto known = [&]() -> std::shared_ptr<const driver::Library> {
    {
      const std::lock_guard lock(libraries_mutex_);
      const auto found = libraries_.find(key);
      if (found != libraries_.end()) {
        if (auto library = found->second.lock()) {
          return library;
        }
      }
    }
    return service::find_kept(api, key);
  };
  if (auto library = known()) {
    return library;
  }
  return library_flights_.run(
      key,
      [&] {
        if (auto library = known()) {
          return library;
        }
        auto library = std::make_shared<const driver::Library>(
            driver::Library::load(api, image->code, {image->info.traits, image->info.arch}));
        const std::lock_guard lock(libraries_mutex_);
        libraries_[key] = library;
        return library;
      },
      [] {});
}

namespace {

/// What a launch may ask for of dynamic shared memory without being allowed more.
constexpr std::size_t kFreeSharedBytes = std::size_t{48} << 10U;

std::size_t parameter_bytes_of(const Traits& traits) {
  if (const auto* const custom = std::get_if<CustomTraits>(&traits)) {
    return custom->operation->source.parameter_bytes;
  }
  return std::holds_alternative<PerTokenGroupQuant>(traits) ? sizeof(device::GroupQuantParams)
                                                            : sizeof(device::TokenQuantParams);
}

}  // namespace

Kernel KernelService::Body::load_on_device(const Descriptor& descriptor,
                                           const driver::DriverApi& api, int device) {
  const driver::DeviceInfo& info = device_info(api, device);
  const Fetched fetched = fetch_for_device(descriptor, api, info.arch);
  const auto& entries = fetched.image->info.entry_points;
  if (entries.size() > detail::kMaxEntryPoints) {
    throw CompileError("the image of " + fetched.image->info.traits +
                           " has more entry points than a descriptor may have",
                       {});
  }
  auto state = std::make_shared<detail::LoadedKernel>();
  state->traits = descriptor.traits;
  state->image = fetched.image;
  state->library = library_of(fetched.image, api);
  state->api = &api;
  state->device = &info;
  state->primary_context = primary_context(api, device);
  const auto* const custom = std::get_if<CustomTraits>(&descriptor.traits);
  if (custom == nullptr) {
    state->geometry = rules_for(geometry_kernel(descriptor.traits), info);
  }
  const std::size_t parameter_bytes = parameter_bytes_of(descriptor.traits);
  const bool wants_pdl =
      std::visit([](const auto& traits) { return traits.pdl; }, descriptor.traits);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    state->entries[i] = state->library->kernel(entries[i].lowered_name);
    state->library->prepare(state->entries[i], device);
    // Sources of another version, or of the program, may take other parameters.
    if (!options.kernel_dir.empty() || custom != nullptr) {
      state->library->require_single_parameter(state->entries[i], device, parameter_bytes);
    }
    if (custom != nullptr && custom->operation->source.dynamic_shared_bytes > kFreeSharedBytes) {
      state->library->allow_dynamic_shared(state->entries[i], device,
                                           custom->operation->source.dynamic_shared_bytes);
    }
    state->programmatic[i] = wants_pdl && entries[i].pdl_wait ? driver::ProgrammaticLaunch::kOn
                                                              : driver::ProgrammaticLaunch::kOff;
    if (wants_pdl && !entries[i].pdl_wait) {
      base::log_warn("kernel " + entries[i].name +
                     " never waits for the kernel before it (griddepcontrol.wait); it is "
                     "launched without programmatic dependent launch");
    }
  }
  return Kernel(std::move(state));
}

}  // namespace quantjit
