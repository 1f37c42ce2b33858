# SPDX-License-Identifier: Apache-2.0
"""How the C ABI reads Python's tensors by itself: through the functions in C that their type offers with DLPack 1.3."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_uint32, c_void_p, cast, py_object, sizeof
from typing import Any

from quantjit import _abi

_CAPSULE = b"dlpack_exchange_api"


class _ExchangeApi(ctypes.Structure):
    """The beginning of DLPack's DLPackExchangeAPI."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("previous", c_void_p),
        ("allocate", c_void_p),
        ("managed_from_object", c_void_p),
        ("managed_to_object", c_void_p),
        ("tensor_from_object", c_void_p),
    ]


def make_reader(read: Any) -> _abi.ObjectReader:
    """The reader of a function of the type `int(PyObject*, DLTensor*)`. Launches happen without Python's lock."""
    python = ctypes.pythonapi
    return _abi.ObjectReader(
        struct_size=sizeof(_abi.ObjectReader), read=cast(read, c_void_p),
        leave=cast(python.PyEval_SaveThread, c_void_p), enter=cast(python.PyEval_RestoreThread, c_void_p),
    )  # fmt: skip


def reader_of(kind: type) -> _abi.ObjectReader | None:
    """The reader of a type's tensors; None if it offers none, or one of a version that is not known."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return None
    get_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    try:
        address = get_pointer(capsule, _CAPSULE)
    except (ValueError, TypeError):
        return None
    while address:
        api = _ExchangeApi.from_address(address)
        if api.major == 1 and api.tensor_from_object:
            return make_reader(api.tensor_from_object)
        address = api.previous
    return None
