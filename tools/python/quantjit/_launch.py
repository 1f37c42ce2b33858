# SPDX-License-Identifier: Apache-2.0
"""The fast way from PyTorch tensors to a launch: everything that a call does not change is made once.

A `Launcher` is one kernel on one device. Where the tensors' type offers functions in C to read them (`_objects`), a call
hands over the objects as they are. Elsewhere it keeps frames: structs of the C ABI with their tensors' shapes, of which
a call takes one, writes what differs from that frame's last call, and gives it back. Taking and giving back are single
list operations, so that threads never share a frame and no call takes a lock; a frame whose call failed is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import POINTER, PyDLL, addressof, c_int64, c_void_p, cast, pointer, sizeof
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


class ObjectFrame:
    """The arguments of one call that hands over objects. Holds their addresses, and none of them."""

    __slots__ = ("operands", "stream", "arguments")

    def __init__(self, kernel: Kernel, reader: _abi.ObjectReader):
        self.operands = _abi.ObjectOperands(struct_size=sizeof(_abi.ObjectOperands))
        self.stream = c_void_p()
        self.arguments = (
            c_void_p(kernel.handle), c_void_p(addressof(reader)), c_void_p(addressof(self.operands)), self.stream
        )  # fmt: skip


class Launcher:
    """Launches one kernel on PyTorch tensors of one device. Thread safe.

    Args:
        reader: how the C ABI reads the tensors by itself; None: it cannot.
    """

    __slots__ = ("kernel", "_reader", "_objects", "_frames", "_launch", "_launch_objects", "_library")

    def __init__(self, kernel: Kernel, reader: _abi.ObjectReader | None = None):
        self.kernel = kernel
        self._library: Library = library()
        self._reader = reader
        self._objects: list[ObjectFrame] = []
        # It reads Python's objects, so it begins with Python's lock, which the reader gives up for the launch.
        self._launch_objects: Callable[..., int] | None = None
        if reader is not None and hasattr(self._library.dll, "qj_launch_objects"):
            self._launch_objects = PyDLL(self._library.path, handle=self._library.dll._handle)["qj_launch_objects"]
        # Without argument types: a launch hands over what is converted already.
        self._launch: Callable[..., int] = self._library.dll["qj_kernel_launch"]
        self._frames: list[Frame] = []

    def __call__(
        self, input: Any, output_q: Any, output_s: Any, stream: int, masked_m: Any = None, expected_m: int = 0
    ) -> None:
        """Launches on CUDA tensors. Raises what the library refuses.

        A kernel takes `masked_m` always or never, so what a frame holds of it is right for the next call.
        """
        launch = self._launch_objects
        if launch is None:
            self._by_frame(input, output_q, output_s, stream, masked_m, expected_m)
            return
        try:
            frame = self._objects.pop()
        except IndexError:
            frame = ObjectFrame(self.kernel, self._reader)
        operands = frame.operands
        operands.input = id(input)
        operands.output_q = id(output_q)
        operands.output_s = id(output_s)
        if masked_m is not None:
            operands.masked_m = id(masked_m)
            operands.expected_m = expected_m
        frame.stream.value = stream
        try:
            status = launch(*frame.arguments)
        except Exception:  # an object that its own type's reader does not take
            self._by_frame(input, output_q, output_s, stream, masked_m, expected_m)
            return
        if status != 0:
            raise self._library.error(status)
        self._objects.append(frame)

    def _by_frame(
        self, input: Any, output_q: Any, output_s: Any, stream: int, masked_m: Any, expected_m: int
    ) -> None:
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self.kernel, masked_m is not None)
        tensors = {"input": input, "output_q": output_q, "output_s": output_s}
        signature = (
            input.shape, input.stride(), input.dtype, input.get_device(),
            output_q.shape, output_q.stride(), output_q.dtype, output_q.get_device(),
            output_s.shape, output_s.stride(), output_s.dtype, output_s.get_device(),
        )  # fmt: skip
        if masked_m is not None:
            tensors["masked_m"] = masked_m
            signature += (masked_m.shape, masked_m.stride(), masked_m.dtype, masked_m.get_device())
        if signature != frame.signature:
            frame.describe(self.kernel, signature, tensors)
        frame.input.data = input.data_ptr()
        frame.output_q.data = output_q.data_ptr()
        frame.output_s.data = output_s.data_ptr()
        if masked_m is not None:
            frame.masked_m.data = masked_m.data_ptr()
            frame.operands.expected_m = expected_m
        frame.stream.value = stream
        status = self._launch(*frame.arguments)
        if status != 0:
            raise self._library.error(status)
        self._frames.append(frame)
