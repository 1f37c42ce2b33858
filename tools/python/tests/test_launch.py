# SPDX-License-Identifier: Apache-2.0
"""The fast way from GPU tensors to a launch, on the simulated device's own memory: tensors here are stand-ins that
answer what PyTorch's do, so that this runs without PyTorch and without a GPU."""

import ctypes
import threading

import ml_dtypes
import numpy as np
import pytest
import quantjit
from device_memory import Driver
from quantjit import _abi
from quantjit._dlpack import DTYPES
from quantjit._launch import Launcher
from quantjit._objects import make_reader, reader_of

COLUMN = "per_token_group_quant:scale=ue8m0,layout=col"


@pytest.fixture
def driver(service):
    service.device_info(0)  # initializes the driver
    found = Driver()
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


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_abi.DLTensor))
def read(tensor, out):
    """What PyTorch has in C: fills a tensor with what an object is."""
    if not hasattr(tensor, "address"):
        return -1
    code = DTYPES.get(tensor.dtype.removeprefix("torch."), (2, 64))
    tensor.dims = (ctypes.c_int64 * (2 * len(tensor.shape)))(*tensor.shape, *tensor.strides)
    to = out.contents
    to.data, to.ndim, to.byte_offset = tensor.address, len(tensor.shape), 0
    to.device, to.dtype = _abi.DLDevice(_abi.DEVICE_CUDA, tensor.index), _abi.DLDataType(*code, 1)
    to.shape = ctypes.cast(tensor.dims, ctypes.POINTER(ctypes.c_int64))
    to.strides = ctypes.cast(ctypes.addressof(tensor.dims) + 8 * len(tensor.shape), ctypes.POINTER(ctypes.c_int64))
    return 0


READERS = {"frames": None, "objects": make_reader(read)}


@pytest.fixture(params=READERS)
def reader(request):
    return READERS[request.param]


def kept_frames(launcher):
    """The frames that lie ready in the list that this launcher uses; the other one must be empty."""
    used, other = launcher._frames, launcher._objects
    if launcher._reader is not None:
        used, other = other, used
    assert not other
    return used


@pytest.fixture
def launcher(service, reader):
    return Launcher(service.get(COLUMN, device=0), reader)


def test_one_launcher_takes_every_shape_and_no_shape_sticks(driver, launcher):
    for tokens, hidden in ((4, 512), (4, 512), (5, 512), (1, 1280), (4, 512)):
        x = values(tokens, hidden, seed=tokens)
        codes, scales = outputs(driver, tokens, hidden)
        launcher(driver.put(x), codes, scales, 0)
        assert (codes.bytes(), scales.bytes()) == wanted(x)
    assert len(kept_frames(launcher)) == 1


def test_views_have_their_own_address_and_strides(driver, launcher):
    wide = values(4, 1024)
    x = driver.put(wide)
    x.address, x.shape = x.address + 512, (4, 512)
    codes, scales = outputs(driver, 4, 512)
    launcher(x, codes, scales, 0)
    assert codes.bytes() == wanted(np.ascontiguousarray(wide[:, 256:768]))[0]


def test_masked_launches_write_live_rows(driver, service, reader):
    launcher = Launcher(service.get("per_token_group_quant:schedule=masked", device=0), reader)
    x, live = values(2, 4, 256), np.array([3, 1], np.int32)
    codes = driver.put(np.full((2, 4, 256), 0xA5, np.uint8).view(ml_dtypes.float8_e4m3fn))
    scales = driver.put(np.full((2, 4, 2), -1, np.float32))
    launcher(driver.put(x), codes, scales, 0, driver.put(live), 2)
    host = np.full((2, 4, 256), 0xA5, np.uint8), np.full((2, 4, 2), -1, np.float32)
    quantjit.per_token_group_quant(
        x, output_q=host[0].view(ml_dtypes.float8_e4m3fn), output_s=host[1], masked_m=live, expected_m=2
    )
    assert (codes.bytes(), scales.bytes()) == (host[0].tobytes(), host[1].tobytes())


def test_what_is_refused_leaves_no_trace(driver, launcher):
    x = values(4, 512)
    codes, scales = outputs(driver, 4, 512)
    wrong = [
        (driver.put(x, device=1), "device"),
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
    assert 1 <= len(kept_frames(launcher)) <= 6


def test_retired_kernels_stay_loaded(driver, service):
    """A kernel that a launch used may be in a graph: reload_sources hands out others and unloads none."""
    kept = quantjit.ops.kernel_for(service, COLUMN, 0, 0)
    launcher = Launcher(kept)
    service.reload_sources()
    assert service.kernels == {} and service.launchers == {} and service.calls == {}
    del kept
    x = values(4, 512)
    codes, scales = outputs(driver, 4, 512)
    launcher(driver.put(x), codes, scales, 0)
    assert (codes.bytes(), scales.bytes()) == wanted(x)
    assert quantjit.ops.kernel_for(service, COLUMN, 0, 0) is not launcher.kernel


def test_an_object_that_is_no_tensor_ends_in_an_error_of_its_own(driver, service):
    launcher = Launcher(service.get(COLUMN, device=0), READERS["objects"])
    x = values(4, 512)
    codes, scales = outputs(driver, 4, 512)
    with pytest.raises(quantjit.InvalidArgument, match="input"):
        launcher([1], codes, scales, 0)
    assert launcher._objects == [] and codes.bytes() == b"\xa5" * 2048
    launcher(driver.put(x), codes, scales, 0)
    assert (codes.bytes(), scales.bytes()) == wanted(x)


def test_readers_are_taken_from_the_type_that_offers_one():
    class Offers:
        pass

    assert reader_of(Offers) is None
    new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    old = (ctypes.c_uint64 * 7)(1 | 3 << 32, 0, 1, 2, 3, 0x1234, 5)
    new = (ctypes.c_uint64 * 7)(2, ctypes.addressof(old), 1, 2, 3, 0x5678, 5)
    Offers.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(new), b"dlpack_exchange_api", None)
    assert reader_of(Offers).read == 0x1234  # version 2 is not known, and names the one before
    new[1] = 0
    assert reader_of(Offers) is None
    Offers.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(old), b"another", None)
    assert reader_of(Offers) is None
    Offers.__dlpack_c_exchange_api__ = "no capsule"
    assert reader_of(Offers) is None
