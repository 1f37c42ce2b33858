// SPDX-License-Identifier: Apache-2.0
// KernelService: trait descriptor in, kernel out. memory -> disk -> remote -> compile -> publish.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/geometry.hpp>
#include <quantjit/kernel.hpp>
#include <quantjit/prewarm.hpp>
#include <quantjit/remote.hpp>
#include <quantjit/source.hpp>
#include <quantjit/tensor.hpp>
#include <quantjit/traits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit {

/// What to do when a kernel that is not loaded is requested for a capturing stream.
enum class CapturePolicy : std::uint8_t {
  kError = 0,  ///< throw CaptureMiss; the capture stays valid
  kLoad = 1,   ///< compile and load under a relaxed thread capture mode
};

/// A cache root that others may write: its entries carry a MAC under a key that only its users
/// hold.
struct SharedRoot {
  std::string root;      ///< folder
  std::string key_file;  ///< file that holds the key
};

/// How a service behaves. The defaults are those of an empty environment.
struct ServiceOptions {
  /// Disk roots in lookup order; nothing = the default root ($XDG_CACHE_HOME/quantjit or
  /// ~/.cache/quantjit); an empty list = memory only.
  std::optional<std::vector<std::string>> cache_roots;
  std::vector<SharedRoot> shared_roots;                    ///< looked up behind the others
  std::uint64_t cache_max_bytes = std::uint64_t{2} << 30;  ///< of the written root
  std::string kernel_dir;  ///< replaces the embedded kernel sources; empty = embedded
  std::optional<std::string>
      nvrtc;  ///< path of libnvrtc; one that does not exist means there is none
  std::optional<std::string> cuda_driver;  ///< path of the driver library; nothing = libcuda.so.1
  MathMode math = MathMode::kAuto;         ///< for descriptors that do not name a mode themselves
  CodeKind code = CodeKind::kAuto;         ///< what NVRTC is asked for
  CapturePolicy capture_policy = CapturePolicy::kError;  ///< on streams being captured
  /// Launch geometry in place of the tuned or the built-in table, for the kernels that it names.
  std::vector<GeometryRule> geometry;
  /// false: never compile; a miss is SealedMiss. Remote tiers are asked for what they have.
  bool jit = true;
  /// Remote tiers in lookup order, a URL each (README, "Sharing kernels in a fleet"). They are
  /// asked only where a kernel would be compiled otherwise, and not once the service is sealed.
  std::vector<std::string> remote;
  /// File that KernelService::record() is called with at the beginning; empty = none.
  std::string record;

  /// Defaults overridden by the QUANTJIT_* variables. Reads the environment; call it before threads
  /// change it. Also sets the log level from QUANTJIT_LOG_LEVEL. Throws: InvalidArgument naming the
  /// variable and its value.
  QUANTJIT_API static ServiceOptions from_environment();
};

/// Counters since construction. `entries` of the memory tier are images.
struct ServiceStats {
  std::uint64_t requests = 0;          ///< for kernels and images
  std::uint64_t memory_hits = 0;       ///< answered from memory
  std::uint64_t disk_hits = 0;         ///< answered from disk
  std::uint64_t compiles = 0;          ///< begun
  std::uint64_t compile_failures = 0;  ///< compiles that threw
  std::uint64_t waits = 0;  ///< requests that waited for another thread's compile of the same key
  std::uint64_t loads = 0;  ///< images loaded on a device
  std::uint64_t rejected_entries = 0;  ///< damaged or untrusted entries that were treated as a miss
  std::uint64_t publish_failures = 0;  ///< images that could not be stored
  std::uint64_t sealed_misses = 0;     ///< requests that ended in SealedMiss
  std::uint64_t capture_misses = 0;    ///< requests that ended in CaptureMiss
  bool nvrtc_loaded = false;           ///< libnvrtc is mapped by this service
  // Sums over all remote tiers; `RemoteTierStats` says what they mean.
  std::uint64_t remote_hits = 0;          ///< entries taken from remote tiers
  std::uint64_t remote_misses = 0;        ///< look-ups answered with "not there"
  std::uint64_t remote_failures = 0;      ///< calls that were refused or failed
  std::uint64_t remote_rejected = 0;      ///< answers that were no entry of the wanted key
  std::uint64_t remote_puts = 0;          ///< entries stored
  std::uint64_t remote_put_failures = 0;  ///< entries that were not taken
  std::uint64_t remote_dropped = 0;       ///< entries that were not sent
  std::uint64_t remote_benched = 0;       ///< calls not made, since the server had failed
  std::uint64_t fleet_waits = 0;          ///< waits for another machine's compile
  std::uint64_t service_compiles = 0;     ///< kernels compiled by a compile service
};

/// Counters of one device since construction. See `KernelService::device_stats`.
struct DeviceStats {
  std::uint64_t requests = 0;        ///< kernels asked for on it
  std::uint64_t memory_hits = 0;     ///< of those, answered by a kernel that was loaded already
  std::uint64_t loads = 0;           ///< kernels loaded on it
  std::uint64_t load_failures = 0;   ///< attempts to load one that threw
  std::uint64_t evictions = 0;       ///< kernels dropped by `KernelService::evict_memory`
  std::uint64_t loaded_kernels = 0;  ///< in the memory tier now
};

/// Why a request hits or misses, for people. See `KernelService::explain`.
struct Explanation {
  /// A field of the key that is another one in the nearest entry.
  struct Difference {
    std::string field;   ///< of the key
    std::string wanted;  ///< by the request
    std::string found;   ///< in the nearest entry
  };

  std::string traits;               ///< canonical descriptor text
  Arch arch;                        ///< target
  std::string key;                  ///< entry name that is looked for
  std::string key_text;             ///< what the key is made of
  bool hit = false;                 ///< it is on disk
  std::string path;                 ///< of the entry if hit
  std::string nearest_key;          ///< empty if hit or if the cache is empty
  std::vector<Difference> differs;  ///< from the nearest entry
};

/// Turns trait descriptors into kernels. One compile per key among threads; results are kept in
/// memory and on disk.
///
/// One service serves all GPUs of the process, of one arch or of several.
///
/// Thread safety: all members may be called from any thread. No lock is held while compiling,
/// loading or reading files. A service may be destroyed while its kernels are in use; they keep
/// their libraries.
class QUANTJIT_API KernelService {
 public:
  /// Cheap: touches neither CUDA nor NVRTC nor the disk nor a network. Throws: InvalidArgument for
  /// options that contradict each other.
  explicit KernelService(ServiceOptions options = ServiceOptions::from_environment());
  ~KernelService();
  KernelService(KernelService&&) noexcept;
  KernelService& operator=(KernelService&&) noexcept;
  KernelService(const KernelService&) = delete;
  KernelService& operator=(const KernelService&) = delete;

  /// Adds an operation of the program: from now on its descriptors work as those of the library do.
  /// An operation of the same name is replaced; kernels and descriptors of it that are in use stay.
  /// Does not compile. Throws: InvalidArgument naming the part of the source that breaks a rule.
  void register_source(Source source);
  /// Parses a descriptor text of an operation of the library or of this service. Throws:
  /// InvalidArgument.
  [[nodiscard]] Descriptor parse(std::string_view text) const;

  /// The kernel for a device, compiled and loaded if need be. A repeated request costs one hash
  /// lookup.
  /// @param descriptor what is wanted
  /// @param device CUDA ordinal, or kCurrentDevice for the device of `stream`; where that is null
  /// or a default-stream handle, for the device of the current context (device 0 if there is none)
  /// @param stream if it is capturing and the kernel is not loaded yet, the capture policy applies;
  /// a kernel that is not loaded yet is refused for a stream of another device (InvalidArgument)
  /// Arch, math mode, code and attributes are those of that device, whichever is current: devices
  /// of one arch share an image and its library, mixed archs have an image each. The caller's
  /// current context is the same afterwards, also on errors. Throws: InvalidArgument,
  /// NotImplemented, CompileError, DriverError, SealedMiss, CaptureMiss.
  Kernel get(const Descriptor& descriptor, int device = kCurrentDevice, Stream stream = nullptr);
  /// As above from a trait text.
  Kernel get(std::string_view descriptor, int device = kCurrentDevice, Stream stream = nullptr);

  /// The image for a target, compiled if need be; needs no GPU. `source`, if given, receives the
  /// tier that answered. Throws: InvalidArgument, NotImplemented, CompileError, SealedMiss.
  Image get_image(const Descriptor& descriptor, const Arch& arch, ImageSource* source = nullptr);

  /// As get(), but on another thread: returns at once. Requests beyond a few at a time queue up. A
  /// request that is still queued when the service is destroyed ends in Error; one under way is
  /// waited for. The device is resolved before this returns. A capture in any thread stays valid.
  std::future<Kernel> get_async(const Descriptor& descriptor, int device = kCurrentDevice);

  /// Makes sure that a list of kernels is stored: compiles what is in no tier, several at once, and
  /// loads on `options.devices` if there are any. A pair is a hit only if its entry is read whole
  /// and verified, so that what was counted here is not missing later. Where compiling is not
  /// allowed (jit, seal) it counts and loads, and what is missing is a failure. One pair's failure
  /// leaves the others alone; it is in the report. Without devices it touches no GPU, and what it
  /// compiled is on disk and not kept in memory unless there is no disk root.
  /// Throws: InvalidArgument for a descriptor that is not valid, negative jobs, or a device that
  /// does not exist; DriverError if there is no driver for the devices.
  PrewarmReport prewarm(const std::vector<PrewarmItem>& items, const PrewarmOptions& options = {});
  /// Prewarms what a recorder wrote: prewarm(read_trace(path), options).
  PrewarmReport replay(const std::string& path, const PrewarmOptions& options = {});

  /// From now on nothing is compiled: a request that is in no tier throws SealedMiss with the
  /// descriptor, what is nearest to it, and the command that would prewarm it. The disk is still
  /// read, and entries of any NVRTC are taken, as with `jit` false, which is the same from the
  /// start but for remote tiers, which are asked then and not after seal(). Compiles under way are
  /// finished. It cannot be undone.
  void seal();
  /// Whether seal() was called or `jit` is false.
  [[nodiscard]] bool sealed() const;

  /// Appends each distinct (canonical descriptor, arch) that is asked for by get(), get_async() or
  /// get_image() to a file, also those asked for before this call; hits and misses alike, each once
  /// a service. What prewarm() does is not recorded. Many processes may append to one file; a crash
  /// can only cut off the record that is being written, which readers skip (but network file
  /// systems may mix records of several hosts). A file that cannot be written is one warning, and
  /// requests work as without it. An empty path stops recording. Returns whether it records.
  bool record(const std::string& path);

  /// Compiles without looking in or writing to any tier. Throws as get_image.
  Image compile(const Descriptor& descriptor, const Arch& arch);

  /// Looks without compiling or loading: key, hit or miss, and for a miss the nearest entry's
  /// differing fields.
  Explanation explain(const Descriptor& descriptor, const Arch& arch);

  /// The geometry table that kernels loaded on a device launch with. Throws: DriverError,
  /// InvalidArgument.
  [[nodiscard]] Geometry geometry(int device = kCurrentDevice);
  /// Stores a table beside the cubins for all GPUs of the device's model; it holds for every
  /// service with this cache that has not looked yet, and for kernels that this one loads from now
  /// on. Returns the path of the entry, empty if no cache root takes writes. Throws:
  /// InvalidArgument for a table that is not valid, DriverError.
  std::string store_geometry(int device, std::span<const GeometryRule> rules);

  /// Reads the kernel sources again (QUANTJIT_KERNEL_DIR, files of registered sources) and drops
  /// the memory tier; kernels already handed out stay.
  void reload_sources();

  /// Drops a device's kernels from the memory tier and returns how many there were; the next
  /// request loads them again, without compiling, from images that stay in host memory. Code that
  /// was only loaded ahead (prewarm) leaves the devices once no device's tier shares its image;
  /// code of a kernel that get() has handed out stays loaded, as `Kernel` says. Touches no other
  /// device and needs no context. Throws: InvalidArgument for a negative ordinal.
  std::size_t evict_memory(int device);

  /// Sums over all devices.
  [[nodiscard]] ServiceStats stats() const;
  /// The remote tiers in lookup order; what they are, and their counters.
  [[nodiscard]] std::vector<RemoteTierStats> remote_stats() const;
  /// Waits until every entry that was compiled or found before this call is stored in the remote
  /// tiers that take it, or has failed to be; that happens in the background. False if it takes
  /// longer than `timeout`: it goes on then. The destructor waits for 2 seconds at most (and for
  /// the call that is under way then), and drops what is not stored by then.
  bool flush_remote(std::chrono::milliseconds timeout);
  /// What concerns one device; all zero for one that was never asked for. (Ordinals of 64 and more
  /// are counted as one.)
  [[nodiscard]] DeviceStats device_stats(int device) const;
  /// As given, with the default roots filled in.
  [[nodiscard]] const ServiceOptions& options() const;

  struct Body;  ///< private state; defined inside the library

  [[nodiscard]] Body& body() { return *body_; }

  [[nodiscard]] const Body& body() const { return *body_; }  ///< for the library

 private:
  std::unique_ptr<Body> body_;
};

}  // namespace quantjit
