# SPDX-License-Identifier: Apache-2.0
"""The C ABI as ctypes: the structs of quantjit/qj_types.h and one table with the functions of quantjit/quantjit.h.

Handles and pointers to structs are plain addresses (c_void_p): a launch then converts nothing.
"""

from __future__ import annotations

from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8,
                    c_uint16, c_uint32, c_uint64, c_void_p)  # fmt: skip

ABI_VERSION = 1

DEVICE_CPU = 1
DEVICE_CUDA = 2
DEVICE_CUDA_HOST = 3
DEVICE_CUDA_MANAGED = 13

CODE_INT = 0
CODE_FLOAT = 2
CODE_BFLOAT = 4
CODE_FLOAT8_E4M3FN = 10
CODE_FLOAT8_E8M0FNU = 14

FLAG_READ_ONLY = 1
FLAG_IS_COPIED = 2

STATUS_OK = 0
STATUS_CANCELLED = 8
STATUS_INCOMPLETE = 9


class Text(Structure):
    """qj_text"""

    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class DLDevice(Structure):
    """qj_dldevice"""

    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    """qj_dldatatype"""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    """qj_dltensor"""

    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLPackVersion(Structure):
    """qj_dlpack_version"""

    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLManagedTensor(Structure):
    """DLPack's managed tensor before version 1; the C ABI has none, capsules named "dltensor" hold one."""


DELETER = CFUNCTYPE(None, c_void_p)
DLManagedTensor._fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", DELETER)]


class DLManagedVersioned(Structure):
    """qj_dlmanaged_versioned"""

    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", DELETER),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


class TensorSpec(Structure):
    """qj_tensor_spec"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("dtype", DLDataType),
        ("ndim", c_int32),
        ("shape", c_int64 * 4),
        ("strides", c_int64 * 4),
        ("storage_bytes", c_uint64),
    ]


class Traits(Structure):
    """qj_traits"""

    _fields_ = [("struct_size", c_size_t)] + [
        (name, c_int32)
        for name in ("op", "math", "in", "out", "numerics", "pdl", "group", "scale", "layout", "silu", "schedule",
                     "fill", "zero_rows", "reserved")
    ]  # fmt: skip


class SharedRoot(Structure):
    """qj_shared_root"""

    _fields_ = [("root", Text), ("key_file", Text)]


class ServiceOptions(Structure):
    """qj_service_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("ignore_environment", c_int32),
        ("memory_only", c_int32),
        ("cache_roots", POINTER(Text)),
        ("num_cache_roots", c_size_t),
        ("shared_roots", POINTER(SharedRoot)),
        ("num_shared_roots", c_size_t),
        ("cache_max_bytes", c_uint64),
        ("kernel_dir", Text),
        ("nvrtc", Text),
        ("cuda_driver", Text),
        ("math", Text),
        ("code", Text),
        ("capture_policy", Text),
        ("jit", Text),
        ("record", Text),
        ("remote", POINTER(Text)),
        ("num_remote", c_size_t),
    ]


class Operands(Structure):
    """qj_operands"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("input", POINTER(DLTensor)),
        ("output_q", POINTER(DLTensor)),
        ("output_s", POINTER(DLTensor)),
        ("masked_m", POINTER(DLTensor)),
        ("expected_m", c_int64),
    ]


class ObjectReader(Structure):
    """qj_object_reader"""

    _fields_ = [("struct_size", c_size_t), ("read", c_void_p), ("leave", c_void_p), ("enter", c_void_p)]


class ObjectOperands(Structure):
    """qj_object_operands"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("input", c_void_p),
        ("output_q", c_void_p),
        ("output_s", c_void_p),
        ("masked_m", c_void_p),
        ("expected_m", c_int64),
    ]


class ReferenceTarget(Structure):
    """qj_reference_target"""

    _fields_ = [("struct_size", c_size_t), ("arch", Text), ("math", c_int32), ("sm_count", c_int32)]


class PrewarmProgress(Structure):
    """qj_prewarm_progress"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("requested", c_uint64),
        ("hits", c_uint64),
        ("compiled", c_uint64),
        ("failed", c_uint64),
        ("seconds", c_double),
    ]


PROGRESS_CALLBACK = CFUNCTYPE(c_int32, POINTER(PrewarmProgress), c_void_p)


class PrewarmOptions(Structure):
    """qj_prewarm_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("traits", POINTER(Text)),
        ("num_traits", c_size_t),
        ("manifest", Text),
        ("trace", Text),
        ("archs", POINTER(Text)),
        ("num_archs", c_size_t),
        ("devices", POINTER(c_int32)),
        ("num_devices", c_size_t),
        ("jobs", c_int32),
        ("memory_limit", c_uint64),
        ("progress", PROGRESS_CALLBACK),
        ("user", c_void_p),
        ("cancel", c_void_p),
    ]


class SourceValue(Structure):
    """qj_source_value"""

    _fields_ = [("value", Text), ("argument", Text)]


class SourceKey(Structure):
    """qj_source_key"""

    _fields_ = [("key", Text), ("values", POINTER(SourceValue)), ("num_values", c_size_t)]


class SourceEntry(Structure):
    """qj_source_entry"""

    _fields_ = [("function", Text), ("arguments", POINTER(Text)), ("num_arguments", c_size_t)]


class SourceFile(Structure):
    """qj_source_file"""

    _fields_ = [("path", Text), ("text", Text)]


class Source(Structure):
    """qj_source"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("op", Text),
        ("path", Text),
        ("text", Text),
        ("file", Text),
        ("includes", POINTER(SourceFile)),
        ("num_includes", c_size_t),
        ("keys", POINTER(SourceKey)),
        ("num_keys", c_size_t),
        ("entries", POINTER(SourceEntry)),
        ("num_entries", c_size_t),
        ("parameter_bytes", c_size_t),
        ("dynamic_shared_bytes", c_size_t),
        ("fmad", c_int32),
        ("reserved", c_int32),
    ]


class RawLaunch(Structure):
    """qj_raw_launch"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("entry", c_uint32),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared_bytes", c_uint32),
        ("parameters", c_void_p),
        ("parameter_bytes", c_size_t),
    ]


_TEXT_IN = (c_char_p, c_size_t)
_TEXT_OUT = (POINTER(c_void_p), POINTER(c_size_t))
_HANDLE_OUT = POINTER(c_void_p)

# name -> (result, arguments)
PROTOTYPES: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "qj_abi_version": (c_int32, ()),
    "qj_version": (c_char_p, ()),
    "qj_status_name": (c_char_p, (c_int,)),
    "qj_last_error": (c_char_p, ()),
    "qj_last_error_details": (c_char_p, ()),
    "qj_free": (None, (c_void_p,)),
    "qj_traits_init": (c_int, (c_void_p, c_int32)),
    "qj_traits_parse": (c_int, (*_TEXT_IN, c_void_p)),
    "qj_traits_text": (c_int, (c_void_p, *_TEXT_OUT)),
    "qj_describe_operations": (c_int, _TEXT_OUT),
    "qj_service_open": (c_int, (c_void_p, _HANDLE_OUT)),
    "qj_service_close": (None, (c_void_p,)),
    "qj_stats": (c_int, (c_void_p, *_TEXT_OUT)),
    "qj_remote_stats": (c_int, (c_void_p, *_TEXT_OUT)),
    "qj_service_flush_remote": (c_int, (c_void_p, c_int64, POINTER(c_int32))),
    "qj_device_stats": (c_int, (c_void_p, c_int32, *_TEXT_OUT)),
    "qj_prometheus_text": (c_int, (c_void_p, *_TEXT_OUT)),
    "qj_device_info": (c_int, (c_void_p, c_int32, *_TEXT_OUT)),
    "qj_explain": (c_int, (c_void_p, *_TEXT_IN, *_TEXT_IN, *_TEXT_OUT)),
    "qj_reload_sources": (c_int, (c_void_p,)),
    "qj_evict_memory": (c_int, (c_void_p, c_int32, POINTER(c_uint64))),
    "qj_prewarm": (c_int, (c_void_p, c_void_p, *_TEXT_OUT)),
    "qj_seal": (c_int, (c_void_p,)),
    "qj_cancel_create": (c_int, (_HANDLE_OUT,)),
    "qj_cancel_request": (None, (c_void_p,)),
    "qj_cancel_destroy": (None, (c_void_p,)),
    "qj_kernel_get": (c_int, (c_void_p, *_TEXT_IN, c_int32, c_void_p, _HANDLE_OUT)),
    "qj_kernel_get_traits": (c_int, (c_void_p, c_void_p, c_int32, c_void_p, _HANDLE_OUT)),
    "qj_kernel_retain": (None, (c_void_p,)),
    "qj_kernel_release": (None, (c_void_p,)),
    "qj_kernel_device": (c_int32, (c_void_p,)),
    "qj_kernel_info": (c_int, (c_void_p, *_TEXT_OUT)),
    "qj_image_get": (c_int, (c_void_p, *_TEXT_IN, *_TEXT_IN, _HANDLE_OUT)),
    "qj_image_release": (None, (c_void_p,)),
    "qj_image_info": (c_int, (c_void_p, *_TEXT_OUT)),
    "qj_image_code": (c_int, (c_void_p, POINTER(c_void_p), POINTER(c_size_t))),
    "qj_per_token_group_quant": (c_int, (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_void_p)),
    "qj_per_token_quant": (c_int, (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
    "qj_kernel_launch": (c_int, (c_void_p, c_void_p, c_void_p)),
    "qj_launch": (c_int, (c_void_p, *_TEXT_IN, c_void_p, c_void_p)),
    "qj_launch_objects": (c_int, (c_void_p, c_void_p, c_void_p, c_void_p)),
    "qj_output_specs": (c_int, (*_TEXT_IN, c_void_p, c_void_p, c_void_p)),
    "qj_tensor_of_managed": (c_int, (c_void_p, c_int32, POINTER(c_void_p))),
    "qj_reference": (c_int, (*_TEXT_IN, c_void_p, c_void_p)),
    "qj_register_source": (c_int, (c_void_p, c_void_p)),
    "qj_launch_raw": (c_int, (c_void_p, c_void_p, c_void_p)),
}
