// SPDX-License-Identifier: Apache-2.0
// cuMemcpy* and cuMemset*.
#include "capture.hpp"
#include "pinned.hpp"
#include "stream.hpp"

using namespace quantjit::simdriver;

namespace {

/// A checked end of a copy or fill. `host_allowed`: any host memory may stand there; page-locked
/// memory may stand everywhere, as unified addressing has it.
Place place(CUdeviceptr address, std::uint64_t bytes, bool host_allowed) {
  if (Device* const device = device_of(address)) {
    const auto* allocation = device->memory.find(address);
    require(bytes == 0 || (allocation != nullptr && allocation->contains(address, bytes)));
    return {device, address};
  }
  require(bytes == 0 || (address != 0 && (host_allowed || find_pinned(address).has_value())));
  return {nullptr, address};
}

CUdeviceptr host_address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// The null stream, checked as the synchronous calls need it.
std::shared_ptr<Stream> synchronous_stream() {
  auto stream = resolve_stream(nullptr);
  forbid_recording(*stream);
  return stream;
}

enum class Ends { kHostToDevice, kDeviceToHost, kDeviceToDevice, kAny };

Copy checked_copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Ends ends) {
  const bool host_to = ends == Ends::kDeviceToHost || ends == Ends::kAny;
  const bool host_from = ends == Ends::kHostToDevice || ends == Ends::kAny;
  return {place(to, bytes, host_to), place(from, bytes, host_from), bytes};
}

CUresult copy_now(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Ends ends) {
  return guard([&] {
    const auto stream = synchronous_stream();
    submit(stream, checked_copy(to, from, bytes, ends));
    stream->drain();
  });
}

CUresult copy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream handle,
                    Ends ends) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    submit(stream, checked_copy(to, from, bytes, ends));
  });
}

Fill checked_fill(CUdeviceptr to, std::uint32_t value, unsigned width, std::size_t count) {
  require(to % width == 0 && count <= ~std::size_t{0} / width);
  return {place(to, count * width, false), value, width, count};
}

CUresult fill_now(CUdeviceptr to, std::uint32_t value, unsigned width, std::size_t count) {
  return guard([&] {
    const auto stream = synchronous_stream();
    submit(stream, checked_fill(to, value, width, count));
  });
}

CUresult fill_async(CUdeviceptr to, std::uint32_t value, unsigned width, std::size_t count,
                    CUstream handle) {
  return guard([&] {
    const auto stream = resolve_stream(handle);
    submit(stream, checked_fill(to, value, width, count));
  });
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_now(to, from, bytes, Ends::kAny);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_now(to, host_address(from), bytes, Ends::kHostToDevice);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy_now(host_address(to), from, bytes, Ends::kDeviceToHost);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_now(to, from, bytes, Ends::kDeviceToDevice);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                           CUstream stream) {
  return copy_async(to, from, bytes, stream, Ends::kAny);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                                  CUstream stream) {
  return copy_async(to, host_address(from), bytes, stream, Ends::kHostToDevice);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                                  CUstream stream) {
  return copy_async(host_address(to), from, bytes, stream, Ends::kDeviceToHost);
}

QUANTJIT_SIM_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                  CUstream stream) {
  return copy_async(to, from, bytes, stream, Ends::kDeviceToDevice);
}

QUANTJIT_SIM_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_now(to, value, 1, count);
}

QUANTJIT_SIM_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return fill_now(to, value, 2, count);
}

QUANTJIT_SIM_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
  return fill_now(to, value, 4, count);
}

QUANTJIT_SIM_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                             CUstream stream) {
  return fill_async(to, value, 1, count, stream);
}

QUANTJIT_SIM_EXPORT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                                              CUstream stream) {
  return fill_async(to, value, 2, count, stream);
}

QUANTJIT_SIM_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count,
                                              CUstream stream) {
  return fill_async(to, value, 4, count, stream);
}
