// SPDX-License-Identifier: Apache-2.0
#include "src/driver/stream_memory.hpp"

#include "src/driver/context_scope.hpp"

#include <quantjit/error.hpp>

#include <string>
#include <utility>

namespace quantjit::driver {

StreamMemory::StreamMemory(const DriverApi& api, int ordinal, std::size_t bytes,
                           CUstream_st* stream)
    : api_(&api), ordinal_(ordinal), stream_(stream) {
  if (bytes == 0) {
    return;
  }
  const ContextGuard context(api, ordinal);
  CUdeviceptr address = 0;
  check(api, api.table().cuMemAllocAsync(&address, bytes, stream), "cuMemAllocAsync",
        std::to_string(bytes) + " bytes on device " + std::to_string(ordinal));
  address_ = address;
}

StreamMemory::StreamMemory(StreamMemory&& other) noexcept
    : api_(other.api_),
      ordinal_(other.ordinal_),
      address_(std::exchange(other.address_, 0)),
      stream_(other.stream_) {}

StreamMemory& StreamMemory::operator=(StreamMemory&& other) noexcept {
  if (this != &other) {
    release();
    api_ = other.api_;
    ordinal_ = other.ordinal_;
    address_ = std::exchange(other.address_, 0);
    stream_ = other.stream_;
  }
  return *this;
}

StreamMemory::~StreamMemory() {
  release();
}

void StreamMemory::release() noexcept {
  if (address_ != 0) {
    release_on_device(*api_, ordinal_, [this] { api_->table().cuMemFreeAsync(address_, stream_); });
  }
  address_ = 0;
}

}  // namespace quantjit::driver
