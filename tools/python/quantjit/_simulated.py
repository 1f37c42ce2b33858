# SPDX-License-Identifier: Apache-2.0
"""Host memory as the simulated device's: it has an address space of its own, so tensors travel around a launch."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from quantjit import _abi
from quantjit._dlpack import View, make_tensor
from quantjit.errors import DriverError, refuse

# Addresses keep their remainder by this, so that what is misaligned here is misaligned there.
_ALIGNMENT = 256


class _Driver:
    """The driver calls that staging needs."""

    def __init__(self, path: str):
        self.dll = ctypes.CDLL(path)
        self.dll.qj_sim_last_fault.restype = c_char_p
        self.dll.cuMemAlloc_v2.argtypes = (c_void_p, c_size_t)
        self.dll.cuMemFree_v2.argtypes = (c_uint64,)
        self.dll.cuMemcpyHtoD_v2.argtypes = (c_uint64, c_void_p, c_size_t)
        self.dll.cuMemcpyDtoH_v2.argtypes = (c_void_p, c_uint64, c_size_t)
        self.dll.cuStreamSynchronize.argtypes = (c_void_p,)
        self.dll.cuDevicePrimaryCtxRetain.argtypes = (c_void_p, c_int)
        self.dll.cuDevicePrimaryCtxRelease_v2.argtypes = (c_int,)
        self.dll.cuCtxPushCurrent_v2.argtypes = (c_void_p,)
        self.dll.cuCtxPopCurrent_v2.argtypes = (c_void_p,)

    def __call__(self, name: str, *arguments: object) -> None:
        code = getattr(self.dll, name)(*arguments)
        if code != 0:
            fault = self.dll.qj_sim_last_fault().decode()
            message = f"{name} on the simulated device gave {code}" + (f": {fault}" if fault else "")
            raise DriverError(message, "QJ_DRIVER_ERROR", {"api": name, "code": code})


_drivers: dict[str, _Driver] = {}


def _driver(path: str | os.PathLike[str] | None) -> _Driver:
    name = os.fspath(path or os.environ.get("QUANTJIT_CUDA_DRIVER", "") or "libcuda.so.1")
    if name not in _drivers:
        _drivers[name] = _Driver(name)
    return _drivers[name]


class _Span:
    """Host bytes [begin, end), and where they are on the device."""

    def __init__(self, begin: int, end: int):
        self.begin, self.end = begin, end
        self.allocation = 0
        self.device_begin = 0


def _extent(view: View, name: str) -> tuple[int, int]:
    last = 0
    for size, stride in zip(view.shape, view.strides):
        if stride < 0:
            raise refuse(f"{name}.strides", view.strides, "they must not be negative")
        if size == 0:
            return view.address, view.address
        last += (size - 1) * stride
    return view.address, view.address + (last + 1) * view.tensor.dtype.bits // 8


def _spans(extents: Sequence[tuple[int, int]]) -> list[_Span]:
    """The union of the extents: tensors that overlap here overlap there."""
    spans: list[_Span] = []
    for begin, end in sorted(extents):
        if spans and begin < spans[-1].end:
            spans[-1].end = max(spans[-1].end, end)
        elif begin < end:
            spans.append(_Span(begin, end))
    return spans


def launch(
    driver_path: str | os.PathLike[str] | None,
    device: int,
    named: dict[str, View | None],
    written: Sequence[str],
    call: Callable[[dict[str, _abi.DLTensor | None]], None],
    stream: int,
) -> None:
    """Calls `call` with the tensors' counterparts in the memory of simulated device `device`, waits, and brings the
    written ones back. Bytes that the kernel does not write keep their values.

    Raises: DriverError with the simulator's report if the kernel faults; what `call` raises.
    """
    driver = _driver(driver_path)
    extents = {name: _extent(view, name) for name, view in named.items() if view is not None}
    spans = _spans(list(extents.values()))
    context = c_void_p()
    driver("cuDevicePrimaryCtxRetain", byref(context), device)
    try:
        driver("cuCtxPushCurrent_v2", context)
        try:
            _stage(driver, spans)
            call({name: _counterpart(view, spans, device) for name, view in named.items()})
            driver("cuStreamSynchronize", stream)
            for name in written:
                _bring_back(driver, extents[name], spans)
        finally:
            for span in spans:
                if span.allocation:
                    driver.dll.cuMemFree_v2(span.allocation)
            driver.dll.cuCtxPopCurrent_v2(byref(c_void_p()))
    finally:
        driver.dll.cuDevicePrimaryCtxRelease_v2(device)


def _stage(driver: _Driver, spans: Sequence[_Span]) -> None:
    for span in spans:
        allocation = c_uint64()
        offset = span.begin % _ALIGNMENT
        driver("cuMemAlloc_v2", byref(allocation), span.end - span.begin + offset)
        span.allocation = allocation.value
        span.device_begin = allocation.value + offset
        driver("cuMemcpyHtoD_v2", span.device_begin, span.begin, span.end - span.begin)


def _span_of(address: int, spans: Sequence[_Span]) -> _Span | None:
    return next((span for span in spans if span.begin <= address < span.end), None)


def _counterpart(view: View | None, spans: Sequence[_Span], device: int) -> _abi.DLTensor | None:
    if view is None:
        return None
    span = _span_of(view.address, spans)
    address = view.address - span.begin + span.device_begin if span else view.address
    code = (view.tensor.dtype.code, view.tensor.dtype.bits)
    return make_tensor(address, code, view.shape, view.strides, (_abi.DEVICE_CUDA, device))


def _bring_back(driver: _Driver, extent: tuple[int, int], spans: Sequence[_Span]) -> None:
    begin, end = extent
    span = _span_of(begin, spans)
    if span is not None:
        driver("cuMemcpyDtoH_v2", begin, begin - span.begin + span.device_begin, end - begin)
