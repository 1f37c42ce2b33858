// SPDX-License-Identifier: Apache-2.0
#include "src/driver/driver_api.hpp"

#include "src/driver/driver_table.hpp"

#include <quantjit/error.hpp>

#include <map>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace quantjit::driver {
namespace {

constexpr const char* kDefaultLibrary = "libcuda.so.1";

std::atomic<bool> process_live{true};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<DriverApi>> by_path;
};

/// Never destroyed: driver objects with static storage may outlive any static of this file.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

/// A word that the kernel clears in every child process, however it was made. Where it cannot do
/// that, the fork handler of load() does it for fork().
std::atomic<unsigned>* make_process_mark() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    static std::atomic<unsigned> word{0};
    return &word;
  }
  (void)madvise(page, bytes, MADV_WIPEONFORK);
  return new (page) std::atomic<unsigned>(0);
}

/// Finds entry points by name and version, through the library's own lookup where it has one.
class SymbolLookup {
 public:
  explicit SymbolLookup(const base::DynamicLibrary& library)
      : library_(library),
        get_proc_address_(reinterpret_cast<decltype(&::cuGetProcAddress)>(
            library.symbol("cuGetProcAddress_v2"))) {}

  /// @param name     base name, as the versioned lookup wants it
  /// @param exported name of that version in the library's symbol table
  [[nodiscard]] void* find(const char* name, const char* exported, int version) const {
    void* address = nullptr;
    if (get_proc_address_ == nullptr) {
      return library_.symbol(exported);
    }
    CUdriverProcAddressQueryResult status{};
    const CUresult code =
        get_proc_address_(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    return code == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS ? address : nullptr;
  }

 private:
  const base::DynamicLibrary& library_;
  decltype(&::cuGetProcAddress) get_proc_address_;
};

template <typename Function>
void assign(Function& slot, void* address) {
  slot = reinterpret_cast<Function>(address);
}

base::DynamicLibrary open_library(const std::string& name) {
  base::DynamicLibrary::OpenFailure failure;
  auto library = base::DynamicLibrary::open(name, &failure);
  if (!library) {
    throw DriverError("dlopen", 0, "DRIVER_LIBRARY_NOT_FOUND",
                      "the CUDA driver library " + name + " could not be opened (" +
                          failure.reason +
                          "); install the NVIDIA driver, or name a driver library with "
                          "QUANTJIT_CUDA_DRIVER");
  }
  return library;
}

int query_version(const base::DynamicLibrary& library, const std::string& path) {
  const auto get_version =
      reinterpret_cast<decltype(&::cuDriverGetVersion)>(library.symbol("cuDriverGetVersion"));
  int version = 0;
  const int code = get_version == nullptr ? -1 : static_cast<int>(get_version(&version));
  if (code == CUDA_ERROR_STUB_LIBRARY) {
    throw DriverError("cuDriverGetVersion", code, "CUDA_ERROR_STUB_LIBRARY",
                      path + ": " + remedy_for(code));
  }
  if (code != CUDA_SUCCESS) {
    throw DriverError("dlsym", 0, "DRIVER_SYMBOL_MISSING",
                      path +
                          " does not tell its version through cuDriverGetVersion, so it is no "
                          "usable CUDA driver; name another with QUANTJIT_CUDA_DRIVER");
  }
  return version;
}

}  // namespace

std::string version_text(int driver_version) {
  return std::to_string(driver_version / 1000) + "." + std::to_string(driver_version % 1000 / 10);
}

#define QUANTJIT_TEXT_OF_(x) #x
#define QUANTJIT_TEXT_OF(x) QUANTJIT_TEXT_OF_(x)

DriverApi::DriverApi(base::DynamicLibrary library)
    : library_(library),
      path_(library_.path()),
      table_(std::make_unique<DriverTable>()),
      version_(query_version(library_, path_)),
      wants_ptx_(library_.symbol("qj_wants_ptx") != nullptr),
      share_host_(reinterpret_cast<ShareHost>(library_.symbol("qj_sim_share_host"))),
      no_slots_(std::make_unique<DeviceSlots>(0)) {
  check_version();
  const SymbolLookup lookup(library_);
  const auto find = [&](const char* name, const char* exported, int version, bool required) {
    void* const address = lookup.find(name, exported, version);
    if (address == nullptr && required) {
      throw DriverError(name, 0, "DRIVER_SYMBOL_MISSING",
                        path_ + " (CUDA " + version_text(version_) +
                            ") does not offer this entry point in the form of CUDA " +
                            version_text(version) + "; install a complete, newer NVIDIA driver");
    }
    return address;
  };
// Not through a further macro, which would expand `name` to the one with a version at its end.
#define QUANTJIT_REQUIRED(name, version) \
  assign(table_->name, find(#name, QUANTJIT_TEXT_OF(name), version, true));
#define QUANTJIT_OPTIONAL(name, version) \
  assign(table_->name, find(#name, QUANTJIT_TEXT_OF(name), version, false));
  QUANTJIT_DRIVER_SYMBOLS(QUANTJIT_REQUIRED, QUANTJIT_OPTIONAL)
#undef QUANTJIT_OPTIONAL
#undef QUANTJIT_REQUIRED
}

DriverApi::~DriverApi() = default;

void DriverApi::check_version() const {
  if (version_ < kMinimumDriverVersion) {
    throw DriverError("cuDriverGetVersion", 0, "DRIVER_TOO_OLD",
                      path_ + " supports CUDA " + version_text(version_) + " but at least " +
                          version_text(kMinimumDriverVersion) +
                          " is needed; update the NVIDIA driver");
  }
}

const DriverApi& DriverApi::load(const std::string& path) {
  static std::once_flag hooks;
  std::call_once(hooks, [] {
    process_mark = make_process_mark();
    pthread_atfork(nullptr, nullptr, [] { process_mark->store(0, std::memory_order_relaxed); });
    // Destructors run in reverse order: objects made after this point still find the driver alive.
    // Not by atexit(), which ThreadSanitizer calls also after this library was unloaded.
    struct AtExit {
      AtExit() = default;
      AtExit(const AtExit&) = delete;
      AtExit& operator=(const AtExit&) = delete;
      ~AtExit() { process_live.store(false, std::memory_order_relaxed); }
    };
    static const AtExit at_exit;
  });
  const std::string name = path.empty() ? kDefaultLibrary : path;
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  auto& slot = known.by_path[name];
  if (slot == nullptr) {
    slot.reset(new DriverApi(open_library(name)));
  }
  return *slot;
}

const DriverApi& DriverApi::get(const std::string& path) {
  const DriverApi& api = load(path);
  api.initialize();
  return api;
}

bool DriverApi::process_is_live() noexcept {
  return process_live.load(std::memory_order_relaxed);
}

void DriverApi::initialize() const {
  if (!initialized_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (!initialized_.load(std::memory_order_relaxed)) {
      check(*this, table_->cuInit(0), "cuInit", path_);
      int count = 0;
      check(*this, table_->cuDeviceGetCount(&count), "cuDeviceGetCount", path_);
      if (count == 0) {
        throw_driver_error(*this, "cuDeviceGetCount", CUDA_ERROR_NO_DEVICE, path_);
      }
      slots_ = std::make_unique<DeviceSlots>(count);
      mark_at_initialization_ = mark_of_this_process();
      process_id_ = getpid();
      initialized_.store(true, std::memory_order_release);
    }
  }
  if (forked()) [[unlikely]] {
    throw_forked();
  }
}

unsigned DriverApi::mark_of_this_process() {
  static std::atomic<unsigned> last_mark{0};  // inherited by children, so that no mark comes twice
  const unsigned fresh = last_mark.fetch_add(1, std::memory_order_relaxed) + 1;
  unsigned mark = 0;
  return process_mark->compare_exchange_strong(mark, fresh) ? fresh : mark;
}

void DriverApi::throw_forked() const {
  throw DriverError("cuInit", 0, "FORKED_PROCESS",
                    "process " + std::to_string(getpid()) + " was forked from process " +
                        std::to_string(process_id_) +
                        " after CUDA was initialized there, and CUDA does not survive fork(); "
                        "start workers by spawning a new program, or fork before the first use");
}

DeviceSlots& DriverApi::slots() const noexcept {
  return initialized_.load(std::memory_order_acquire) ? *slots_ : *no_slots_;
}

}  // namespace quantjit::driver
