# SPDX-License-Identifier: Apache-2.0
"""The fast way from PyTorch tensors to a launch: everything that a call does not change is made once.

A `Launcher` is one kernel on one device. It keeps frames: structs of the C ABI with their tensors' shapes, of which a
call takes one, writes what differs from that frame's last call, and gives it back. Taking and giving back are single
list operations, so that threads never share a frame and no call takes a lock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from ctypes import POINTER, addressof, c_int64, c_void_p, cast, pointer, sizeof
from typing import Any

from quantjit import _abi
from quantjit._dlpack import DTYPES
from quantjit._kernel import Kernel
from quantjit._library import Library, library
from quantjit.errors import refuse

_MAX_DIMS = 4


class _Slot:
    """One tensor of a frame."""

    __slots__ = ("tensor", "dims", "shape", "stride", "dtype")

    def __init__(self, device: int):
        self.dims = (c_int64 * (2 * _MAX_DIMS))()
        first = addressof(self.dims)
        self.tensor = _abi.DLTensor(device=_abi.DLDevice(_abi.DEVICE_CUDA, device))
        self.tensor.shape = cast(first, POINTER(c_int64))
        self.tensor.strides = cast(first + 8 * _MAX_DIMS, POINTER(c_int64))
        self.shape: Any = None
        self.stride: Any = None
        self.dtype: Any = None

    def describe(self, value: Any, shape: Any, stride: Any, name: str) -> None:
        """Writes shape, strides and element type."""
        self.shape = None  # until all of it is written
        ndim = len(shape)
        if ndim > _MAX_DIMS:
            raise refuse(f"{name}.ndim", ndim, f"it must be 1 to {_MAX_DIMS}")
        code = DTYPES.get(str(value.dtype).removeprefix("torch."))
        if code is None:
            raise refuse(f"{name}.dtype", value.dtype, f"it must be one of {', '.join(DTYPES)}")
        self.dims[:ndim] = tuple(shape)
        self.dims[_MAX_DIMS : _MAX_DIMS + ndim] = tuple(stride)
        self.tensor.ndim = ndim
        self.tensor.dtype.code, self.tensor.dtype.bits, self.tensor.dtype.lanes = *code, 1
        self.shape, self.stride, self.dtype = shape, stride, value.dtype


class Frame:
    """The structs of one call. `call(stream)` launches what `fill` wrote."""

    __slots__ = ("input", "output_q", "output_s", "masked_m", "operands", "stream", "arguments")

    def __init__(self, kernel: Kernel, device: int, masked: bool):
        self.input, self.output_q, self.output_s = _Slot(device), _Slot(device), _Slot(device)
        self.masked_m = _Slot(device) if masked else None
        self.operands = _abi.Operands(
            struct_size=sizeof(_abi.Operands), input=pointer(self.input.tensor),
            output_q=pointer(self.output_q.tensor), output_s=pointer(self.output_s.tensor),
        )  # fmt: skip
        if self.masked_m is not None:
            self.operands.masked_m = pointer(self.masked_m.tensor)
        self.stream = c_void_p()
        # Objects of ctypes go through as they are; numbers would be converted at every call.
        self.arguments = (c_void_p(kernel.handle), c_void_p(addressof(self.operands)), self.stream)


class Launcher:
    """Launches one kernel on PyTorch tensors of one device. Thread safe."""

    __slots__ = ("kernel", "device", "_frames", "_masked_frames", "_launch", "_library")

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.device = kernel.device
        self._library: Library = library()
        # Without argument types: a launch hands over what is converted already.
        self._launch: Callable[..., int] = self._library.dll["qj_kernel_launch"]
        self._frames: list[Frame] = []
        self._masked_frames: list[Frame] = []

    def __call__(self, input: Any, output_q: Any, output_s: Any, masked_m: Any, expected_m: int, stream: int) -> None:
        """Launches. All tensors are on CUDA devices. Raises what the library refuses."""
        frames = self._frames if masked_m is None else self._masked_frames
        try:
            frame = frames.pop()
        except IndexError:
            frame = Frame(self.kernel, self.device, masked_m is not None)
        device = self.device
        if input.get_device() != device or output_q.get_device() != device or output_s.get_device() != device:
            raise _devices_differ(self.kernel, input, output_q, output_s)

        slot, shape, stride = frame.input, input.shape, input.stride()
        if shape != slot.shape or stride != slot.stride or input.dtype is not slot.dtype:
            slot.describe(input, shape, stride, "input")
        slot.tensor.data = input.data_ptr()

        slot, shape, stride = frame.output_q, output_q.shape, output_q.stride()
        if shape != slot.shape or stride != slot.stride or output_q.dtype is not slot.dtype:
            slot.describe(output_q, shape, stride, "output_q")
        slot.tensor.data = output_q.data_ptr()

        slot, shape, stride = frame.output_s, output_s.shape, output_s.stride()
        if shape != slot.shape or stride != slot.stride or output_s.dtype is not slot.dtype:
            slot.describe(output_s, shape, stride, "output_s")
        slot.tensor.data = output_s.data_ptr()

        if masked_m is not None:
            self._mask(frame, masked_m, expected_m)
        frame.stream.value = stream
        status = self._launch(*frame.arguments)
        if status != 0:
            raise self._library.error(status)
        frames.append(frame)

    def _mask(self, frame: Frame, masked_m: Any, expected_m: int) -> None:
        if masked_m.get_device() != self.device:
            raise refuse("masked_m.device", masked_m.device, f"all tensors must be on device {self.device}")
        slot = frame.masked_m
        assert slot is not None
        shape, stride = masked_m.shape, masked_m.stride()
        if shape != slot.shape or stride != slot.stride or masked_m.dtype is not slot.dtype:
            slot.describe(masked_m, shape, stride, "masked_m")
        slot.tensor.data = masked_m.data_ptr()
        frame.operands.expected_m = expected_m


def _devices_differ(kernel: Kernel, *tensors: Any) -> Exception:
    names = ("input", "output_q", "output_s")
    name, tensor = next((n, t) for n, t in zip(names, tensors) if t.get_device() != kernel.device)
    return refuse(
        f"{name}.device", tensor.device, f"the kernel is loaded on device {kernel.device}, and all tensors must be there"
    )


def current_stream(device: int) -> int:
    """PyTorch's current stream of a device."""
    return sys.modules["torch"]._C._cuda_getCurrentRawStream(device)
