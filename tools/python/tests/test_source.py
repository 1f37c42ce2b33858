# SPDX-License-Identifier: Apache-2.0
"""Operations of the caller from Python: registered, specialized, launched, reloaded, and refused."""

import ctypes

import numpy as np
import pytest
import quantjit
from device_memory import Driver

KERNEL = """
#include "engine/factor.h"
#include "device/types.cuh"
namespace engine {
struct Parameters { const float* in; float* out; int count; };
template <int kFactor, bool kAdd>
__global__ void scale(const __grid_constant__ Parameters p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.count) {
    p.out[i] = p.in[i] * kFactor * FACTOR + (kAdd ? 1.0F : 0.0F);
  }
}
__global__ void clear(const __grid_constant__ Parameters p) {
  p.out[threadIdx.x] = 0.0F;
}
}  // namespace engine
"""


class Parameters(ctypes.Structure):
    _fields_ = [("input", ctypes.c_void_p), ("output", ctypes.c_void_p), ("count", ctypes.c_int32)]


def register(service, **changes):
    given = {
        "op": "scale",
        "path": "engine/scale.cuh",
        "text": KERNEL,
        "includes": {"engine/factor.h": "#pragma once\n#define FACTOR 10.0F\n"},
        "keys": {"factor": [1, 2, ("three", "3")], "add": [False, True]},
        "entries": [("engine::scale", ["factor", "add"]), ("engine::clear", [])],
        "parameter_bytes": ctypes.sizeof(Parameters),
    }
    service.register_source(**{**given, **changes})


@pytest.fixture
def driver(service):
    service.device_info(0)
    found = Driver()
    found.enter()
    return found


def run(service, driver, traits, **options):
    """What a launch of 40 elements gives for 0, 1, 2, ..."""
    source = driver.put(np.arange(40, dtype=np.float32))
    output = driver.put(np.full(40, -7, np.float32))
    kernel = service.get(traits, device=0)
    kernel.launch_raw((2,), (32,), Parameters(source.address, output.address, 40), **options)
    return np.frombuffer(output.bytes(), np.float32)


def test_values_of_keys_become_template_arguments(service, driver):
    register(service)
    numbers = np.arange(40, dtype=np.float32)
    assert (run(service, driver, "scale") == numbers * 10).all()
    assert (run(service, driver, "scale:factor=2,add=true") == numbers * 20 + 1).all()
    assert (run(service, driver, "scale:add=false,factor=three") == numbers * 30).all()


def test_entries_are_picked_by_index(service, driver):
    register(service)
    found = run(service, driver, "scale", entry=1)
    assert (found[:32] == 0).all() and (found[32:] == -7).all()


def test_an_own_operation_is_prewarmed_explained_and_known(service):
    register(service)
    assert service.prewarm(["scale:factor=2"], devices=[0])["failed"] == []
    info = service.get("scale:factor=2", device=0).info()
    assert info["traits"].startswith("scale:factor=2,add=false")
    assert [entry["name"].partition("<")[0] for entry in info["entry_points"]] == ["engine::scale", "engine::clear"]


def test_a_file_is_read_again_when_the_service_is_told(service, driver, tmp_path):
    file = tmp_path / "scale.cuh"
    file.write_text(KERNEL)
    register(service, text=None, file=file)
    numbers = np.arange(40, dtype=np.float32)
    assert (run(service, driver, "scale") == numbers * 10).all()
    file.write_text(KERNEL.replace("* FACTOR", "* FACTOR * 2.0F"))
    service.reload_sources()
    assert (run(service, driver, "scale") == numbers * 20).all()


def test_registering_again_replaces(service, driver):
    register(service)
    run(service, driver, "scale")
    register(service, includes={"engine/factor.h": "#pragma once\n#define FACTOR 5.0F\n"})
    assert (run(service, driver, "scale") == np.arange(40, dtype=np.float32) * 5).all()


@pytest.mark.parametrize(
    "changes",
    [
        {"op": "per_token_quant"},
        {"op": "Scale Rows"},
        {"keys": {"factor": []}},
        {"entries": []},
        {"entries": [("engine::scale", ["colour"])]},
        {"text": None},
        {"keys": {"factor": [("a", 3)]}},
    ],
    ids=str,
)
def test_wrong_sources_are_refused(service, changes):
    with pytest.raises(quantjit.InvalidArgument):
        register(service, **changes)


def test_what_does_not_compile_carries_the_log(service):
    register(service, text=KERNEL.replace("p.count", "p.amount"))
    with pytest.raises(quantjit.CompileError) as caught:
        service.get("scale", device=0)
    assert "amount" in caught.value.log


def test_wrong_launches_are_refused(service, driver):
    register(service)
    kernel = service.get("scale", device=0)
    for arguments in (
        {"grid": (0,), "block": (32,), "parameters": bytes(24)},
        {"grid": (1,), "block": (32,), "parameters": bytes(8)},
        {"grid": (1,), "block": (32,), "parameters": bytes(24), "entry": 5},
        {"grid": (1, 1, 1, 1), "block": (32,), "parameters": bytes(24)},
    ):
        with pytest.raises((quantjit.InvalidArgument, quantjit.DriverError)):
            kernel.launch_raw(**arguments)
    with pytest.raises(quantjit.InvalidArgument, match="must be of per_token_group_quant"):
        quantjit.per_token_group_quant(np.zeros((2, 128), np.float32), "scale")
