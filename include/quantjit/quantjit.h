// SPDX-License-Identifier: Apache-2.0
// The C ABI (C11, also valid C++): services, kernels, launches on DLPack tensors, own kernels.
//
// Conventions:
// 1. A function that can fail returns a qj_status. On anything but QJ_OK, qj_last_error() of the
//    same thread says what failed, on what, why, and what to do; outputs are left as they were,
//    except where a function says otherwise.
// 2. Texts are a pointer and a length, in UTF-8; they need not end in NUL. Paths and texts that
// come
//    back end in NUL as well.
// 3. Structs that begin with `struct_size` grow at their end. Callers set it to sizeof; members
// that
//    a library does not know must be zero, members that a caller does not know are zero.
// 4. Handles (qj_service and so on) are opaque. A text that a function stores in `char**` belongs
// to
//    the caller, who releases it with qj_free(). Releasing null does nothing.
// 5. Every function may be called from any thread, except that a handle must not be in use while it
//    is released for the last time.
// 6. Nothing here is to be called in a process that forked after its first CUDA call; where it is
//    noticed it is a QJ_DRIVER_ERROR.
#pragma once

#include <quantjit/qj_types.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- The library ----

/// QJ_ABI_VERSION of the library.
QJ_API int32_t qj_abi_version(void);
/// Version of the library, e.g. "1.0.0". Static.
QJ_API const char* qj_version(void);
/// Name of a status, e.g. "QJ_INVALID_ARGUMENT"; "unknown status" for other numbers. Static.
QJ_API const char* qj_status_name(qj_status status);

/// Message of the last call that failed on this thread, in one sentence; "" if none did. Valid
/// until the next call of this library on this thread. Calls that succeed leave it.
QJ_API const char* qj_last_error(void);
/// What that error carries beside its message, as a JSON object: `status message`, and with
/// QJ_INVALID_ARGUMENT `parameter value rule`, with QJ_COMPILE_ERROR `traits arch options
/// nvrtc_path nvrtc_version log`, with QJ_DRIVER_ERROR `api code name`. "{}" if there is none.
/// Valid as above.
QJ_API const char* qj_last_error_details(void);

/// Releases a text of this library.
QJ_API void qj_free(void* text);

// ---- Trait descriptors ----

/// The defaults of an operation (QJ_OP_*). `traits->struct_size` must be set.
QJ_API qj_status qj_traits_init(qj_traits* traits, int32_t op);
/// Reads a descriptor text, e.g. "per_token_group_quant:scale=ue8m0,layout=col".
/// `traits->struct_size` must be set.
QJ_API qj_status qj_traits_parse(const char* text, size_t size, qj_traits* traits);
/// Canonical text of a descriptor, with `math` if it asks for a mode. Refuses combinations that do
/// not exist. @param text_size may be null
QJ_API qj_status qj_traits_text(const qj_traits* traits, char** text, size_t* text_size);
/// Every operation with its keys, values (default first) and rules, as JSON:
/// `operations[{op, summary, keys[{key, values[], rule}]}]`. @param size may be null
QJ_API qj_status qj_describe_operations(char** json, size_t* size);

// ---- Services ----

/// Makes a service. Cheap: touches neither CUDA nor NVRTC nor the disk.
/// @param options null: as the environment says
QJ_API qj_status qj_service_open(const qj_service_options* options, qj_service** service);
/// Ends a service. Kernels and images of it stay usable until they are released. Waits up to 2
/// seconds for what remote tiers have not got yet.
QJ_API void qj_service_close(qj_service* service);

/// Counters since the service was opened, as JSON: `requests memory_hits disk_hits compiles
/// compile_failures waits loads rejected_entries publish_failures sealed_misses capture_misses
/// nvrtc_loaded`, and sums over the remote tiers: `remote_hits remote_misses remote_failures
/// remote_rejected remote_puts remote_put_failures remote_dropped remote_benched fleet_waits
/// service_compiles`.
/// @param size may be null
QJ_API qj_status qj_stats(qj_service* service, char** json, size_t* size);
/// The remote tiers in lookup order, as JSON: `tiers[{label writable leases compiles benched hits
/// misses failures rejected puts put_failures dropped skipped waits service_compiles bytes_read
/// bytes_written last_error}]`. Asks no server. @param size may be null
QJ_API qj_status qj_remote_stats(qj_service* service, char** json, size_t* size);
/// Waits until what was compiled or found before this call is stored in the remote tiers that take
/// it, or has failed to be; that happens in the background.
/// @param timeout_ms not negative
/// @param complete 0: it takes longer, and goes on; may be null
QJ_API qj_status qj_service_flush_remote(qj_service* service, int64_t timeout_ms,
                                         int32_t* complete);
/// Counters of one device: `requests memory_hits loads load_failures evictions loaded_kernels`.
/// @param size may be null
QJ_API qj_status qj_device_stats(qj_service* service, int32_t device, char** json, size_t* size);
/// The counters of a service in the Prometheus text format, version 0.0.4. @param size may be null
QJ_API qj_status qj_prometheus_text(qj_service* service, char** text, size_t* size);
/// What a device is: `ordinal name arch sm_count memory_bytes driver_version simulated devices`, of
/// which the last is the number of devices. Initializes the driver. @param size may be null
QJ_API qj_status qj_device_info(qj_service* service, int32_t device, char** json, size_t* size);
/// Why a request hits or misses: `traits arch key hit path nearest{key,
/// differs[{field,wanted,found}]}`; `nearest` is null for a hit. Compiles and loads nothing.
/// @param size may be null
QJ_API qj_status qj_explain(qj_service* service, const char* traits, size_t traits_size,
                            const char* arch, size_t arch_size, char** json, size_t* size);

/// Reads the kernel sources again (QUANTJIT_KERNEL_DIR, files of qj_register_source) and drops the
/// memory tier; kernels already handed out stay as they are.
QJ_API qj_status qj_reload_sources(qj_service* service);
/// Drops a device's kernels from the memory tier. @param count how many; may be null
QJ_API qj_status qj_evict_memory(qj_service* service, int32_t device, uint64_t* count);

// ---- Preparing kernels ahead ----

/// Prepares a list of descriptors for archs or devices, several at once. `*json` is set whenever
/// the list was worked on: `requested hits compiled failed[{traits,arch,error,log}] loaded jobs
/// cancelled seconds`.
/// @param json may be null @param size may be null
/// @return QJ_OK; QJ_INCOMPLETE if some could not be had; QJ_CANCELLED if it was ended early
QJ_API qj_status qj_prewarm(qj_service* service, const qj_prewarm_options* options, char** json,
                            size_t* size);
/// From now on the service never compiles: a miss is QJ_SEALED_MISS.
QJ_API qj_status qj_seal(qj_service* service);

/// Makes a switch that is off.
QJ_API qj_status qj_cancel_create(qj_cancel** cancel);
/// Turns it on for good. Safe in a signal handler.
QJ_API void qj_cancel_request(qj_cancel* cancel);
/// Releases it. No prewarm may use it.
QJ_API void qj_cancel_destroy(qj_cancel* cancel);

// ---- Kernels and images ----

/// The kernel for a device, compiled and loaded if need be; a repeated request costs one hash
/// lookup. The caller has one use of it and gives it back with qj_kernel_release().
/// @param device CUDA ordinal, or -1 for the device of `stream` (of the current context if that is
/// a default stream)
/// @param stream CUstream or cudaStream_t, null for the default stream. If it is being captured and
/// the kernel is not loaded yet, the capture policy applies
QJ_API qj_status qj_kernel_get(qj_service* service, const char* traits, size_t traits_size,
                               int32_t device, void* stream, qj_kernel** kernel);
/// The same for a descriptor as a struct.
QJ_API qj_status qj_kernel_get_traits(qj_service* service, const qj_traits* traits, int32_t device,
                                      void* stream, qj_kernel** kernel);
/// Adds a use.
QJ_API void qj_kernel_retain(qj_kernel* kernel);
/// Gives a use back. The code stays loaded until the process ends, so launched work and graphs that
/// captured the kernel may outlive all uses.
QJ_API void qj_kernel_release(qj_kernel* kernel);
/// CUDA ordinal that it is loaded on; -1 for null.
QJ_API int32_t qj_kernel_device(const qj_kernel* kernel);
/// What is known of it: `traits arch key math code_kind nvrtc nvrtc_build_id path toolchain_match
/// compile_ms code_bytes entry_points[{name,lowered_name,registers,spill_bytes,shared_bytes,
/// pdl_wait}] log device`. @param size may be null
QJ_API qj_status qj_kernel_info(const qj_kernel* kernel, char** json, size_t* size);

/// The compiled code for a target; needs no GPU. Released with qj_image_release().
QJ_API qj_status qj_image_get(qj_service* service, const char* traits, size_t traits_size,
                              const char* arch, size_t arch_size, qj_image** image);
/// Releases an image.
QJ_API void qj_image_release(qj_image* image);
/// As qj_kernel_info(), with `source` (memory, disk, remote, compiled) in place of `device`.
/// @param size may be null
QJ_API qj_status qj_image_info(const qj_image* image, char** json, size_t* size);
/// Cubin or PTX bytes, valid while the image lives.
QJ_API qj_status qj_image_code(const qj_image* image, const void** code, size_t* size);

// ---- Launches ----
//
// Asynchronous: they return before the kernel ends, and memory must stay valid until the stream has
// passed the launch. They take no lock and allocate nothing. Every tensor is checked before any
// CUDA call. Tensors are on the kernel's GPU (QJ_DEVICE_CUDA) or managed; host memory is refused,
// except on the simulated device, whose memory it is. Shapes, dtypes, strides: quantjit/ops.hpp.

/// Quantizes groups of a row, each with its own scale.
/// @param masked_m schedule=masked: live rows an expert; else null
/// @param expected_m hint, 0 or less = unknown; never changes results
QJ_API qj_status qj_per_token_group_quant(const qj_kernel* kernel, const qj_dltensor* input,
                                          const qj_dltensor* output_q, const qj_dltensor* output_s,
                                          const qj_dltensor* masked_m, int64_t expected_m,
                                          void* stream);
/// Quantizes each row with one scale.
QJ_API qj_status qj_per_token_quant(const qj_kernel* kernel, const qj_dltensor* input,
                                    const qj_dltensor* output_q, const qj_dltensor* output_s,
                                    void* stream);
/// Launches whatever operation the kernel is of.
QJ_API qj_status qj_kernel_launch(const qj_kernel* kernel, const qj_operands* operands,
                                  void* stream);
/// qj_kernel_get() for the device of the input (for host memory on the simulated device: of the
/// stream), then qj_kernel_launch().
QJ_API qj_status qj_launch(qj_service* service, const char* traits, size_t traits_size,
                           const qj_operands* operands, void* stream);
/// qj_kernel_launch() on objects of another language: reads them, gives up the lock that reading
/// needs (`leave`), launches and takes it again (`enter`), in one call. What `read` refuses is
/// QJ_INVALID_ARGUMENT, and nothing is launched; `leave` and `enter` are then not called.
QJ_API qj_status qj_launch_objects(const qj_kernel* kernel, const qj_object_reader* reader,
                                   const qj_object_operands* operands, void* stream);
/// The outputs that belong to an input, as the originals allocate them: column scales have token
/// stride 1 and a group stride of ceil(tokens / 4) * 4. The input's memory and device are not
/// looked at. `struct_size` of both specs must be set; either may be null.
QJ_API qj_status qj_output_specs(const char* traits, size_t traits_size, const qj_dltensor* input,
                                 qj_tensor_spec* output_q, qj_tensor_spec* output_s);
/// The tensor of a managed one of DLPack 1.x. Refused: another major version, a null tensor, and
/// with `writable` one that is marked read only. `*tensor` points into `managed`.
QJ_API qj_status qj_tensor_of_managed(const qj_dlmanaged_versioned* managed, int32_t writable,
                                      const qj_dltensor** tensor);

/// The operation on the CPU, in host memory: exactly the bytes that the kernel writes (where
/// quantjit::reference::is_bit_exact() holds). Slow and synchronous; needs no GPU.
QJ_API qj_status qj_reference(const char* traits, size_t traits_size,
                              const qj_reference_target* target, const qj_operands* operands);

// ---- Kernels of the caller ----

/// Adds an operation to a service: from then on its descriptors work wherever texts do (get, image,
/// prewarm, explain). An operation of the same name replaces the one that was registered; built-in
/// names are refused.
QJ_API qj_status qj_register_source(qj_service* service, const qj_source* source);
/// Launches an entry point of such an operation. The parameters are copied before it returns.
QJ_API qj_status qj_launch_raw(const qj_kernel* kernel, const qj_raw_launch* how, void* stream);

#ifdef __cplusplus
}
#endif
