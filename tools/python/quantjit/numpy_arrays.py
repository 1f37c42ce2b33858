# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays for the operations' outputs. FP8 and bfloat16 types come from `ml_dtypes`."""

from __future__ import annotations

from typing import Any

import numpy

from quantjit import _abi
from quantjit._dlpack import DTYPES
from quantjit.errors import QuantJitError

# Widest accesses need 32 bytes; NumPy's own allocations start on 16.
_ALIGNMENT = 64

_NAMES = {code: name for name, code in DTYPES.items()}


def dtype_of(name: str) -> numpy.dtype:
    """NumPy's element type of that name, of `ml_dtypes` where NumPy has none."""
    try:
        return numpy.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise QuantJitError(f"NumPy has no {name}; install ml_dtypes, which brings it") from None
    return numpy.dtype(getattr(ml_dtypes, name))


def empty(spec: _abi.TensorSpec) -> Any:
    """An uninitialized array with a spec's shape and strides, over all of its storage."""
    dtype = dtype_of(_NAMES[(spec.dtype.code, spec.dtype.bits)])
    raw = numpy.empty(spec.storage_bytes + _ALIGNMENT, numpy.uint8)
    offset = -raw.__array_interface__["data"][0] % _ALIGNMENT
    storage = raw[offset : offset + spec.storage_bytes].view(dtype)
    shape = tuple(spec.shape[: spec.ndim])
    strides = tuple(stride * dtype.itemsize for stride in spec.strides[: spec.ndim])
    return numpy.lib.stride_tricks.as_strided(storage, shape, strides)
