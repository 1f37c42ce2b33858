# SPDX-License-Identifier: Apache-2.0
"""The fast way from GPU tensors to a launch, on the simulated device's own memory: tensors here are stand-ins that
answer what PyTorch's do, so that this runs without PyTorch and without a GPU."""

import threading

import ml_dtypes
import numpy as np
import pytest
import quantjit
from device_memory import Driver
from quantjit._launch import Launcher

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
