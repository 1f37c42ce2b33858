# SPDX-License-Identifier: Apache-2.0
"""Waiting for the simulated device: it runs kernels when something needs them, and host memory asks for nothing."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_int, c_void_p

from quantjit.errors import DriverError


class _Driver:
    """The driver calls that waiting needs."""

    def __init__(self, path: str):
        self.dll = ctypes.CDLL(path)
        self.dll.qj_sim_last_fault.restype = c_char_p
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


def synchronize(driver_path: str | os.PathLike[str] | None, device: int, stream: int) -> None:
    """Waits for a stream of a simulated device. Raises DriverError with the simulator's report if a kernel faulted."""
    driver = _driver(driver_path)
    context = c_void_p()
    driver("cuDevicePrimaryCtxRetain", byref(context), device)
    try:
        driver("cuCtxPushCurrent_v2", context)
        try:
            driver("cuStreamSynchronize", stream)
        finally:
            driver.dll.cuCtxPopCurrent_v2(byref(c_void_p()))
    finally:
        driver.dll.cuDevicePrimaryCtxRelease_v2(device)
