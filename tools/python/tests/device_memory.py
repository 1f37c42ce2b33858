# SPDX-License-Identifier: Apache-2.0
"""Memory of the simulated device, and stand-ins for PyTorch's tensors in it."""

import ctypes
from ctypes import byref, c_size_t, c_uint64, c_void_p

import numpy as np
from quantjit import _simulated


class Driver:
    """Memory of simulated device 0."""

    def __init__(self):
        self.dll = ctypes.CDLL(_simulated._driver(None).dll._name)
        self.dll.cuMemcpyHtoD_v2.argtypes = (c_uint64, c_void_p, c_size_t)
        self.dll.cuMemcpyDtoH_v2.argtypes = (c_void_p, c_uint64, c_size_t)
        self.context = c_void_p()
        self("cuDevicePrimaryCtxRetain", byref(self.context), 0)

    def __call__(self, name, *arguments):
        assert getattr(self.dll, name)(*arguments) == 0, name

    def enter(self):
        """Every thread needs a context for what follows."""
        self("cuCtxSetCurrent", self.context)

    def put(self, array, *, strides=None, device=0):
        """A copy of an array in device memory."""
        address = c_uint64()
        self("cuMemAlloc_v2", byref(address), c_size_t(max(array.nbytes, 1)))
        self("cuMemcpyHtoD_v2", address, array.ctypes.data, array.nbytes)
        return Tensor(self, address.value, array, strides, device)


class Tensor:
    """What a launcher asks of PyTorch's tensors."""

    def __init__(self, driver, address, array, strides, device):
        self.driver, self.address, self.array, self.index = driver, address, array, device
        self.shape = tuple(array.shape)
        self.strides = tuple(strides or (step // array.itemsize for step in array.strides))
        self.dtype = f"torch.{array.dtype.name}"

    def stride(self):
        return self.strides

    def dim(self):
        return len(self.shape)

    def get_device(self):
        return self.index

    @property
    def device(self):
        return f"cuda:{self.index}"

    def data_ptr(self):
        return self.address

    def bytes(self):
        """The contents, once everything launched has run."""
        host = np.empty(self.array.nbytes, np.uint8)
        self.driver("cuMemcpyDtoH_v2", host.ctypes.data, self.address, host.nbytes)
        return host.tobytes()
