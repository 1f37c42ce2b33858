// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device_memory.hpp"

#include "src/driver/context_scope.hpp"

#include <quantjit/error.hpp>

#include <string>
#include <utility>

namespace quantjit::driver {

DeviceBuffer::DeviceBuffer(const DriverApi& api, int ordinal, std::size_t bytes)
    : api_(&api), ordinal_(ordinal), bytes_(bytes) {
  if (bytes == 0) {
    return;
  }
  const ContextGuard context(api, ordinal);
  CUdeviceptr address = 0;
  check(api, api.table().cuMemAlloc(&address, bytes), "cuMemAlloc",
        std::to_string(bytes) + " bytes on device " + std::to_string(ordinal));
  address_ = address;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : api_(other.api_),
      ordinal_(other.ordinal_),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this != &other) {
    release();
    api_ = other.api_;
    ordinal_ = other.ordinal_;
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  release();
}

void* DeviceBuffer::data() const noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives addresses as integers
  return reinterpret_cast<void*>(address_);
}

void DeviceBuffer::release() noexcept {
  if (address_ != 0) {
    release_on_device(*api_, ordinal_, [this] { api_->table().cuMemFree(address_); });
  }
  address_ = 0;
}

void DeviceBuffer::require_range(std::size_t offset, std::size_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) {
    throw InvalidArgument("range",
                          std::to_string(bytes) + " bytes from offset " + std::to_string(offset),
                          "it must lie inside the buffer of " + std::to_string(bytes_) + " bytes");
  }
}

void DeviceBuffer::upload(std::span<const std::byte> from, std::size_t offset) const {
  require_range(offset, from.size());
  if (from.empty()) {
    return;
  }
  const ContextGuard context(*api_, ordinal_);
  check(*api_, api_->table().cuMemcpyHtoD(address_ + offset, from.data(), from.size()),
        "cuMemcpyHtoD");
  // The call may return while the last bytes are still on their way from a staging buffer.
  check(*api_, api_->table().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
}

void DeviceBuffer::download(std::span<std::byte> to, std::size_t offset) const {
  require_range(offset, to.size());
  if (to.empty()) {
    return;
  }
  const ContextGuard context(*api_, ordinal_);
  check(*api_, api_->table().cuMemcpyDtoH(to.data(), address_ + offset, to.size()), "cuMemcpyDtoH");
}

void DeviceBuffer::fill(std::uint8_t value) const {
  if (bytes_ == 0) {
    return;
  }
  const ContextGuard context(*api_, ordinal_);
  check(*api_, api_->table().cuMemsetD8(address_, value, bytes_), "cuMemsetD8");
  check(*api_, api_->table().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
}

void DeviceBuffer::fill_async(std::uint8_t value, CUstream_st* stream) const {
  if (bytes_ == 0) {
    return;
  }
  const ContextGuard context(*api_, ordinal_);
  check(*api_, api_->table().cuMemsetD8Async(address_, value, bytes_, stream), "cuMemsetD8Async");
}

void DeviceBuffer::copy_part_async(const DeviceBuffer& from, std::size_t bytes, std::size_t offset,
                                   CUstream_st* stream) const {
  require_range(offset, bytes);
  from.require_range(0, bytes);
  if (bytes == 0) {
    return;
  }
  const ContextGuard context(*api_, ordinal_);
  check(*api_, api_->table().cuMemcpyDtoDAsync(address_ + offset, from.address_, bytes, stream),
        "cuMemcpyDtoDAsync");
}

void DeviceBuffer::copy_async(const DeviceBuffer& from, CUstream_st* stream) const {
  if (from.bytes_ != bytes_ || from.ordinal_ != ordinal_) {
    throw InvalidArgument(
        "from", std::to_string(from.bytes_) + " bytes on device " + std::to_string(from.ordinal_),
        "it must have the " + std::to_string(bytes_) + " bytes and the device " +
            std::to_string(ordinal_) + " of the destination");
  }
  if (bytes_ == 0) {
    return;
  }
  const ContextGuard context(*api_, ordinal_);
  check(*api_, api_->table().cuMemcpyDtoDAsync(address_, from.address_, bytes_, stream),
        "cuMemcpyDtoDAsync");
}

}  // namespace quantjit::driver
