// SPDX-License-Identifier: Apache-2.0
// The layouts and codes of the C ABI are those of DLPack. Compiles or does not.
#include <quantjit/quantjit.h>

#include <dlpack/dlpack.h>
#include <stddef.h>

#define SAME_SIZE(ours, theirs)                                     \
  _Static_assert(sizeof(ours) == sizeof(theirs), "size of " #ours); \
  _Static_assert(_Alignof(ours) == _Alignof(theirs), "alignment of " #ours)
#define SAME_MEMBER(ours, theirs, member)                                                   \
  _Static_assert(offsetof(ours, member) == offsetof(theirs, member), "offset of " #member); \
  _Static_assert(sizeof(((ours*)0)->member) == sizeof(((theirs*)0)->member), "size of " #member)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_SIZE(qj_dldevice, DLDevice);
SAME_MEMBER(qj_dldevice, DLDevice, device_type);
SAME_MEMBER(qj_dldevice, DLDevice, device_id);

SAME_SIZE(qj_dldatatype, DLDataType);
SAME_MEMBER(qj_dldatatype, DLDataType, code);
SAME_MEMBER(qj_dldatatype, DLDataType, bits);
SAME_MEMBER(qj_dldatatype, DLDataType, lanes);

SAME_SIZE(qj_dltensor, DLTensor);
SAME_MEMBER(qj_dltensor, DLTensor, data);
SAME_MEMBER(qj_dltensor, DLTensor, device);
SAME_MEMBER(qj_dltensor, DLTensor, ndim);
SAME_MEMBER(qj_dltensor, DLTensor, dtype);
SAME_MEMBER(qj_dltensor, DLTensor, shape);
SAME_MEMBER(qj_dltensor, DLTensor, strides);
SAME_MEMBER(qj_dltensor, DLTensor, byte_offset);

SAME_SIZE(qj_dlpack_version, DLPackVersion);
SAME_MEMBER(qj_dlpack_version, DLPackVersion, major);
SAME_MEMBER(qj_dlpack_version, DLPackVersion, minor);

SAME_SIZE(qj_dlmanaged_versioned, DLManagedTensorVersioned);
SAME_MEMBER(qj_dlmanaged_versioned, DLManagedTensorVersioned, version);
SAME_MEMBER(qj_dlmanaged_versioned, DLManagedTensorVersioned, manager_ctx);
SAME_MEMBER(qj_dlmanaged_versioned, DLManagedTensorVersioned, deleter);
SAME_MEMBER(qj_dlmanaged_versioned, DLManagedTensorVersioned, flags);
SAME_MEMBER(qj_dlmanaged_versioned, DLManagedTensorVersioned, dl_tensor);

// A managed tensor without a version begins with its tensor, so a pointer to it will do.
_Static_assert(offsetof(DLManagedTensor, dl_tensor) == 0, "DLManagedTensor begins with the tensor");

#if DLPACK_MINOR_VERSION >= 3
// What qj_object_reader takes from a producer's DLPackExchangeAPI, and where Python finds it.
_Static_assert(offsetof(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 5 * sizeof(void*),
               "DLPackExchangeAPI");
#endif

SAME_VALUE(QJ_DEVICE_CPU, kDLCPU);
SAME_VALUE(QJ_DEVICE_CUDA, kDLCUDA);
SAME_VALUE(QJ_DEVICE_CUDA_HOST, kDLCUDAHost);
SAME_VALUE(QJ_DEVICE_CUDA_MANAGED, kDLCUDAManaged);
SAME_VALUE(QJ_CODE_INT, kDLInt);
SAME_VALUE(QJ_CODE_FLOAT, kDLFloat);
SAME_VALUE(QJ_CODE_BFLOAT, kDLBfloat);
SAME_VALUE(QJ_CODE_FLOAT8_E4M3FN, kDLFloat8_e4m3fn);
SAME_VALUE(QJ_CODE_FLOAT8_E8M0FNU, kDLFloat8_e8m0fnu);
SAME_VALUE(QJ_FLAG_READ_ONLY, DLPACK_FLAG_BITMASK_READ_ONLY);
SAME_VALUE(QJ_FLAG_IS_COPIED, DLPACK_FLAG_BITMASK_IS_COPIED);
SAME_VALUE(1, DLPACK_MAJOR_VERSION);

int main(void) {
  return 0;
}
