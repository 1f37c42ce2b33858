// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: names, the CUDA version that introduced each form, and its address.
#include "device.hpp"
#include "variants.hpp"

#include <cstring>

using quantjit::simdriver::kDriverVersion;

namespace {

struct Entry {
  const char* name;
  int version;  ///< 1000 * major + 10 * minor of the CUDA release that introduced this form
  void* plain;
  void* per_thread;  ///< the same as `plain` where a null stream does not matter
};

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

const Entry kEntries[] = {
#define QUANTJIT_SIM_ENTRY(name, version, plain) \
  {#name, version, address_of(&plain), address_of(&plain)},
#define QUANTJIT_SIM_STREAM_ENTRY(name, version, plain, suffix) \
  {#name, version, address_of(&plain), address_of(&plain##suffix)},
#include "entry_points.inc"
#undef QUANTJIT_SIM_ENTRY
#undef QUANTJIT_SIM_STREAM_ENTRY
};

CUresult find_entry(const char* name, void** out, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kBoth =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || out == nullptr || (flags & ~kBoth) != 0 || version > kDriverVersion) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Entry* best = nullptr;
  bool known = false;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.name, name) == 0) {
      known = true;
      if (entry.version <= version && (best == nullptr || entry.version > best->version)) {
        best = &entry;
      }
    }
  }
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *out = best == nullptr ? nullptr : per_thread ? best->per_thread : best->plain;
  if (status != nullptr) {
    *status = best != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known         ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  // A caller that asked for the status reads the answer there.
  return best == nullptr && status == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                                 cuuint64_t flags,
                                                 CUdriverProcAddressQueryResult* status) {
  return find_entry(name, function, version, flags, status);
}

QUANTJIT_SIM_EXPORT CUresult cuGetProcAddress(const char* name, void** function, int version,
                                              cuuint64_t flags) {
  return find_entry(name, function, version, flags, nullptr);
}

QUANTJIT_SIM_EXPORT CUresult cuGetProcAddress_v2_ptsz(const char* name, void** function,
                                                      int version, cuuint64_t flags,
                                                      CUdriverProcAddressQueryResult* status) {
  const bool chosen = (flags & (CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                                CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) != 0;
  return find_entry(name, function, version,
                    chosen ? flags : flags | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, status);
}
