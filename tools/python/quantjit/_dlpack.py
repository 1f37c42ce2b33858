# SPDX-License-Identifier: Apache-2.0
"""Tensors of others as the C ABI's: PyTorch's, NumPy's, and whatever has `__dlpack__`."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int, c_int64, c_void_p, cast, py_object
from typing import Any

from quantjit import _abi
from quantjit.errors import InvalidArgument, refuse

# name -> (DLPack code, bits). NumPy's and PyTorch's names of element types are the same.
DTYPES: dict[str, tuple[int, int]] = {
    "bfloat16": (_abi.CODE_BFLOAT, 16),
    "float16": (_abi.CODE_FLOAT, 16),
    "float32": (_abi.CODE_FLOAT, 32),
    "float8_e4m3fn": (_abi.CODE_FLOAT8_E4M3FN, 8),
    "float8_e8m0fnu": (_abi.CODE_FLOAT8_E8M0FNU, 8),
    "int8": (_abi.CODE_INT, 8),
    "int32": (_abi.CODE_INT, 32),
    "int64": (_abi.CODE_INT, 64),
}
# DLPack's (code, bits) -> the word for it in descriptors, where there is one.
TRAIT_DTYPES: dict[tuple[int, int], str] = {
    DTYPES["bfloat16"]: "bf16",
    DTYPES["float16"]: "f16",
    DTYPES["float32"]: "f32",
    DTYPES["float8_e4m3fn"]: "e4m3",
    DTYPES["int8"]: "int8",
}
_NAMES = {code: name for name, code in DTYPES.items()}
_HOST = (_abi.DEVICE_CPU, _abi.DEVICE_CUDA_HOST)

# Streams as __dlpack__ takes them: the default stream has a number of its own there.
_LEGACY_DEFAULT_STREAM = 1


class View:
    """A tensor as the C ABI takes it. Keeps the memory alive until `release`.

    Attributes:
        tensor: the qj_dltensor.
        source: the object that it is a view of.
    """

    __slots__ = ("tensor", "source", "_managed", "_deleter")

    def __init__(self, tensor: _abi.DLTensor, source: object):
        self.tensor = tensor
        self.source = source
        self._managed: int | None = None
        self._deleter: Any = None

    @property
    def on_host(self) -> bool:
        return self.tensor.device.device_type in _HOST

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape[: self.tensor.ndim])

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        if self.tensor.strides:
            return tuple(self.tensor.strides[: self.tensor.ndim])
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.append(step)
            step *= max(size, 1)
        return tuple(reversed(strides))

    @property
    def address(self) -> int:
        """Of the first element."""
        return (self.tensor.data or 0) + self.tensor.byte_offset

    @property
    def trait_dtype(self) -> str | None:
        """The word for the element type in descriptors, e.g. "bf16"."""
        return TRAIT_DTYPES.get((self.tensor.dtype.code, self.tensor.dtype.bits))

    def own(self, managed: int, deleter: Any) -> View:
        """Takes over a managed tensor, whose deleter `release` calls."""
        self._managed, self._deleter = managed, deleter
        return self

    def release(self) -> None:
        """Gives the tensor back to its producer. More than once is once."""
        managed, self._managed = self._managed, None
        if managed is not None and self._deleter:
            self._deleter(managed)
        self.source = None

    def __del__(self) -> None:
        self.release()


def make_tensor(
    address: int, code: tuple[int, int], shape: Sequence[int], strides: Sequence[int], device: tuple[int, int]
) -> _abi.DLTensor:
    """A qj_dltensor with shape and strides (in elements) of its own."""
    ndim = len(shape)
    dims = (c_int64 * max(2 * ndim, 1))(*shape, *strides)
    first = cast(dims, POINTER(c_int64))
    behind = cast(ctypes.byref(dims, ndim * 8), POINTER(c_int64))
    tensor = _abi.DLTensor(
        data=address, device=_abi.DLDevice(*device), ndim=ndim, dtype=_abi.DLDataType(*code, 1), shape=first,
        strides=behind,
    )  # fmt: skip
    tensor.keep = dims  # type: ignore[attr-defined]  # the pointers alone would not keep it
    return tensor


def dtype_name(view: View) -> str:
    """Name of the element type, e.g. "bfloat16"."""
    code = (view.tensor.dtype.code, view.tensor.dtype.bits)
    return _NAMES.get(code, f"DLPack type code {code[0]} with {code[1]} bits")


def is_torch(value: object) -> bool:
    """Whether this is a PyTorch tensor; never imports PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_numpy(value: object) -> bool:
    """Whether this is a NumPy array; never imports NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def view_of(value: object, name: str, *, writable: bool = False, stream: int = 0) -> View:
    """The view of a tensor, without a copy.

    Args:
        value: a PyTorch tensor, a NumPy array (`ml_dtypes` types too), or any object with `__dlpack__`.
        name: the argument's, for messages.
        writable: refuse what is read only.
        stream: the stream that will use it, told to producers of `__dlpack__`.

    Raises: InvalidArgument.
    """
    if is_torch(value):
        return _view_of_torch(value, name)
    if is_numpy(value):
        return _view_of_numpy(value, name, writable)
    if hasattr(value, "__dlpack__"):
        return _view_of_producer(value, name, writable, stream)
    raise refuse(name, type(value).__name__, "it must be a PyTorch tensor, a NumPy array or have __dlpack__")


def _code_of(dtype_word: str, name: str) -> tuple[int, int]:
    code = DTYPES.get(dtype_word)
    if code is None:
        raise refuse(f"{name}.dtype", dtype_word, f"it must be one of {', '.join(DTYPES)}")
    return code


def _view_of_torch(value: Any, name: str) -> View:
    if value.layout is not sys.modules["torch"].strided:
        raise refuse(f"{name}.layout", value.layout, "it must be torch.strided")
    code = _code_of(str(value.dtype).removeprefix("torch."), name)
    kind = value.device.type
    if kind == "cuda":
        device = (_abi.DEVICE_CUDA, value.get_device())
    elif kind == "cpu":
        device = (_abi.DEVICE_CPU, 0)
    else:
        raise refuse(f"{name}.device", value.device, "it must be a CUDA device, or the CPU on the simulated device")
    return View(make_tensor(value.data_ptr(), code, value.shape, value.stride(), device), value)


def _view_of_numpy(value: Any, name: str, writable: bool) -> View:
    code = _code_of(value.dtype.name, name)
    if not value.dtype.isnative:
        raise refuse(f"{name}.dtype", value.dtype.str, "it must have the machine's byte order")
    if writable and not value.flags.writeable:
        raise refuse(name, "a read-only array", "it must be writable")
    size = value.dtype.itemsize
    if any(step % size for step in value.strides):
        raise refuse(f"{name}.strides", value.strides, f"they must be multiples of {size} bytes, the element's size")
    strides = [step // size for step in value.strides]
    if value.size == 0:  # NumPy's strides mean nothing then
        strides = [1 if i == value.ndim - 1 else max(value.shape[-1], 1) for i in range(value.ndim)]
    address = value.__array_interface__["data"][0]
    return View(make_tensor(address, code, value.shape, strides, (_abi.DEVICE_CPU, 0)), value)


# ---- Capsules ----

_VERSIONED = b"dltensor_versioned"
_UNVERSIONED = b"dltensor"
# A capsule keeps a pointer to its name.
_USED = {_VERSIONED: c_char_p(b"used_dltensor_versioned"), _UNVERSIONED: c_char_p(b"used_dltensor")}


def _capsule_function(name: str, result: Any, *arguments: Any) -> Any:
    function = ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))
    return function


_is_valid = _capsule_function("PyCapsule_IsValid", c_int, py_object, c_char_p)
_get_pointer = _capsule_function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_set_name = _capsule_function("PyCapsule_SetName", c_int, py_object, c_char_p)


def _export(value: Any, name: str, stream: int) -> Any:
    """The capsule of a producer, of DLPack 1 where it knows that. Never a copy, where it can be asked for none."""
    kind = int(value.__dlpack_device__()[0]) if hasattr(value, "__dlpack_device__") else _abi.DEVICE_CPU
    ordered = {"stream": stream or _LEGACY_DEFAULT_STREAM} if kind not in _HOST else {}
    try:
        return value.__dlpack__(**ordered, max_version=(1, 0), copy=False)
    except TypeError:  # a producer from before DLPack 1
        pass
    except (BufferError, ValueError, RuntimeError) as error:
        raise refuse(name, type(value).__name__, f"its producer must give it out without a copy: {error}") from error
    try:
        return value.__dlpack__(**ordered)
    except (BufferError, ValueError, RuntimeError, TypeError) as error:
        raise refuse(name, type(value).__name__, f"its producer must give it out by __dlpack__: {error}") from error


def _view_of_producer(value: Any, name: str, writable: bool, stream: int) -> View:
    view = consume(_export(value, name, stream), name, value)
    try:
        if view.flags & _abi.FLAG_IS_COPIED:
            raise refuse(name, type(value).__name__, "its producer must give it out without a copy")
        if writable and view.flags & _abi.FLAG_READ_ONLY:
            raise refuse(name, type(value).__name__, "it must be writable, and its producer marks it read only")
        if view.tensor.dtype.lanes != 1:
            raise refuse(f"{name}.dtype", f"{view.tensor.dtype.lanes} lanes", "an element must have one lane")
    except InvalidArgument:
        view.release()
        raise
    return view


class _CapsuleView(View):
    """A view that a capsule gave, with the flags of its managed tensor."""

    __slots__ = ("flags",)
    flags: int


def consume(capsule: object, name: str, source: object = None) -> _CapsuleView:
    """The view of a capsule, which is used up by this: its deleter is called when the view is released."""
    for kind, struct in ((_VERSIONED, _abi.DLManagedVersioned), (_UNVERSIONED, _abi.DLManagedTensor)):
        if _is_valid(capsule, kind):
            address = _get_pointer(capsule, kind)
            managed = struct.from_address(address)
            versioned = kind == _VERSIONED
            if versioned and managed.version.major != 1:
                # It stays the capsule's, which deletes it: of another version not even that could be done here.
                number = f"{managed.version.major}.{managed.version.minor}"
                raise refuse(f"{name}.__dlpack__", f"version {number}", "DLPack 1 and older are understood")
            _set_name(capsule, _USED[kind])
            view = _CapsuleView(managed.dl_tensor, source)
            view.flags = managed.flags if versioned else 0
            view.own(address, managed.deleter)
            return view
    raise refuse(f"{name}.__dlpack__", repr(capsule), "it must give a capsule that was not used yet")
