// SPDX-License-Identifier: Apache-2.0
#include "src/capi/text.hpp"

#include <quantjit/quantjit.h>
#include <quantjit/version.hpp>

#include <cstdlib>
#include <new>

namespace quantjit::capi {

// Sizes of the first version of the ABI. A member that is added later makes a struct larger;
// kFirstSize then keeps the number that stands here.
static_assert(sizeof(qj_dltensor) == 48 && sizeof(qj_dlmanaged_versioned) == 80);
static_assert(sizeof(qj_tensor_spec) == 88 && sizeof(qj_traits) == 64);
static_assert(kFirstSize<qj_service_options> == 184 && sizeof(qj_operands) == 48);
static_assert(sizeof(qj_reference_target) == 32 && sizeof(qj_prewarm_progress) == 48);
static_assert(sizeof(qj_prewarm_options) == 128 && sizeof(qj_source) == 144);
static_assert(sizeof(qj_raw_launch) == 56);

void refuse_null(std::string_view name) {
  throw InvalidArgument(std::string(name), "null", "it must point to something");
}

void refuse_size(std::string_view name, std::size_t size, std::string_view rule) {
  throw InvalidArgument(std::string(name) + ".struct_size", std::to_string(size),
                        std::string(rule));
}

void store_text(std::string_view value, char** text, std::size_t* size) {
  require(text, "the pointer for the text");
  auto* const copy = static_cast<char*>(std::malloc(value.size() + 1));
  if (copy == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(copy, value.data(), value.size());
  copy[value.size()] = '\0';
  *text = copy;
  if (size != nullptr) {
    *size = value.size();
  }
}

}  // namespace quantjit::capi

int32_t qj_abi_version(void) {
  return QJ_ABI_VERSION;
}

const char* qj_version(void) {
  return quantjit::kVersion;
}

const char* qj_status_name(qj_status status) {
  switch (status) {
    case QJ_OK: return "QJ_OK";
    case QJ_INVALID_ARGUMENT: return "QJ_INVALID_ARGUMENT";
    case QJ_COMPILE_ERROR: return "QJ_COMPILE_ERROR";
    case QJ_DRIVER_ERROR: return "QJ_DRIVER_ERROR";
    case QJ_SEALED_MISS: return "QJ_SEALED_MISS";
    case QJ_CAPTURE_MISS: return "QJ_CAPTURE_MISS";
    case QJ_NOT_IMPLEMENTED: return "QJ_NOT_IMPLEMENTED";
    case QJ_OUT_OF_MEMORY: return "QJ_OUT_OF_MEMORY";
    case QJ_CANCELLED: return "QJ_CANCELLED";
    case QJ_INCOMPLETE: return "QJ_INCOMPLETE";
    case QJ_ERROR: return "QJ_ERROR";
  }
  return "unknown status";
}

void qj_free(void* text) {
  std::free(text);
}
