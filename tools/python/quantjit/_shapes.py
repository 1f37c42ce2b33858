# SPDX-License-Identifier: Apache-2.0
"""Outputs that do not exist yet, computed from shapes alone: what qj_output_specs says, for symbolic sizes too.

Shapes and strides are in elements. PyTorch's operations use this, because tracing works with symbolic sizes; a test
compares it with qj_output_specs.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from quantjit import traits as traits_module
from quantjit.errors import refuse

_SCALE_DTYPES = {"f32": "float32", "f32_pow2": "float32", "ue8m0": "int32", "e8m0": "float8_e8m0fnu"}
_CODE_DTYPES = {"e4m3": "float8_e4m3fn", "int8": "int8"}


class Output(NamedTuple):
    """An output: its element type as NumPy and PyTorch call it, and what to allocate for it."""

    dtype: str
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    storage: Any  # elements, padding included
    dense: bool  # contiguous, without padding


def _contiguous(dtype: str, *shape: Any) -> Output:
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step = step * size
    return Output(dtype, shape, tuple(strides), step, True)


class _Plan(NamedTuple):
    """What of a descriptor the outputs depend on."""

    op: str
    out: str
    group: int
    scale: str
    layout: str
    factor: int
    masked: bool


@functools.lru_cache(maxsize=4096)
def plan(traits: str) -> _Plan:
    """Raises: InvalidArgument for a descriptor that is none."""
    keys = traits_module.fields(traits)
    if keys["op"] == traits_module.TOKEN_QUANT:
        return _Plan(keys["op"], _CODE_DTYPES[keys["out"]], 0, "f32", "row", 1, False)
    return _Plan(
        keys["op"], _CODE_DTYPES[keys["out"]], int(keys["group"]), keys["scale"], keys["layout"],
        2 if keys["silu"] == "true" else 1, keys["schedule"] == "masked",
    )  # fmt: skip


def outputs(traits: str, shape: Sequence[Any]) -> tuple[Output, Output]:
    """Codes and scales for an input of that shape. Raises: InvalidArgument for one that does not fit."""
    given = plan(traits)
    ndim = 3 if given.masked else 2
    if len(shape) != ndim:
        raise refuse("input.ndim", len(shape), f"it must be {ndim}")
    if given.op == traits_module.TOKEN_QUANT:
        return _contiguous(given.out, *shape), _contiguous("float32", shape[0], 1)
    columns = shape[-1]
    if columns % (given.factor * given.group) != 0:
        raise refuse(f"input.shape[{ndim - 1}]", columns, f"it must be a multiple of {given.factor * given.group}")
    hidden = columns // given.factor
    return _contiguous(given.out, *shape[:-1], hidden), _scales(given, shape[:-1], hidden // given.group)


def _scales(given: _Plan, rows: Sequence[Any], groups: Any) -> Output:
    dtype = _SCALE_DTYPES[given.scale]
    *experts, tokens = rows
    if given.layout == "swizzle128x4":
        return _contiguous(dtype, *experts, (tokens + 127) // 128 * ((groups + 3) // 4) * 512)
    columns = (groups + 3) // 4 if given.scale == "ue8m0" else groups
    if given.layout == "row":
        return _contiguous(dtype, *rows, columns)
    padded = (tokens + 3) // 4 * 4  # 16 bytes of 4-byte scales: what TMA needs of a stride
    outer = [columns * padded] * len(experts)
    storage = columns * padded * (experts[0] if experts else 1)
    return Output(dtype, (*rows, columns), (*outer, 1, padded), storage, False)
