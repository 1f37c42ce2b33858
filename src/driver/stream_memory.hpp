// SPDX-License-Identifier: Apache-2.0
// Device memory allocated and released in stream order.
#pragma once

#include "src/driver/driver_api.hpp"

#include <cstddef>

namespace quantjit::driver {

/// Owner of device memory from the device's default pool. The destructor releases it on the same
/// stream, after the work enqueued there so far, so the stream must outlive it. Move-only.
class StreamMemory {
 public:
  StreamMemory() = default;
  /// Nothing for 0 bytes. The content is undefined. Throws: DriverError.
  StreamMemory(const DriverApi& api, int ordinal, std::size_t bytes, CUstream_st* stream);
  StreamMemory(StreamMemory&& other) noexcept;
  StreamMemory& operator=(StreamMemory&& other) noexcept;
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory();

  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives addresses as integers
  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(address_); }

 private:
  void release() noexcept;

  const DriverApi* api_ = nullptr;
  int ordinal_ = 0;
  DevicePointer address_ = 0;
  CUstream_st* stream_ = nullptr;
};

}  // namespace quantjit::driver
