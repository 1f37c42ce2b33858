// SPDX-License-Identifier: Apache-2.0
// Types of the C ABI; quantjit/quantjit.h has the functions and the conventions.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Marks what libquantjit.so exports for C.
#define QJ_API __attribute__((visibility("default")))

/// Version of this interface. Only additions raise it: a program compiled against N runs with every
/// library whose qj_abi_version() is N or more.
#define QJ_ABI_VERSION 1

/// A literal as the two arguments (or the two members of a qj_text) that a text is:
/// `qj_traits_parse(QJ_TEXT("per_token_quant"), &traits)`.
#define QJ_TEXT(literal) (literal), (sizeof(literal) - 1)

#ifdef __cplusplus
extern "C" {
#endif

/// What a call came to. Values never change; new ones are appended.
typedef enum qj_status {
  QJ_OK = 0,
  QJ_INVALID_ARGUMENT = 1,  ///< an argument breaks a rule; nothing was launched or written
  QJ_COMPILE_ERROR = 2,     ///< NVRTC is missing or refused the kernel
  QJ_DRIVER_ERROR = 3,      ///< a CUDA driver call failed, or there is no usable driver
  QJ_SEALED_MISS = 4,       ///< the kernel is in no tier, and compiling is off
  QJ_CAPTURE_MISS = 5,      ///< a kernel that is not loaded, on a stream that is being captured
  QJ_NOT_IMPLEMENTED = 6,   ///< valid, but not in this version or build
  QJ_OUT_OF_MEMORY = 7,     ///< of the host
  QJ_CANCELLED = 8,         ///< a prewarm ended early because the caller asked for it
  QJ_INCOMPLETE = 9,        ///< a prewarm ended, and some kernels could not be had
  QJ_ERROR = 10,            ///< any other error that has a message
} qj_status;

/// A text that need not end in NUL; `data` may be null if `size` is 0.
typedef struct qj_text {
  const char* data;  ///< first byte
  size_t size;       ///< in bytes
} qj_text;

/// A service: one cache, one set of loaded kernels. See quantjit/service.hpp.
typedef struct qj_service qj_service;
/// A kernel loaded on one device, with a count of its users.
typedef struct qj_kernel qj_kernel;
/// Compiled code that needs no GPU.
typedef struct qj_image qj_image;
/// A switch that ends a prewarm early.
typedef struct qj_cancel qj_cancel;

// ---- DLPack: layouts and codes of its `DLTensor` and `DLManagedTensorVersioned` ----

/// Device types that tensors may have, with DLPack's values.
enum {
  QJ_DEVICE_CPU = 1,            ///< kDLCPU
  QJ_DEVICE_CUDA = 2,           ///< kDLCUDA
  QJ_DEVICE_CUDA_HOST = 3,      ///< kDLCUDAHost: pinned host memory
  QJ_DEVICE_CUDA_MANAGED = 13,  ///< kDLCUDAManaged: fits every device
};

/// Type codes that tensors may have, with DLPack's values.
enum {
  QJ_CODE_INT = 0,              ///< kDLInt: int8, int32, int64
  QJ_CODE_FLOAT = 2,            ///< kDLFloat: f16, f32
  QJ_CODE_BFLOAT = 4,           ///< kDLBfloat: bf16
  QJ_CODE_FLOAT8_E4M3FN = 10,   ///< kDLFloat8_e4m3fn: e4m3
  QJ_CODE_FLOAT8_E8M0FNU = 14,  ///< kDLFloat8_e8m0fnu: e8m0
};

/// As `DLDevice`.
typedef struct qj_dldevice {
  int32_t device_type;  ///< QJ_DEVICE_*
  int32_t device_id;    ///< CUDA ordinal
} qj_dldevice;

/// As `DLDataType`.
typedef struct qj_dldatatype {
  uint8_t code;    ///< QJ_CODE_*
  uint8_t bits;    ///< of one element
  uint16_t lanes;  ///< must be 1
} qj_dldatatype;

/// As `DLTensor`, which may be passed for it by a cast. Shape and strides must live as long as the
/// call; the memory until the stream has passed the launch.
typedef struct qj_dltensor {
  void* data;            ///< `byte_offset` before the first element
  qj_dldevice device;    ///< where the memory is
  int32_t ndim;          ///< 0 to 4
  qj_dldatatype dtype;   ///< element type
  int64_t* shape;        ///< `ndim` sizes in elements
  int64_t* strides;      ///< `ndim` strides in elements; null if contiguous, last dimension fastest
  uint64_t byte_offset;  ///< added to `data`
} qj_dltensor;

/// As `DLPackVersion`.
typedef struct qj_dlpack_version {
  uint32_t major;  ///< other majors than 1 are refused
  uint32_t minor;  ///< any
} qj_dlpack_version;

/// Bits of qj_dlmanaged_versioned.flags, as in DLPack.
enum {
  QJ_FLAG_READ_ONLY = 1,  ///< must not be written
  QJ_FLAG_IS_COPIED = 2,  ///< a copy, made for the exchange
};

/// As `DLManagedTensorVersioned`. The library reads it and never calls the deleter.
typedef struct qj_dlmanaged_versioned {
  qj_dlpack_version version;                             ///< of the struct
  void* manager_ctx;                                     ///< the owner's
  void (*deleter)(struct qj_dlmanaged_versioned* self);  ///< the owner's
  uint64_t flags;                                        ///< QJ_FLAG_*
  qj_dltensor dl_tensor;                                 ///< the tensor
} qj_dlmanaged_versioned;

/// Shape and strides of an output that does not exist yet.
typedef struct qj_tensor_spec {
  size_t struct_size;      ///< bytes of this struct, set by the caller
  qj_dldatatype dtype;     ///< element type
  int32_t ndim;            ///< 1 to 4
  int64_t shape[4];        ///< in elements
  int64_t strides[4];      ///< in elements
  uint64_t storage_bytes;  ///< what to allocate, padding included
} qj_tensor_spec;

// ---- Trait descriptors: the members of quantjit/traits.hpp, with the values of its enumerators
// ----

/// Operations of a qj_traits.
enum {
  QJ_OP_PER_TOKEN_GROUP_QUANT = 0,
  QJ_OP_PER_TOKEN_QUANT = 1,
};

/// Element types in traits; tensors have DLPack's codes.
enum {
  QJ_BF16 = 0,
  QJ_F16 = 1,
  QJ_F32 = 2,
  QJ_E4M3 = 3,
  QJ_INT8 = 4,
};

/// Scale formats.
enum { QJ_SCALE_F32 = 0, QJ_SCALE_UE8M0 = 1, QJ_SCALE_F32_POW2 = 2, QJ_SCALE_E8M0 = 3 };

/// Scale layouts.
enum { QJ_LAYOUT_ROW = 0, QJ_LAYOUT_COL = 1, QJ_LAYOUT_SWIZZLE128X4 = 2 };

/// Schedules.
enum { QJ_SCHEDULE_FLAT = 0, QJ_SCHEDULE_MASKED = 1 };

/// Whose bits.
enum {
  QJ_NUMERICS_SGLANG = 0,
  QJ_NUMERICS_SGLANG_V2 = 1,
  QJ_NUMERICS_VLLM = 2,
  QJ_NUMERICS_EXACT = 3
};

/// What happens to padding.
enum { QJ_FILL_NONE = 0, QJ_FILL_ZERO = 1 };

/// What an all-zero row gives in per_token_quant.
enum { QJ_ZERO_ROWS_LEGACY = 0, QJ_ZERO_ROWS_ZERO = 1 };

/// Math modes.
enum { QJ_MATH_AUTO = 0, QJ_MATH_FAST = 1, QJ_MATH_PRECISE = 2 };

/// A descriptor as numbers. Members that an operation does not have are not looked at. Begin with
/// qj_traits_init().
typedef struct qj_traits {
  size_t struct_size;  ///< bytes of this struct, set by the caller
  int32_t op;          ///< QJ_OP_*
  int32_t math;        ///< QJ_MATH_*: a mode that this descriptor asks for
  int32_t in;          ///< QJ_BF16, QJ_F16 or QJ_F32
  int32_t out;         ///< QJ_E4M3 or QJ_INT8
  int32_t numerics;    ///< QJ_NUMERICS_*
  int32_t pdl;         ///< 0 or 1: programmatic dependent launch
  int32_t group;       ///< per_token_group_quant: elements that share a scale
  int32_t scale;       ///< per_token_group_quant: QJ_SCALE_*
  int32_t layout;      ///< per_token_group_quant: QJ_LAYOUT_*
  int32_t silu;        ///< per_token_group_quant: 0 or 1
  int32_t schedule;    ///< per_token_group_quant: QJ_SCHEDULE_*
  int32_t fill;        ///< per_token_group_quant: QJ_FILL_*
  int32_t zero_rows;   ///< per_token_quant: QJ_ZERO_ROWS_*
  int32_t reserved;    ///< 0
} qj_traits;

// ---- Options and arguments ----

/// A cache root that others may write, and the key that its entries are authenticated with.
typedef struct qj_shared_root {
  qj_text root;      ///< folder
  qj_text key_file;  ///< file with the MAC key
} qj_shared_root;

/// How a service behaves. What is zero is as the environment says (QUANTJIT_*), and where that is
/// silent, the default; so `{.struct_size = sizeof(qj_service_options)}` is a service as the
/// environment wants it. Texts have the form of the variables.
typedef struct qj_service_options {
  size_t struct_size;                  ///< bytes of this struct, set by the caller
  int32_t ignore_environment;          ///< 1: the defaults in place of the environment
  int32_t memory_only;                 ///< 1: no disk cache; then there may be no roots
  const qj_text* cache_roots;          ///< QUANTJIT_CACHE_DIR: folders (or bundles) in lookup order
  size_t num_cache_roots;              ///< 0: unset
  const qj_shared_root* shared_roots;  ///< QUANTJIT_CACHE_SHARED
  size_t num_shared_roots;             ///< 0: unset
  uint64_t cache_max_bytes;            ///< QUANTJIT_CACHE_MAX_SIZE; 0: unset
  qj_text kernel_dir;                  ///< QUANTJIT_KERNEL_DIR
  qj_text nvrtc;                       ///< QUANTJIT_NVRTC
  qj_text cuda_driver;                 ///< QUANTJIT_CUDA_DRIVER
  qj_text math;                        ///< QUANTJIT_MATH: auto, fast or precise
  qj_text code;                        ///< QUANTJIT_CODE: auto, cubin or ptx
  qj_text capture_policy;              ///< QUANTJIT_CAPTURE_POLICY: error or load
  qj_text jit;                         ///< QUANTJIT_JIT: on or off
  qj_text record;                      ///< QUANTJIT_RECORD: file that requests are recorded in
  const qj_text* remote;               ///< QUANTJIT_REMOTE: URLs of remote tiers in lookup order
  size_t num_remote;                   ///< 0: unset
} qj_service_options;

/// Tensors of a launch or of the CPU reference. Which an operation takes, and their shapes, dtypes,
/// strides and alignment: quantjit/ops.hpp.
typedef struct qj_operands {
  size_t struct_size;           ///< bytes of this struct, set by the caller
  const qj_dltensor* input;     ///< read
  const qj_dltensor* output_q;  ///< written: codes
  const qj_dltensor* output_s;  ///< written: scales
  const qj_dltensor* masked_m;  ///< schedule=masked: live rows an expert; else null
  int64_t expected_m;           ///< schedule=masked: hint, 0 or less = unknown
} qj_operands;

/// How the objects of another language are read as tensors, for qj_launch_objects().
typedef struct qj_object_reader {
  size_t struct_size;  ///< bytes of this struct, set by the caller
  /// Fills a tensor with what an object is. The tensor owns nothing and is used until the launch
  /// returns. 0, or another value for an object that is no tensor. DLPack's
  /// DLPackDLTensorFromPyObjectNoSync has this type.
  int (*read)(void* object, qj_dltensor* tensor);
  void* (*leave)(void);        ///< called between reading and launching, to give up a lock; or null
  void (*enter)(void* state);  ///< called after the launch with what `leave` gave; null with it
} qj_object_reader;

/// The arguments of a launch as objects.
typedef struct qj_object_operands {
  size_t struct_size;  ///< bytes of this struct, set by the caller
  void* input;         ///< objects, as the tensors of qj_operands
  void* output_q;      ///< written: codes
  void* output_s;      ///< written: scales
  void* masked_m;      ///< schedule=masked: live rows an expert; else null
  int64_t expected_m;  ///< schedule=masked: hint, 0 or less = unknown
} qj_object_operands;

/// What the bits of the CPU reference depend on beside the traits.
typedef struct qj_reference_target {
  size_t struct_size;  ///< bytes of this struct, set by the caller
  qj_text arch;        ///< e.g. "sm_90a"
  int32_t math;        ///< QJ_MATH_*: a preference
  int32_t sm_count;    ///< multiprocessors of the GPU; read with zero_rows=legacy
} qj_reference_target;

/// How far a prewarm is.
typedef struct qj_prewarm_progress {
  size_t struct_size;  ///< bytes of this struct, set by the library
  uint64_t requested;  ///< distinct (descriptor, arch) pairs in all
  uint64_t hits;       ///< that were in the cache
  uint64_t compiled;   ///< that were compiled
  uint64_t failed;     ///< that could not be had
  double seconds;      ///< since it began
} qj_prewarm_progress;

/// Called after each pair and once before the first, by one thread at a time, not always the
/// caller's. Returns 0, or another value to end the prewarm early.
typedef int32_t (*qj_progress_callback)(const qj_prewarm_progress* progress, void* user);

/// What a prewarm prepares, and how.
typedef struct qj_prewarm_options {
  size_t struct_size;             ///< bytes of this struct, set by the caller
  const qj_text* traits;          ///< descriptor texts
  size_t num_traits;              ///< may be 0 if a file is given
  qj_text manifest;               ///< manifest file whose items are prepared too
  qj_text trace;                  ///< trace file whose requests are prepared too
  const qj_text* archs;           ///< targets of what names none itself, e.g. "sm_90a"
  size_t num_archs;               ///< may be 0 if there are devices
  const int32_t* devices;         ///< CUDA ordinals to load on; then the archs are not looked at
  size_t num_devices;             ///< number of them
  int32_t jobs;                   ///< compiles at once, at most; 0 = as many as there are cores
  uint64_t memory_limit;          ///< bytes that compiles may take; 0 = what is free
  qj_progress_callback progress;  ///< may be null
  void* user;                     ///< handed to `progress`
  qj_cancel* cancel;              ///< may be null; also turned on when `progress` says so
} qj_prewarm_options;

// ---- Kernels of the caller ----

/// One value of a key: its text in a descriptor, and the template argument that it stands for: an
/// integer, true, false, or an identifier (`a::b` too). An empty argument is the value itself.
typedef struct qj_source_value {
  qj_text value;     ///< letters, digits, '_' and '.'
  qj_text argument;  ///< template argument
} qj_source_value;

/// One key of an operation.
typedef struct qj_source_key {
  qj_text key;                    ///< lower-case identifier
  const qj_source_value* values;  ///< the default first
  size_t num_values;              ///< 1 to 64
} qj_source_key;

/// One `__global__` function template (or function) of a source.
typedef struct qj_source_entry {
  qj_text function;          ///< qualified name, e.g. "engine::rmsnorm_quant"
  const qj_text* arguments;  ///< keys whose values are its template arguments, "math" among them,
                             ///< or integers, true and false
  size_t num_arguments;      ///< 0: no template
} qj_source_entry;

/// A file that a source includes.
typedef struct qj_source_file {
  qj_text path;  ///< as in `#include "path"`
  qj_text text;  ///< its content
} qj_source_file;

/// An operation of the caller: source and trait schema. See quantjit/source.hpp.
typedef struct qj_source {
  size_t struct_size;              ///< bytes of this struct, set by the caller
  qj_text op;                      ///< name in descriptors, a lower-case identifier
  qj_text path;                    ///< of the source in the include root, e.g. "engine/norm.cuh"
  qj_text text;                    ///< the source; or
  qj_text file;                    ///< a file that holds it, read again by qj_reload_sources()
  const qj_source_file* includes;  ///< files of the caller that it includes
  size_t num_includes;             ///< number of them
  const qj_source_key* keys;       ///< in canonical order; `pdl` and `math` are always there
  size_t num_keys;                 ///< 0 to 16
  const qj_source_entry* entries;  ///< a launch picks one by index
  size_t num_entries;              ///< 1 to 3
  size_t parameter_bytes;          ///< size of the one struct that every entry takes by value
  size_t dynamic_shared_bytes;     ///< most that a launch asks for a block, in bytes
  int32_t fmad;                    ///< 1: the compiler may contract a * b + c
  int32_t reserved;                ///< 0
} qj_source;

/// A launch of a caller's kernel.
typedef struct qj_raw_launch {
  size_t struct_size;      ///< bytes of this struct, set by the caller
  uint32_t entry;          ///< index of the entry point
  uint32_t grid[3];        ///< blocks
  uint32_t block[3];       ///< threads
  uint32_t shared_bytes;   ///< dynamic shared memory a block
  const void* parameters;  ///< the parameter struct
  size_t parameter_bytes;  ///< its size
} qj_raw_launch;

#ifdef __cplusplus
}
#endif
