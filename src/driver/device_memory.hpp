// SPDX-License-Identifier: Apache-2.0
// Device memory with an owner.
#pragma once

#include "src/driver/driver_api.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace quantjit::driver {

/// Owner of device memory (at least 256-byte aligned). Copies are synchronous. Move-only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Allocates `bytes` on a device; nothing for 0. The content is undefined. Throws: DriverError.
  DeviceBuffer(const DriverApi& api, int ordinal, std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  [[nodiscard]] DevicePointer address() const noexcept { return address_; }

  [[nodiscard]] void* data() const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

  /// Copies host bytes to `offset`. REQUIRES: they fit. Throws: InvalidArgument, DriverError.
  void upload(std::span<const std::byte> from, std::size_t offset = 0) const;
  /// Copies bytes from `offset` to the host; does not wait for streams other than the legacy
  /// default one. Throws: InvalidArgument, DriverError.
  void download(std::span<std::byte> to, std::size_t offset = 0) const;
  /// Sets every byte. Has finished when it returns. Throws: DriverError.
  void fill(std::uint8_t value) const;
  /// Sets every byte in stream order. Throws: DriverError.
  void fill_async(std::uint8_t value, CUstream_st* stream) const;
  /// Copies all of `from` (of the same size and device) in stream order. Throws: InvalidArgument,
  /// DriverError.
  void copy_async(const DeviceBuffer& from, CUstream_st* stream) const;

  /// Copies `bytes` bytes of another buffer of the device to `offset` in stream order. Throws:
  /// InvalidArgument, DriverError.
  void copy_part_async(const DeviceBuffer& from, std::size_t bytes, std::size_t offset,
                       CUstream_st* stream) const;

 private:
  void release() noexcept;
  void require_range(std::size_t offset, std::size_t bytes) const;

  const DriverApi* api_ = nullptr;
  int ordinal_ = 0;
  DevicePointer address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace quantjit::driver
