// SPDX-License-Identifier: Apache-2.0
// cuPointerGetAttribute and cuPointerGetAttributes.
#include "context.hpp"
#include "pinned.hpp"

#include <cstring>
#include <optional>

using namespace quantjit::simdriver;

namespace {

/// What is known about an address.
struct Known {
  CUmemorytype type;
  CUdeviceptr start;
  std::uint64_t bytes;
  CUcontext context;
  int ordinal;
};

std::optional<Known> find(CUdeviceptr address) {
  if (const Device* const device = device_of(address)) {
    const auto owner = device->owner(address);
    if (!owner) {
      return std::nullopt;
    }
    return Known{CU_MEMORYTYPE_DEVICE, owner->first, owner->second.bytes, owner->second.context,
                 device->ordinal};
  }
  const auto pinned = find_pinned(address);
  if (!pinned) {
    return std::nullopt;
  }
  return Known{CU_MEMORYTYPE_HOST, pinned->start, pinned->bytes, pinned->context, pinned->ordinal};
}

template <class Value>
void store(void* out, Value value) {
  std::memcpy(out, &value, sizeof(value));
}

void answer(void* out, CUpointer_attribute attribute, CUdeviceptr address, const Known& known) {
  const bool on_device = known.type == CU_MEMORYTYPE_DEVICE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: store(out, known.context); return;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: store(out, static_cast<unsigned>(known.type)); return;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: store(out, address); return;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require(!on_device);
      store(out, address);
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: store(out, known.ordinal); return;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: store(out, known.start); return;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: store(out, known.bytes); return;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      // Addresses are never given out again, so they identify an allocation.
      store(out, static_cast<unsigned long long>(known.start));
      return;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: store(out, 0u); return;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: store(out, 0u); return;
    case CU_POINTER_ATTRIBUTE_MAPPED: store(out, on_device ? 1 : 0); return;
    default: throw Failure(CUDA_ERROR_INVALID_VALUE);
  }
}

/// cuPointerGetAttributes answers for unknown addresses too.
void answer_unknown(void* out, CUpointer_attribute attribute) {
  constexpr int kNoDevice = -2;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: store(out, kNoDevice); return;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED: store(out, 0u); return;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: store(out, std::uint64_t{0}); return;
    default: throw Failure(CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute,
                                                   CUdeviceptr address) {
  return guard([&] {
    current_context();
    require(out != nullptr);
    const auto known = find(address);
    require(known.has_value());
    answer(out, attribute, address, *known);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuPointerGetAttributes(unsigned int count,
                                                    CUpointer_attribute* attributes, void** out,
                                                    CUdeviceptr address) {
  return guard([&] {
    current_context();
    require(count == 0 || (attributes != nullptr && out != nullptr));
    const auto known = find(address);
    for (unsigned i = 0; i < count; ++i) {
      if (known && !(attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
                     known->type == CU_MEMORYTYPE_DEVICE)) {
        answer(out[i], attributes[i], address, *known);
      } else {
        answer_unknown(out[i], attributes[i]);
      }
    }
  });
}
