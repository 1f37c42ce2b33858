// SPDX-License-Identifier: Apache-2.0
// cuInit, cuDriverGetVersion and the device queries.
#include "device.hpp"

#include <algorithm>
#include <cstring>

using quantjit::simdriver::arch_attribute;
using quantjit::simdriver::Device;
using quantjit::simdriver::device_at;
using quantjit::simdriver::guard;
using quantjit::simdriver::initialize_driver;
using quantjit::simdriver::kDriverVersion;
using quantjit::simdriver::require;
using quantjit::simdriver::visible_devices;

namespace {

/// Copies as much of `text` as fits, always terminated.
void copy_text(char* out, int length, const std::string& text) {
  require(out != nullptr && length > 0);
  const auto count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(out, text.data(), count);
  out[count] = 0;
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuInit(unsigned int flags) {
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : initialize_driver();
}

QUANTJIT_SIM_EXPORT CUresult cuDriverGetVersion(int* version) {
  return guard([&] {
    require(version != nullptr);
    *version = kDriverVersion;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceGetCount(int* count) {
  return guard([&] {
    const auto number = visible_devices().size();
    require(count != nullptr);
    *count = static_cast<int>(number);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return guard([&] {
    const Device& found = device_at(ordinal);
    require(device != nullptr);
    *device = found.ordinal;
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return guard([&] { copy_text(name, length, device_at(device).spec.name); });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return guard([&] {
    const Device& found = device_at(device);
    require(uuid != nullptr);
    *uuid = found.uuid();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return guard([&] {
    const std::string id = device_at(device).pci_bus_id();
    require(length > static_cast<int>(id.size()));  // a part of an identifier would be a wrong one
    copy_text(text, length, id);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return guard([&] {
    const Device& found = device_at(device);
    require(bytes != nullptr);
    *bytes = found.memory.capacity();
  });
}

QUANTJIT_SIM_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                                  CUdevice device) {
  return guard([&] {
    const Device& found = device_at(device);
    const auto answer = arch_attribute(found.spec, static_cast<int>(attribute));
    require(value != nullptr && answer.has_value());
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID      ? found.slot + 1
             : attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID ? 0
                                                              : *answer;
  });
}
