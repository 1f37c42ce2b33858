// SPDX-License-Identifier: Apache-2.0
// Private state of KernelService.
#pragma once

#include "cache/store.hpp"
#include "src/base/time_histogram.hpp"
#include "src/remote/tiers.hpp"
#include "src/service/image_builder.hpp"
#include "src/service/image_state.hpp"
#include "src/service/kernel_sources.hpp"
#include "src/service/loaded_kernel.hpp"
#include "src/service/recorder.hpp"
#include "src/service/single_flight.hpp"
#include "src/service/toolchain.hpp"
#include "src/service/worker_pool.hpp"

#include <quantjit/service.hpp>
#include <quantjit/source.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quantjit {

/// The default root as a list; empty if the user has no home.
[[nodiscard]] std::vector<std::string> default_cache_roots();

namespace service {

/// In-memory key of a loaded kernel: plain integers, so that a hit costs one hash and one compare.
struct LoadedKey {
  std::uint64_t traits = 0;  ///< pack()
  int device = 0;
  MathMode math = MathMode::kAuto;  ///< as requested

  friend bool operator==(const LoadedKey&, const LoadedKey&) = default;
};

struct LoadedKeyHash {
  std::size_t operator()(const LoadedKey& key) const noexcept {
    const std::uint64_t mixed =
        (key.traits ^ (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.device)) << 48) ^
         (static_cast<std::uint64_t>(key.math) << 60)) *
        0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};

/// Most devices that are counted apart; more are counted as one.
inline constexpr std::size_t kCountedDevices = 64;

/// What concerns the kernels of one device. On a cache line of its own, since every request counts.
struct alignas(64) DeviceCounters {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> loads{0};
  std::atomic<std::uint64_t> load_failures{0};
  std::atomic<std::uint64_t> evictions{0};
};

/// `requests` and `memory_hits` are of images; those of kernels are counted by device.
struct Counters {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> compiles{0};
  std::atomic<std::uint64_t> compile_failures{0};
  std::atomic<std::uint64_t> waits{0};
  std::atomic<std::uint64_t> rejected_entries{0};
  std::atomic<std::uint64_t> publish_failures{0};
  std::atomic<std::uint64_t> sealed_misses{0};
  std::atomic<std::uint64_t> capture_misses{0};
  base::TimeHistogram compile_times;  ///< of those that succeeded
  std::array<DeviceCounters, kCountedDevices> devices;

  [[nodiscard]] DeviceCounters& of(int device) {
    return devices[std::min(static_cast<std::size_t>(static_cast<unsigned>(device)),
                            kCountedDevices - 1)];
  }
};

/// Totals of all devices, `loaded_kernels` left out.
[[nodiscard]] DeviceStats sum_over_devices(const Counters& counters);

/// An image and the tier that it came from.
struct Fetched {
  ImagePointer image;
  ImageSource source = ImageSource::kMemory;
};

}  // namespace service

struct KernelService::Body {
  explicit Body(ServiceOptions service_options);

  ServiceOptions options;
  service::Toolchain toolchain;
  cache::CubinStore store;
  std::unique_ptr<remote::Tiers> remote;  ///< null if there are none
  service::Counters counters;
  service::Recorder recorder;
  std::atomic<bool> sealed{false};

  /// Whether a miss is compiled.
  [[nodiscard]] bool may_compile() const {
    return options.jit && !sealed.load(std::memory_order_acquire);
  }

  /// Whether remote tiers are asked on a miss. A sealed service never waits for a network.
  [[nodiscard]] bool may_ask_remote() const {
    return remote != nullptr && !sealed.load(std::memory_order_acquire);
  }

  /// Notes that a caller asked for a kernel, for the recorder.
  void note(const Descriptor& descriptor, const Arch& arch) noexcept;

  /// Adds an operation of the program, or replaces it. Throws: InvalidArgument.
  void add_operation(Source source);
  /// The registered operation of a name; null if there is none.
  const CustomOperation* find_operation(std::string_view name);

  /// The current snapshot of the kernel sources. Throws: InvalidArgument.
  std::shared_ptr<const service::KernelSources> sources();
  /// The driver, loaded and initialized. Throws: DriverError.
  const driver::DriverApi& driver();

  /// What to ask for where no device has a say: cubins unless PTX is set. Throws as make_request().
  service::Request request_for(const Descriptor& descriptor, const Arch& arch);
  /// memory -> disk -> remote -> compile -> publish. `stored`, if not null, is what the disk has:
  /// it has been looked up already. Throws: CompileError, SealedMiss.
  service::Fetched fetch(const service::Request& request, service::ImagePointer stored = nullptr);
  /// Lookup on disk only: null if absent.
  service::ImagePointer lookup(const service::Request& request);
  /// The image of a request id in the memory tier: null if absent. Counts nothing.
  service::ImagePointer find_image(const std::string& request_id);
  /// Stores an entry on disk. Returns its path, empty if it could not be stored.
  std::string publish(const service::Request& request, const cache::Entry& entry);
  /// Compiles, looking in no tier. Throws: CompileError.
  service::ImagePointer compile(const service::Request& request);
  /// Device of a request that names none: that of the stream, or the current one for a default
  /// stream. Throws: DriverError.
  int device_for(Stream stream);
  /// The kernel of a device: from the memory tier, or load(). Notes the request.
  Kernel get(const Descriptor& descriptor, int device, Stream stream);
  /// Loads on a device after whatever compile it takes; the memory tier has missed.
  Kernel load(const Descriptor& descriptor, int device, Stream stream);

  std::shared_mutex loaded_mutex;  // guards loaded and loaded_generation
  std::unordered_map<service::LoadedKey, Kernel, service::LoadedKeyHash> loaded;
  std::uint64_t loaded_generation = 0;  // guarded by loaded_mutex; grows in forget_loaded()

  /// Takes kernels that `is_wanted` out of `loaded`. They are the caller's to destroy without the
  /// lock, since the last handle unloads its library.
  [[nodiscard]] std::vector<Kernel> take_loaded(
      const std::function<bool(const service::LoadedKey&, const Kernel&)>& is_wanted);
  /// Empties `loaded`, and has kernels whose load is under way not remembered.
  void forget_loaded();

  std::shared_mutex images_mutex;                                 // guards images
  std::unordered_map<std::string, service::ImagePointer> images;  // by request id

  void reload();
  /// Forgets libraries whose last kernel is gone.
  void forget_unloaded_libraries();

  /// The table for a device: that of the options, a tuned one, or the one that ships.
  Geometry geometry_for(const driver::DeviceInfo& info);
  /// Its rules for one kernel.
  std::vector<GeometryRule> rules_for(GeometryKernel kernel, const driver::DeviceInfo& info);
  void forget_geometry();
  /// What a device of this arch runs, with the tier that had it: memory -> disk -> compile.
  service::Fetched fetch_for_device(const Descriptor& descriptor, const driver::DriverApi& api,
                                    const Arch& arch);

 private:
  /// Reads the files of registered operations again. Throws: InvalidArgument for one that is gone.
  void reload_operations();
  void replace_operation(const CustomOperation& operation);
  service::Fetched fetch_cold(const service::Request& request, service::ImagePointer stored);
  /// What remote tiers have, by any toolchain, or compile for a machine that has none. Null if
  /// there is nothing.
  service::ImagePointer fetch_remotely(const service::Request& request);
  /// remote -> compile -> publish, while this process has the lease of its machine. Throws:
  /// CompileError.
  service::Fetched fetch_or_compile(const service::Request& request, const std::string& identity);
  /// The toolchain to compile with. Throws: CompileError that says what remote tiers lack too.
  const service::Toolchain::Found& require_toolchain(const service::Request& request);
  Kernel load_and_remember(const service::LoadedKey& key, const Descriptor& descriptor,
                           const driver::DriverApi& api);
  /// What happens before a caller gets a kernel for the first time.
  void hand_out(const Descriptor& descriptor, const detail::LoadedKernel& kernel);
  Kernel load_on_device(const Descriptor& descriptor, const driver::DriverApi& api, int device);
  std::shared_ptr<const driver::Library> library_of(const service::ImagePointer& image,
                                                    const driver::DriverApi& api);
  service::ImagePointer remember(const service::Request& request, service::ImagePointer image);
  [[noreturn]] void throw_sealed_miss(const service::Request& request);

  std::shared_mutex operations_mutex_;  // guards operations_
  std::map<std::string, const CustomOperation*, std::less<>> operations_;
  std::mutex sources_mutex_;  // guards sources_
  std::shared_ptr<const service::KernelSources> sources_;
  std::atomic<const driver::DriverApi*> driver_{nullptr};
  std::mutex tuned_mutex_;                 // guards tuned_
  std::map<std::string, Geometry> tuned_;  // by key text of the GPU model
  std::mutex libraries_mutex_;             // guards libraries_
  std::map<std::string, std::weak_ptr<const driver::Library>> libraries_;  // by entry key
  service::SingleFlight<std::string, service::Fetched> image_flights_;
  service::SingleFlight<std::string, std::shared_ptr<const driver::Library>> library_flights_;
  service::SingleFlight<service::LoadedKey, Kernel, service::LoadedKeyHash> kernel_flights_;

 public:
  /// Last, so that its threads are gone before what they use.
  service::WorkerPool workers{4};
};

}  // namespace quantjit
