// SPDX-License-Identifier: Apache-2.0
// Names and remedies of driver results.
#include "src/driver/driver_table.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <iterator>

namespace quantjit::driver {
namespace {

struct Remedy {
  int code;
  const char* text;
};

constexpr Remedy kRemedies[] = {
    {CUDA_ERROR_INVALID_VALUE, "an argument of the call is out of range"},
    {CUDA_ERROR_OUT_OF_MEMORY, "the device has too little free memory; free some or use less"},
    {CUDA_ERROR_NOT_INITIALIZED, "initialize the driver first, in this very process"},
    {CUDA_ERROR_DEINITIALIZED, "the process is exiting; finish GPU work before main() returns"},
    {CUDA_ERROR_STUB_LIBRARY,
     "this is the toolkit's stub for linking, not a driver; remove its folder from the library "
     "path"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE,
     "another process holds the device exclusively, or it needs a reset; see nvidia-smi"},
    {CUDA_ERROR_NO_DEVICE,
     "no CUDA device is visible; check nvidia-smi, CUDA_VISIBLE_DEVICES and the container's GPU "
     "option"},
    {CUDA_ERROR_INVALID_DEVICE, "there is no such device; nvidia-smi lists those there are"},
    {CUDA_ERROR_INVALID_IMAGE, "the image is damaged or no device code; compile it again"},
    {CUDA_ERROR_INVALID_CONTEXT,
     "no context is current on this thread or it was destroyed; make one current or pass a stream"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU,
     "the image has no code for this device; compile for the device's own target"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "the device's memory is faulty; see nvidia-smi -q -d ECC"},
    {CUDA_ERROR_INVALID_PTX, "the driver's assembler refused the PTX; compile it again"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
     "the driver installation has no PTX compiler library; install it, or use a cubin"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
     "the PTX was made by a newer NVRTC than the driver knows; update the driver, use an older "
     "NVRTC, or use a cubin"},
    {CUDA_ERROR_JIT_COMPILATION_DISABLED,
     "compiling PTX is disabled (CUDA_DISABLE_PTX_JIT); enable it, or use a cubin"},
    {CUDA_ERROR_INVALID_SOURCE, "the image is no code that the driver understands"},
    {CUDA_ERROR_OPERATING_SYSTEM, "an operating system call failed; see the kernel log"},
    {CUDA_ERROR_INVALID_HANDLE,
     "a handle is not valid here: destroyed, of another context, or of another driver library"},
    {CUDA_ERROR_NOT_FOUND, "there is nothing of this name"},
    {CUDA_ERROR_NOT_READY, "the work has not ended yet; wait for it"},
    {CUDA_ERROR_ILLEGAL_ADDRESS,
     "a kernel accessed memory outside its buffers and the context is lost; restart the process "
     "and run it under compute-sanitizer"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
     "the block needs more registers or shared memory than the device has"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "the kernel ran too long for a device that drives a display"},
    {CUDA_ERROR_ASSERT, "an assertion in a kernel failed; its text went to the standard output"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, "the device's call stack was overrun; restart the process"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION,
     "a kernel met an instruction that the device lacks; compile for the device's own target"},
    {CUDA_ERROR_MISALIGNED_ADDRESS,
     "a kernel accessed memory at an address that is no multiple of the access width and the "
     "context is lost; check the alignment of the buffers and restart the process"},
    {CUDA_ERROR_LAUNCH_FAILED,
     "a kernel stopped with an exception and the context is lost; restart the process and run it "
     "under compute-sanitizer"},
    {CUDA_ERROR_NOT_PERMITTED,
     "the call is not permitted now, which usually means while a stream is being captured; load "
     "kernels before the capture begins"},
    {CUDA_ERROR_NOT_SUPPORTED, "the device or the driver does not support this"},
    {CUDA_ERROR_SYSTEM_NOT_READY,
     "a system service is missing; on NVSwitch machines start nvidia-fabricmanager"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
     "the driver library and the kernel module are of different versions; reboot or reinstall"},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
     "the forward compatibility package does not support this device; remove it from the library "
     "path"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
     "the call cannot be captured into a graph; make it before the capture begins"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
     "an earlier call broke the capture; look for the first failure after it began"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
     "the legacy default stream cannot be used while another stream is captured; pass a stream"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "a capture must be ended by the thread that began it"},
    {CUDA_ERROR_UNKNOWN, "the driver gave no reason; see the kernel log (dmesg) for Xid messages"},
};

}  // namespace

std::string error_name(const DriverApi& api, int code) {
  const char* name = nullptr;
  if (api.table().cuGetErrorName(static_cast<CUresult>(code), &name) != CUDA_SUCCESS ||
      name == nullptr) {
    return "an unknown result";
  }
  return name;
}

std::string remedy_for(int code, std::string_view detail) {
  const auto* const found =
      std::find_if(std::begin(kRemedies), std::end(kRemedies),
                   [code](const Remedy& remedy) { return remedy.code == code; });
  std::string text(detail);
  if (found != std::end(kRemedies)) {
    text += (text.empty() ? "" : "; ");
    text += found->text;
  }
  return text;
}

void throw_driver_error(const DriverApi& api, const char* call, int code, std::string_view detail) {
  throw DriverError(call, code, error_name(api, code), remedy_for(code, detail));
}

}  // namespace quantjit::driver
