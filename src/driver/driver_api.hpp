// SPDX-License-Identifier: Apache-2.0
// The CUDA driver library, reached by dlopen, and how its failures become exceptions.
#pragma once

#include "src/base/dynamic_library.hpp"
#include "src/driver/driver_types.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::driver {

struct DriverTable;  // driver_table.hpp, for the .cpp files of this module
struct DeviceSlots;  // ditto

/// Lowest CUDA version a driver must support, in the driver's own form (12000 is 12.0): the first
/// with context-independent libraries and kernel handles.
inline constexpr int kMinimumDriverVersion = 12000;

/// One driver library and its entry points. Created once per library path and kept until the
/// process ends, because the driver does not survive being unloaded. Thread safety: all members may
/// be called from any thread.
class DriverApi {
 public:
  /// The library at `path`, or the system's libcuda.so.1 where `path` is empty; loaded at the first
  /// call. No CUDA call but the version query is made, so this also works on a machine without a
  /// GPU. Throws: DriverError if the library cannot be opened, supports less than
  /// kMinimumDriverVersion or lacks an entry point. A failure is not remembered.
  static const DriverApi& load(const std::string& path = {});
  /// As load(), then initialize().
  static const DriverApi& get(const std::string& path = {});

  DriverApi(const DriverApi&) = delete;
  DriverApi& operator=(const DriverApi&) = delete;
  DriverApi(DriverApi&&) = delete;
  DriverApi& operator=(DriverApi&&) = delete;
  ~DriverApi();

  /// Initializes the driver in this process at the first call; later calls only check that the
  /// process is still the one that did it. Throws: DriverError if initialization fails, if there is
  /// no device, or in a child of the process that initialized the driver (CUDA does not survive
  /// fork()).
  void initialize() const;

  /// File that the loader mapped.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Highest CUDA version that the driver supports, e.g. 13000 for 13.0.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// True if the library asks for PTX rather than cubins by exporting `qj_wants_ptx`, as simulated
  /// devices do.
  [[nodiscard]] bool wants_ptx() const noexcept { return wants_ptx_; }

  /// Makes `bytes` of host memory at `data` memory of a device, for good: 0 if that worked.
  using ShareHost = int (*)(int ordinal, void* data, std::uint64_t bytes);

  /// Simulated devices offer it (`qj_sim_share_host`); null with any other driver.
  [[nodiscard]] ShareHost share_host() const noexcept { return share_host_; }

  /// True in a child of the process that initialized this driver. A few loads, no system call.
  [[nodiscard]] bool forked() const noexcept {
    return initialized_.load(std::memory_order_relaxed) &&
           process_mark->load(std::memory_order_relaxed) != mark_at_initialization_;
  }

  /// False once the process has begun to run its exit handlers: from then on driver objects are
  /// left alone.
  [[nodiscard]] static bool process_is_live() noexcept;

  [[nodiscard]] const DriverTable& table() const noexcept { return *table_; }

  /// What is remembered per device; of no device before initialize(). For this module.
  [[nodiscard]] DeviceSlots& slots() const noexcept;

 private:
  /// A word that is different in every process that uses CUDA: it reads 0 in a forked child. Set by
  /// load().
  inline static std::atomic<unsigned>* process_mark = nullptr;

  explicit DriverApi(base::DynamicLibrary library);
  void check_version() const;
  [[noreturn]] void throw_forked() const;
  static unsigned mark_of_this_process();

  base::DynamicLibrary library_;
  std::string path_;
  std::unique_ptr<DriverTable> table_;
  int version_ = 0;
  bool wants_ptx_ = false;
  ShareHost share_host_ = nullptr;
  mutable std::mutex mutex_;  // guards initialization
  mutable std::atomic<bool> initialized_{false};
  mutable unsigned mark_at_initialization_ = 0;
  mutable long process_id_ = 0;  // of the process that initialized
  std::unique_ptr<DeviceSlots> no_slots_;
  mutable std::unique_ptr<DeviceSlots> slots_;  // set by initialize()
};

/// "12.8" for 12080.
[[nodiscard]] std::string version_text(int driver_version);

/// The enumerator's name of a result code, e.g. "CUDA_ERROR_NO_BINARY_FOR_GPU".
[[nodiscard]] std::string error_name(const DriverApi& api, int code);

/// What to do about a result code. `detail` may add what the call was about; it is put first.
[[nodiscard]] std::string remedy_for(int code, std::string_view detail = {});

/// Throws the DriverError for `code`, with its name and remedy.
[[noreturn]] void throw_driver_error(const DriverApi& api, const char* call, int code,
                                     std::string_view detail = {});

/// Throws DriverError unless `code` (a CUresult) is 0. `call` names the entry point, `detail` what
/// it was about.
inline void check(const DriverApi& api, int code, const char* call, std::string_view detail = {}) {
  if (code != 0) [[unlikely]] {
    throw_driver_error(api, call, code, detail);
  }
}

}  // namespace quantjit::driver
