# SPDX-License-Identifier: Apache-2.0
"""The fast way from GPU tensors to a launch, on the simulated device's own memory: tensors here are stand-ins that answer
what PyTorch's do, so that this runs without PyTorch and without a GPU."""

import ctypes
import threading
from ctypes import byref, c_size_t, c_uint64, c_void_p

import ml_dtypes
import numpy as np
import pytest
import quantjit
from quantjit import _simulated
from quantjit._launch import Launcher

COLUMN = "per_token_group_quant:scale=ue8m0,layout=col"


class Driver:
    """Memory of simulated device 0."""

    def __init__(self, path):
        self.dll = ctypes.CDLL(path)
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


@pytest.fixture
def driver(service):
    service.device_info(0)  # initializes the driver
    found = Driver(_simulated._driver(None).dll._name)
    found.enter()
    return found


def values(*shape, seed=1):
    return (np.random.default_rng(seed).standard_normal(shape, np.float32) * 3).astype(ml_dtypes.bfloat16)


def outputs(driver, tokens, hidden):
    """Poisoned outputs of COLUMN: codes, and scales in columns of 4 rows."""
    codes = driver.put(np.full((tokens, hidden), 0xA5, np.uint8).view(ml_dtypes.float8_e4m3fn))
    words, rows = (hidden // 128 + 3) // 4, (tokens + 3) // 4 * 4
    scales = driver.put(np.full((words, rows), 0x5A5A5A5A, np.int32))
    scales.shape, scales.strides = (tokens, words), (1, rows)
    return codes, scales


def wanted(x):
    """Bytes of the same launch on host memory, poison included."""
    codes, scales = quantjit.per_token_group_quant(x, COLUMN)
    rows = (x.shape[0] + 3) // 4 * 4
    storage = np.full((scales.shape[1], rows), 0x5A5A5A5A, np.int32)
    storage[:, : x.shape[0]] = scales.T
    return codes.tobytes(), storage.tobytes()


@pytest.fixture
def launcher(service):
    return Launcher(service.get(COLUMN, device=0))


def test_one_launcher_takes_every_shape_and_no_shape_sticks(driver, launcher):
    for tokens, hidden in ((4, 512), (4, 512), (5, 512), (1, 1280), (4, 512)):
        x = values(tokens, hidden, seed=tokens)
        codes, scales = outputs(driver, tokens, hidden)
        launcher(driver.put(x), codes, scales, 0)
        assert (codes.bytes(), scales.bytes()) == wanted(x)
    assert len(launcher._frames) == 1


def test_views_have_their_own_address_and_strides(driver, launcher):
    wide = values(4, 1024)
    x = driver.put(wide)
    x.address, x.shape = x.address + 512, (4, 512)
    codes, scales = outputs(driver, 4, 512)
    launcher(x, codes, scales, 0)
    assert codes.bytes() == wanted(np.ascontiguousarray(wide[:, 256:768]))[0]


def test_masked_launches_write_live_rows(driver, service):
    launcher = Launcher(service.get("per_token_group_quant:schedule=masked", device=0))
    x, live = values(2, 4, 256), np.array([3, 1], np.int32)
    codes = driver.put(np.full((2, 4, 256), 0xA5, np.uint8).view(ml_dtypes.float8_e4m3fn))
    scales = driver.put(np.full((2, 4, 2), -1, np.float32))
    launcher.masked(driver.put(x), codes, scales, driver.put(live), 2, 0)
    host = np.full((2, 4, 256), 0xA5, np.uint8), np.full((2, 4, 2), -1, np.float32)
    quantjit.per_token_group_quant(
        x, output_q=host[0].view(ml_dtypes.float8_e4m3fn), output_s=host[1], masked_m=live, expected_m=2
    )
    assert (codes.bytes(), scales.bytes()) == (host[0].tobytes(), host[1].tobytes())


def test_what_is_refused_leaves_no_trace(driver, launcher):
    x = values(4, 512)
    codes, scales = outputs(driver, 4, 512)
    wrong = [
        (driver.put(x, device=1), "input.device"),
        (driver.put(x.astype(np.float64)), "input.dtype"),
        (driver.put(x.astype(np.float32)), "input"),
        (driver.put(x.reshape(1, 1, 1, 4, 512)), "input.ndim"),
        (driver.put(x[:, :500].copy()), "input"),
        (driver.put(x, strides=(512, 2)), "input"),
    ]
    for tensor, message in wrong:
        with pytest.raises(quantjit.InvalidArgument, match=message):
            launcher(tensor, codes, scales, 0)
        assert codes.bytes() == b"\xa5" * 2048
    launcher(driver.put(x), codes, scales, 0)
    assert (codes.bytes(), scales.bytes()) == wanted(x)


def test_threads_share_a_launcher(driver, launcher):
    inputs = [values(2 + i, 512, seed=i) for i in range(6)]
    expected = [wanted(x) for x in inputs]
    failures = []

    def work(i):
        try:
            driver.enter()
            x = driver.put(inputs[i])
            for _ in range(10):
                codes, scales = outputs(driver, 2 + i, 512)
                launcher(x, codes, scales, 0)
                assert (codes.bytes(), scales.bytes()) == expected[i]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert 1 <= len(launcher._frames) <= 6


def test_retired_kernels_stay_loaded(driver, service):
    """A kernel that a launch used may be in a graph: reload_sources hands out others and unloads none."""
    kept = quantjit.ops.kernel_for(service, COLUMN, 0, 0)
    launcher = Launcher(kept)
    service.reload_sources()
    assert service.kernels == {} and service.launchers == {}
    del kept
    x = values(4, 512)
    codes, scales = outputs(driver, 4, 512)
    launcher(driver.put(x), codes, scales, 0)
    assert (codes.bytes(), scales.bytes()) == wanted(x)
    assert quantjit.ops.kernel_for(service, COLUMN, 0, 0) is not launcher.kernel
