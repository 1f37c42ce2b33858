// SPDX-License-Identifier: Apache-2.0
#include "src/capi/tensor.hpp"

#include "src/capi/guard.hpp"
#include "src/capi/text.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace quantjit::capi {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* name, const char* member,
                                                   const std::string& value,
                                                   const std::string& rule) {
  throw InvalidArgument(std::string(name) + "." + member, value, rule);
}

constexpr std::uint32_t code_of(std::uint8_t code, std::uint8_t bits) {
  return std::uint32_t{code} << 8U | bits;
}

std::string text_of(const qj_dldatatype& dtype) {
  return "code " + std::to_string(dtype.code) + " with " + std::to_string(dtype.bits) +
         " bits and " + std::to_string(dtype.lanes) + " lanes";
}

DType dtype_of(const qj_dldatatype& dtype, const char* name) {
  if (dtype.lanes == 1) [[likely]] {
    switch (code_of(dtype.code, dtype.bits)) {
      case code_of(QJ_CODE_BFLOAT, 16): return DType::kBF16;
      case code_of(QJ_CODE_FLOAT, 16): return DType::kF16;
      case code_of(QJ_CODE_FLOAT, 32): return DType::kF32;
      case code_of(QJ_CODE_FLOAT8_E4M3FN, 8): return DType::kE4M3;
      case code_of(QJ_CODE_INT, 8): return DType::kInt8;
      case code_of(QJ_CODE_INT, 32): return DType::kInt32;
      case code_of(QJ_CODE_INT, 64): return DType::kInt64;
      case code_of(QJ_CODE_FLOAT8_E8M0FNU, 8): return DType::kE8M0;
      default: break;
    }
  }
  refuse(name, "dtype", text_of(dtype),
         "it must be bfloat16 (code 4), float16 or float32 (code 2), float8_e4m3fn (code 10), "
         "float8_e8m0fnu (code 14) or int8, int32 or int64 (code 0), with 1 lane");
}

bool is_host(const qj_dldevice& device) {
  return device.device_type == QJ_DEVICE_CPU || device.device_type == QJ_DEVICE_CUDA_HOST;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_device(const qj_dldevice& device,
                                                          const char* name, Place::Kind kind) {
  std::string rule = "the CPU reference takes host memory (device type 1)";
  if (kind != Place::Kind::kHost) {
    rule = is_host(device)
               ? "a GPU's kernel takes GPU memory (device type 2); host memory is accepted by the "
                 "simulated device only"
               : "it must be GPU memory (device type 2) or managed memory (13)";
  }
  refuse(name, "device", "type " + std::to_string(device.device_type), rule);
}

int device_of(const qj_dldevice& device, const char* name, const Place& place) {
  using Kind = Place::Kind;
  if (place.kind == Kind::kAny) {
    return place.device;
  }
  switch (device.device_type) {
    case QJ_DEVICE_CUDA:
      if (place.kind != Kind::kHost) [[likely]] {
        return device.device_id;
      }
      break;
    case QJ_DEVICE_CUDA_MANAGED: return place.device;
    case QJ_DEVICE_CPU:
    case QJ_DEVICE_CUDA_HOST:
      if (place.kind != Kind::kGpu) {
        return place.device;
      }
      break;
    default: break;
  }
  refuse_device(device, name, place.kind);
}

void fill_contiguous(TensorView& view, const char* name) {
  std::int64_t stride = 1;
  for (int i = view.ndim - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    view.strides[at] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(view.shape[at], 1), &stride)) {
      refuse(name, "shape", "more than 2^63 elements", "a tensor must fit the address space");
    }
  }
}

void* address_of(const qj_dltensor& tensor, const char* name) {
  if (tensor.data == nullptr) {
    return nullptr;
  }
  if (tensor.byte_offset > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(tensor.data)) {
    refuse(name, "byte_offset", std::to_string(tensor.byte_offset),
           "it leads beyond the end of the address space");
  }
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

/// Bytes from the first element to the end of the last; 0 for tensors without elements and for
/// those that a launch refuses.
std::uint64_t reach_of(const TensorView& view) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < view.ndim; ++i) {
    std::int64_t span = 0;
    if (view.shape[i] <= 0 || view.strides[i] < 0 ||
        __builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return 0;
    }
  }
  const auto size = static_cast<std::int64_t>(size_in_bytes(view.dtype));
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(last, size, &bytes) ? 0 : static_cast<std::uint64_t>(bytes + size);
}

void share(const TensorView& view, const char* name, const driver::DriverApi& api) {
  const std::uint64_t bytes = view.data != nullptr ? reach_of(view) : 0;
  if (bytes != 0 && api.share_host()(view.device, view.data, bytes) != 0) {
    refuse(name, "device", "host memory of " + std::to_string(bytes) + " bytes",
           "the simulated device " + std::to_string(view.device) + " cannot reach it");
  }
}

}  // namespace

TensorView view_of(const qj_dltensor* tensor, const char* name, const Place& place) {
  require(tensor, name);
  if (tensor->ndim < 1 || tensor->ndim > TensorView::kMaxDims) [[unlikely]] {
    refuse(name, "ndim", std::to_string(tensor->ndim), "it must be 1 to 4");
  }
  if (tensor->shape == nullptr) [[unlikely]] {
    refuse(name, "shape", "null", "it must point to ndim sizes");
  }
  TensorView view{.data = address_of(*tensor, name),
                  .dtype = dtype_of(tensor->dtype, name),
                  .ndim = static_cast<std::uint8_t>(tensor->ndim),
                  .device = device_of(tensor->device, name, place)};
  std::copy_n(tensor->shape, tensor->ndim, view.shape.begin());
  if (tensor->strides != nullptr) {
    std::copy_n(tensor->strides, tensor->ndim, view.strides.begin());
  } else {
    fill_contiguous(view, name);
  }
  if (place.kind == Place::Kind::kSimulated && place.api != nullptr && is_host(tensor->device)) {
    share(view, name, *place.api);
  }
  return view;
}

qj_dldatatype to_dlpack(DType dtype) {
  const auto type = [dtype](std::uint8_t code) {
    return qj_dldatatype{code, static_cast<std::uint8_t>(8 * size_in_bytes(dtype)), 1};
  };
  switch (dtype) {
    case DType::kBF16: return type(QJ_CODE_BFLOAT);
    case DType::kF16:
    case DType::kF32: return type(QJ_CODE_FLOAT);
    case DType::kE4M3: return type(QJ_CODE_FLOAT8_E4M3FN);
    case DType::kE8M0: return type(QJ_CODE_FLOAT8_E8M0FNU);
    case DType::kInt8:
    case DType::kInt32:
    case DType::kInt64: break;
  }
  return type(QJ_CODE_INT);
}

}  // namespace quantjit::capi

using namespace quantjit;
using namespace quantjit::capi;

qj_status qj_tensor_of_managed(const qj_dlmanaged_versioned* managed, int32_t writable,
                               const qj_dltensor** tensor) {
  return guard([&] {
    require(managed, "managed");
    require(tensor, "tensor");
    if (managed->version.major != 1) {
      throw InvalidArgument("managed.version.major", std::to_string(managed->version.major),
                            "tensors of DLPack 1 are understood");
    }
    if (writable != 0 && (managed->flags & QJ_FLAG_READ_ONLY) != 0) {
      throw InvalidArgument("managed.flags", std::to_string(managed->flags),
                            "an output must not be marked read only");
    }
    *tensor = &managed->dl_tensor;
  });
}
