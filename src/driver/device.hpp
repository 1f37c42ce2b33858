// SPDX-License-Identifier: Apache-2.0
// Devices and contexts.
#pragma once

#include "src/driver/driver_api.hpp"

#include <quantjit/arch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::driver {

/// What one device is. Sizes in bytes, clocks in kHz.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  std::string pci_bus_id;  ///< e.g. "0000:1b:00.0"
  int major = 0;           ///< compute capability
  int minor = 0;
  Arch arch;               ///< the arch-specific target of this device, e.g. sm_90a
  int driver_version = 0;  ///< e.g. 13000
  int sm_count = 0;
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_registers_per_sm = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  std::size_t shared_bytes_per_block = 0;
  std::size_t shared_bytes_per_block_optin = 0;
  std::size_t shared_bytes_per_sm = 0;
};

/// Number of devices. Throws: DriverError.
[[nodiscard]] int device_count(const DriverApi& api);

/// Description of a device, queried once per process. The reference stays valid for the life of the
/// process. Throws: InvalidArgument for an ordinal that does not exist, DriverError.
const DeviceInfo& device_info(const DriverApi& api, int ordinal);

/// The primary context of a device, retained once and until the process ends. Throws as
/// device_info().
CUctx_st* primary_context(const DriverApi& api, int ordinal);

/// True for null and the driver's two default-stream handles (CU_STREAM_LEGACY is 1 and
/// CU_STREAM_PER_THREAD is 2): they mean a stream of whichever context is current.
[[nodiscard]] inline bool is_default_stream(const CUstream_st* stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

/// The calling thread's current context; null if there is none. One cheap driver call, which does
/// not fail for want of a context. REQUIRES: initialize() was called. Throws: DriverError.
[[nodiscard]] CUctx_st* current_context(const DriverApi& api);

/// Device of the calling thread's current context; nothing if no context is current. Throws:
/// DriverError.
[[nodiscard]] std::optional<int> current_device(const DriverApi& api);

/// "the current context is of device 1", or that there is none. For messages: never throws.
[[nodiscard]] std::string describe_current_context(const DriverApi& api) noexcept;

/// Device of a stream. The null stream and the two default-stream handles belong to the calling
/// thread's current context. Throws: DriverError, also if that needs a current context and there is
/// none.
[[nodiscard]] int device_of_stream(const DriverApi& api, CUstream_st* stream);

/// Whether a stream belongs to a context: one cheap driver call, for every launch. False also where
/// the driver does not tell. REQUIRES: some context is current, no default stream.
[[nodiscard]] bool is_stream_of(const DriverApi& api, CUstream_st* stream,
                                const CUctx_st* context) noexcept;

/// Refuses a stream of another device. Default streams fit any device, in whose context they are
/// then used. `operands` says what is on the device, e.g. "the kernel and the tensors are". Throws:
/// InvalidArgument that names the device of each and the current context, DriverError.
void require_stream_on(const DriverApi& api, CUstream_st* stream, int ordinal,
                       std::string_view operands);

/// Context of a stream. Throws: DriverError.
[[nodiscard]] CUctx_st* context_of_stream(const DriverApi& api, CUstream_st* stream);

/// Device that holds `pointer`; nothing if the address is not the driver's. Throws: DriverError.
[[nodiscard]] std::optional<int> device_of_pointer(const DriverApi& api, const void* pointer);

/// Free bytes of a device's memory now. Throws: DriverError.
[[nodiscard]] std::size_t free_memory_bytes(const DriverApi& api, int ordinal);

/// Makes a context of one device current for a scope: the one that the caller already made current
/// if it is on that device, else the device's primary context. The thread's context stack is as it
/// was after the scope, also on errors. Takes no lock once the device was used. Not copyable, not
/// movable; to be destroyed on the thread that made it.
class ContextGuard {
 public:
  /// Throws: InvalidArgument for an ordinal that does not exist, DriverError.
  ContextGuard(const DriverApi& api, int ordinal);
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  ContextGuard(ContextGuard&&) = delete;
  ContextGuard& operator=(ContextGuard&&) = delete;
  ~ContextGuard();

  /// True if the primary context had to be made current.
  [[nodiscard]] bool pushed() const noexcept { return pushed_; }

 private:
  const DriverApi& api_;
  bool pushed_ = false;
};

}  // namespace quantjit::driver
