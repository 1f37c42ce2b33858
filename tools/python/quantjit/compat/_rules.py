# SPDX-License-Identifier: Apache-2.0
"""What the adapters share."""

from __future__ import annotations

from typing import Any

import torch

from quantjit.errors import refuse

EPS = 1e-10
FP8 = torch.float8_e4m3fn

# Limits of the codes, as callers pass them.
_LIMITS = {FP8: (-448.0, 448.0), torch.int8: (-128.0, 127.0)}

IN_WORDS = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}
OUT_WORDS = {FP8: "e4m3", torch.int8: "int8"}


def word(words: dict[torch.dtype, str], dtype: torch.dtype, name: str) -> str:
    """The word of an element type in descriptors. Raises InvalidArgument."""
    found = words.get(dtype)
    if found is None:
        raise refuse(f"{name}.dtype", dtype, f"it must be one of {', '.join(str(known) for known in words)}")
    return found


def require_eps(eps: float) -> None:
    """The kernels have one floor for the absolute maximum."""
    if abs(eps - EPS) > 1e-13:
        raise refuse("eps", eps, f"it must be {EPS}")


def require_limits(dtype: torch.dtype, lowest: float, highest: float) -> None:
    """The kernels saturate to the element type's own limits."""
    wanted = _LIMITS.get(dtype)
    if wanted is not None and (float(lowest), float(highest)) != wanted:
        raise refuse("the limits", (lowest, highest), f"they must be {wanted} for {dtype}")


def require_contiguous(value: torch.Tensor, name: str) -> None:
    if not value.is_contiguous():
        raise refuse(f"{name}.stride()", tuple(value.stride()), "it must be contiguous")


def require_divisible(value: torch.Tensor, divisor: int, name: str) -> None:
    if value.shape[-1] % divisor != 0:
        raise refuse(f"{name}.shape[-1]", value.shape[-1], f"it must be a multiple of {divisor}")


def transposed(rows: Any, columns: Any, row_stride: Any, outer: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
    """[*outer, rows, columns] with stride 1 along rows and `row_stride` elements from column to column."""
    storage = torch.empty((*outer, columns, row_stride), dtype=dtype, device=device)
    return storage.transpose(-1, -2)[..., :rows, :]
