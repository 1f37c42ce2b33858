# SPDX-License-Identifier: Apache-2.0
"""The fast way from PyTorch tensors to a launch: everything that a call does not change is made once.

A `Launcher` is one kernel on one device. It keeps frames: structs of the C ABI with their tensors' shapes, of which a
call takes one, writes what differs from that frame's last call, and gives it back. Taking and giving back are single
list operations, so that threads never share a frame and no call takes a lock; a frame whose call failed is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import POINTER, addressof, c_int64, c_void_p, cast, pointer, sizeof
from typing import Any

from quantjit import _abi
from quantjit._dlpack import DTYPES
from quantjit._kernel import Kernel
from quantjit._library import Library, library
from quantjit.errors import refuse

_MAX_DIMS = 4


class Frame:
    """The structs of one call.

    Attributes:
        signature: shapes, strides, element types and devices that the structs describe.
        input, output_q, output_s, masked_m: the tensors, in whose `data` a call writes addresses.
        stream: the stream argument; arguments: all arguments of the launch.
    """

    __slots__ = ("signature", "input", "output_q", "output_s", "masked_m", "operands", "stream", "arguments")

    def __init__(self, kernel: Kernel, masked: bool):
        self.signature: Any = None
        self.input, self.output_q, self.output_s, self.masked_m = (_tensor(kernel.device) for _ in range(4))
        self.operands = _abi.Operands(
            struct_size=sizeof(_abi.Operands), input=pointer(self.input), output_q=pointer(self.output_q),
            output_s=pointer(self.output_s),
        )  # fmt: skip
        if masked:
            self.operands.masked_m = pointer(self.masked_m)
        self.stream = c_void_p()
        # Objects of ctypes go through as they are; numbers would be converted at every call.
        self.arguments = (c_void_p(kernel.handle), c_void_p(addressof(self.operands)), self.stream)

    def describe(self, kernel: Kernel, signature: Any, tensors: dict[str, Any]) -> None:
        """Writes all but the addresses. Raises InvalidArgument for what no struct can say."""
        self.signature = None  # until all of it is written
        for name, value in tensors.items():
            if value.get_device() != kernel.device:
                raise refuse(f"{name}.device", value.device, _DEVICE_RULE.format(kernel.device))
            _describe(getattr(self, name), value, name)
        self.signature = signature


_DEVICE_RULE = "the kernel is loaded on CUDA device {}, and all tensors must be there"


def _tensor(device: int) -> _abi.DLTensor:
    """A tensor with room for any shape."""
    dims = (c_int64 * (2 * _MAX_DIMS))()
    tensor = _abi.DLTensor(device=_abi.DLDevice(_abi.DEVICE_CUDA, device))
    tensor.shape = cast(dims, POINTER(c_int64))
    tensor.strides = cast(addressof(dims) + sizeof(c_int64) * _MAX_DIMS, POINTER(c_int64))
    tensor.dims = dims  # type: ignore[attr-defined]  # the pointers alone would not keep it
    return tensor


def _describe(tensor: Any, value: Any, name: str) -> None:
    ndim = value.dim()
    if ndim > _MAX_DIMS:
        raise refuse(f"{name}.ndim", ndim, f"it must be 1 to {_MAX_DIMS}")
    code = DTYPES.get(str(value.dtype).removeprefix("torch."))
    if code is None:
        raise refuse(f"{name}.dtype", value.dtype, f"it must be one of {', '.join(DTYPES)}")
    tensor.dims[:ndim] = tuple(value.shape)
    tensor.dims[_MAX_DIMS : _MAX_DIMS + ndim] = value.stride()
    tensor.ndim = ndim
    tensor.dtype = _abi.DLDataType(*code, 1)


class Launcher:
    """Launches one kernel on PyTorch tensors of one device. Thread safe."""

    __slots__ = ("kernel", "_frames", "_masked_frames", "_launch", "_library")

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self._library: Library = library()
        # Without argument types: a launch hands over what is converted already.
        self._launch: Callable[..., int] = self._library.dll["qj_kernel_launch"]
        self._frames: list[Frame] = []
        self._masked_frames: list[Frame] = []

    def __call__(self, input: Any, output_q: Any, output_s: Any, stream: int) -> None:
        """Launches on CUDA tensors. Raises what the library refuses."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self.kernel, False)
        signature = (
            input.shape, input.stride(), input.dtype, input.get_device(),
            output_q.shape, output_q.stride(), output_q.dtype, output_q.get_device(),
            output_s.shape, output_s.stride(), output_s.dtype, output_s.get_device(),
        )  # fmt: skip
        if signature != frame.signature:
            frame.describe(self.kernel, signature, {"input": input, "output_q": output_q, "output_s": output_s})
        frame.input.data = input.data_ptr()
        frame.output_q.data = output_q.data_ptr()
        frame.output_s.data = output_s.data_ptr()
        frame.stream.value = stream
        status = self._launch(*frame.arguments)
        if status != 0:
            raise self._library.error(status)
        self._frames.append(frame)

    def masked(self, input: Any, output_q: Any, output_s: Any, masked_m: Any, expected_m: int, stream: int) -> None:
        """The same with live rows an expert."""
        try:
            frame = self._masked_frames.pop()
        except IndexError:
            frame = Frame(self.kernel, True)
        tensors = {"input": input, "output_q": output_q, "output_s": output_s, "masked_m": masked_m}
        signature = [(value.shape, value.stride(), value.dtype, value.get_device()) for value in tensors.values()]
        if signature != frame.signature:
            frame.describe(self.kernel, signature, tensors)
        for name, value in tensors.items():
            getattr(frame, name).data = value.data_ptr()
        frame.operands.expected_m = expected_m
        frame.stream.value = stream
        status = self._launch(*frame.arguments)
        if status != 0:
            raise self._library.error(status)
        self._masked_frames.append(frame)
