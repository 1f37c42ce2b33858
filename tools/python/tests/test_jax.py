# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays, a real producer of DLPack capsules."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
import quantjit
from quantjit._dlpack import view_of

jax = pytest.importorskip("jax", reason="JAX is not installed")


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.int8, np.int32, ml_dtypes.float8_e4m3fn]
)
def test_arrays_are_seen_without_a_copy(dtype):
    array = jax.numpy.asarray(np.arange(24).reshape(4, 6).astype(dtype))
    view = view_of(array, "x")
    assert view.address == array.unsafe_buffer_pointer()
    assert (view.shape, view.strides, view.on_host) == ((4, 6), (6, 1), True)


def test_an_array_lives_as_long_as_its_view():
    array = jax.numpy.asarray(np.full((64, 64), 3, np.float32))
    view = view_of(array, "x")
    address = view.address
    del array
    held = np.frombuffer((ctypes.c_float * 4096).from_address(address), np.float32)
    assert (held == 3).all()
    view.release()


def test_quantizing_one_gives_the_bytes_of_the_same_numpy_array(service):
    values = np.random.default_rng(5).standard_normal((7, 512), np.float32).astype(ml_dtypes.bfloat16)
    array = jax.numpy.asarray(values)
    keys = {"group": 64, "scale": "ue8m0", "layout": "col"}
    codes, scales = quantjit.per_token_group_quant(array, **keys)
    wanted_codes, wanted_scales = quantjit.per_token_group_quant(values, **keys)
    assert isinstance(codes, np.ndarray) and codes.dtype == ml_dtypes.float8_e4m3fn
    assert codes.tobytes() == wanted_codes.tobytes()
    assert (scales == wanted_scales).all()
    assert np.asarray(array).tobytes() == values.tobytes()
