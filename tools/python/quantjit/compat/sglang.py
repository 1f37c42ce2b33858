# SPDX-License-Identifier: Apache-2.0
"""SGLang's activation quantization by its own names and signatures.

All of them have the bits of SGLang's trait-driven kernels (numerics=sglang), but `per_token_group_quant_8bit_v2`, what
goes there by `enable_v2=True`, and what only that kernel has (float32 powers of two in rows, int8 with UE8M0 scales):
those have its bits (numerics=sglang_v2). The two differ in NaN and infinities. Known differences, all deliberate:
f16 with UE8M0 scales gives right codes where the original overflows, combinations that the original ignores silently
are honoured or refused, and unused bytes of a last scale word are always zero.
"""

from __future__ import annotations

import torch

from quantjit import torch_ops
from quantjit.compat import _rules
from quantjit.compat._rules import FP8, IN_WORDS, OUT_WORDS
from quantjit.errors import refuse
from quantjit.traits import GROUP_QUANT, TOKEN_QUANT

_NO_V1 = "the kernel before version 2 is not offered; leave it out or pass True"
_TMA_ROWS = 4  # rows of 4-byte scales in the 16 bytes that TMA needs of a stride


def _v2(input: torch.Tensor) -> str:
    """The 8bit_v2 kernel takes 16-bit inputs; what it does not have is the trait-driven kernel's."""
    return "sglang" if input.dtype == torch.float32 else "sglang_v2"


def _text(
    numerics: str, input: torch.Tensor, out: torch.dtype, group: int, scale: str, layout: str, silu: bool, masked: bool
) -> str:
    return (
        f"per_token_group_quant:in={_rules.word(IN_WORDS, input.dtype, 'input')},"
        f"out={_rules.word(OUT_WORDS, out, 'output_q')},group={group},scale={scale},layout={layout},"
        f"silu={'true' if silu else 'false'},schedule={'masked' if masked else 'flat'},numerics={numerics}"
    )


def _layout_of(output_s: torch.Tensor) -> str:
    """Row or column, from the strides: column iff tokens are closer together than groups."""
    if output_s.dim() < 2:
        raise refuse("output_s.ndim", output_s.dim(), "it must be at least 2")
    return "row" if output_s.stride(-2) >= output_s.stride(-1) else "col"


def per_token_group_quant(
    input: torch.Tensor,
    output_q: torch.Tensor | None = None,
    output_s: torch.Tensor | None = None,
    group_size: int = 128,
    scale_ue8m0: bool = False,
    fuse_silu_and_mul: bool = False,
    masked_m: torch.Tensor | None = None,
    expected_m: int | None = None,
    *,
    out_dtype: torch.dtype | None = None,
    column_major_scales: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes groups of a row; returns (output_q, output_s), both given or both allocated.

    Args:
        input: [T, H], [T, 2H] with SiLU; with `masked_m` [E, T, H] or [E, T, 2H].
        scale_ue8m0: scales are int32 words of four exponents; else float32.
        masked_m: [E] int32 or int64, live rows an expert; expected_m: a hint that changes no result.
        out_dtype: of an allocated output_q, float8_e4m3fn (default) or int8.
        column_major_scales: an allocated output_s has token stride 1 and TMA-aligned columns. With a given output_s its
            strides tell the layout, except that True always means columns: with one token the strides may not tell.
    """
    if (output_q is None) != (output_s is None):
        raise refuse("output_q and output_s", "one of them", "both are given or none")
    out = out_dtype or FP8
    layout = "col" if column_major_scales else "row"
    if output_q is not None and output_s is not None:
        if out_dtype is not None and out_dtype != output_q.dtype:
            raise refuse("out_dtype", out_dtype, f"output_q is given and is {output_q.dtype}")
        out = output_q.dtype
        wanted = torch.int32 if scale_ue8m0 else torch.float32
        if output_s.dtype != wanted:
            raise refuse("output_s.dtype", output_s.dtype, f"with scale_ue8m0={scale_ue8m0} it must be {wanted}")
        layout = "col" if column_major_scales else _layout_of(output_s)
    scale = "ue8m0" if scale_ue8m0 else "f32"
    text = _text("sglang", input, out, group_size, scale, layout, fuse_silu_and_mul, masked_m is not None)
    if output_q is None or output_s is None:
        return torch_ops.quantize(GROUP_QUANT, input, text, None, masked_m, expected_m or 0)
    return torch_ops.quantize(GROUP_QUANT, input, text, (output_q, output_s), masked_m, expected_m or 0)


def per_token_quant_fp8(input: torch.Tensor, output_q: torch.Tensor, output_s: torch.Tensor) -> None:
    """Quantizes rows [T, H] into output_q (at least T rows) and output_s (as many, [rows] or [rows, 1])."""
    text = f"per_token_quant:in={_rules.word(IN_WORDS, input.dtype, 'input')},numerics=sglang"
    torch_ops.quantize(TOKEN_QUANT, input, text, (output_q, output_s))


def sglang_per_token_quant_fp8(x: torch.Tensor, dtype: torch.dtype = FP8) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes rows of a contiguous x; returns codes and scales [T, 1]."""
    _rules.require_contiguous(x, "x")
    if dtype != FP8:
        raise refuse("dtype", dtype, f"it must be {FP8}")
    codes = torch.empty_like(x, dtype=dtype)
    scales = torch.empty((x.shape[0], 1), dtype=torch.float32, device=x.device)
    per_token_quant_fp8(x, codes, scales)
    return codes, scales


# ---- The 8bit family ----


def create_per_token_group_quant_fp8_output_scale(
    x_shape: tuple[int, ...],
    device: torch.device,
    group_size: int,
    column_major_scales: bool,
    scale_tma_aligned: bool,
    scale_ue8m0: bool,
) -> torch.Tensor:
    """Scales for codes of shape `x_shape`.

    UE8M0 in columns: int32 words, TMA-aligned. Columns: float32 with token stride 1, from column to column T elements,
    or T rounded up to 4 if `scale_tma_aligned`. Rows: contiguous float32.
    """
    *outer, tokens, hidden = x_shape
    groups = hidden // group_size
    aligned = (tokens + _TMA_ROWS - 1) // _TMA_ROWS * _TMA_ROWS
    if scale_ue8m0 and column_major_scales:
        if not scale_tma_aligned:
            raise refuse("scale_tma_aligned", False, "UE8M0 scales in columns must be TMA-aligned")
        return _rules.transposed(tokens, (groups + 3) // 4, aligned, outer, torch.int32, device)
    if column_major_scales:
        stride = aligned if scale_tma_aligned else tokens
        return _rules.transposed(tokens, groups, stride, outer, torch.float32, device)
    return torch.empty((*outer, tokens, groups), dtype=torch.float32, device=device)


def _quantize_8bit(
    x: torch.Tensor,
    group_size: int,
    dst_dtype: torch.dtype,
    eps: float,
    column_major_scales: bool,
    scale_tma_aligned: bool,
    scale_ue8m0: bool,
    fuse_silu_and_mul: bool,
    masked_m: torch.Tensor | None,
    enable_v2: bool | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    if enable_v2 is False:
        raise refuse("enable_v2", False, _NO_V1)
    factor = 2 if fuse_silu_and_mul else 1
    _rules.require_eps(eps)
    _rules.require_divisible(x, factor * group_size, "x")
    _rules.require_contiguous(x, "x")
    shape = (*x.shape[:-1], x.shape[-1] // factor)
    codes = torch.empty(shape, dtype=dst_dtype, device=x.device)
    scales = create_per_token_group_quant_fp8_output_scale(
        shape, x.device, group_size, column_major_scales, scale_tma_aligned, scale_ue8m0
    )
    whole_row = group_size == shape[-1] and not (column_major_scales or fuse_silu_and_mul or scale_ue8m0)
    if whole_row and masked_m is None and dst_dtype == FP8 and x.dim() == 2 and not enable_v2:
        per_token_quant_fp8(x, codes, scales)  # a group that is a whole row goes there in the original too
        return codes, scales
    layout = "col" if column_major_scales else "row"
    scale = "f32" if not scale_ue8m0 else "ue8m0" if column_major_scales else "f32_pow2"
    only_v2 = scale_ue8m0 and (not column_major_scales or dst_dtype == torch.int8)
    numerics = _v2(x) if enable_v2 or only_v2 else "sglang"
    text = _text(numerics, x, dst_dtype, group_size, scale, layout, fuse_silu_and_mul, masked_m is not None)
    if masked_m is None and x.dim() != 2:
        if column_major_scales:
            raise refuse("x.ndim", x.dim(), "with column_major_scales and without masked_m it must be 2")
        into = (codes.view(-1, shape[-1]), scales.view(-1, shape[-1] // group_size))
        torch_ops.quantize(GROUP_QUANT, x.view(-1, x.shape[-1]), text, into)
    else:
        torch_ops.quantize(GROUP_QUANT, x, text, (codes, scales), masked_m)
    return codes, scales


def sglang_per_token_group_quant_fp8(
    x: torch.Tensor,
    group_size: int,
    eps: float = 1e-10,
    column_major_scales: bool = False,
    scale_tma_aligned: bool = False,
    scale_ue8m0: bool = False,
    fuse_silu_and_mul: bool = False,
    masked_m: torch.Tensor | None = None,
    enable_v2: bool | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes groups of a contiguous x to FP8; returns codes and scales.

    A group that is a whole row, with float32 scales in rows, goes to `per_token_quant_fp8`, as in the original.
    `enable_v2=False` is refused: the kernel before version 2 stored wrong exponents.
    """
    return _quantize_8bit(
        x,
        group_size,
        FP8,
        eps,
        column_major_scales,
        scale_tma_aligned,
        scale_ue8m0,
        fuse_silu_and_mul,
        masked_m,
        enable_v2,
    )


def sglang_per_token_group_quant_int8(
    x: torch.Tensor, group_size: int, eps: float = 1e-10, dtype: torch.dtype = torch.int8, enable_v2: bool | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes groups of a contiguous x to INT8 with float32 scales in rows; returns codes and scales."""
    if dtype != torch.int8:
        raise refuse("dtype", dtype, "it must be torch.int8")
    return _quantize_8bit(x, group_size, dtype, eps, False, False, False, False, None, enable_v2)


def sglang_per_token_group_quant_8bit(
    x: torch.Tensor,
    group_size: int,
    dst_dtype: torch.dtype,
    eps: float = 1e-10,
    column_major_scales: bool = False,
    scale_tma_aligned: bool = False,
    scale_ue8m0: bool = False,
    fuse_silu_and_mul: bool = False,
    masked_m: torch.Tensor | None = None,
    enable_v2: bool | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes groups of a contiguous x to `dst_dtype`, float8_e4m3fn or int8; returns codes and scales."""
    return _quantize_8bit(
        x,
        group_size,
        dst_dtype,
        eps,
        column_major_scales,
        scale_tma_aligned,
        scale_ue8m0,
        fuse_silu_and_mul,
        masked_m,
        enable_v2,
    )


per_token_group_quant_8bit = sglang_per_token_group_quant_8bit


def per_token_group_quant_8bit_v2(
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    group_size: int,
    eps: float,
    min_8bit: float,
    max_8bit: float,
    scale_ue8m0: bool = False,
    fuse_silu_and_mul: bool = False,
    masked_m: torch.Tensor | None = None,
) -> None:
    """Quantizes into given outputs, whose layout the strides of output_s tell.

    With scale_ue8m0, int32 scales are words of four exponents and float32 scales are powers of two.
    """
    _rules.require_eps(eps)
    _rules.require_limits(output_q.dtype, min_8bit, max_8bit)
    scale = "f32" if not scale_ue8m0 else "ue8m0" if output_s.dtype == torch.int32 else "f32_pow2"
    masked = masked_m is not None
    layout = _layout_of(output_s)
    text = _text(_v2(input), input, output_q.dtype, group_size, scale, layout, fuse_silu_and_mul, masked)
    torch_ops.quantize(GROUP_QUANT, input, text, (output_q, output_s), masked_m)


def sgl_per_token_group_quant_8bit(
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    group_size: int,
    eps: float,
    fp8_min: float,
    fp8_max: float,
    scale_ue8m0: bool = False,
    fuse_silu_and_mul: bool = False,
    masked_m: torch.Tensor | None = None,
    enable_v2: bool | None = None,
) -> None:
    """`per_token_group_quant_8bit_v2` by its older name."""
    if enable_v2 is False:
        raise refuse("enable_v2", False, _NO_V1)
    per_token_group_quant_8bit_v2(
        input, output_q, output_s, group_size, eps, fp8_min, fp8_max, scale_ue8m0, fuse_silu_and_mul, masked_m
    )


sgl_per_token_group_quant_fp8 = sgl_per_token_group_quant_8bit
sgl_per_token_group_quant_int8 = sgl_per_token_group_quant_8bit
sgl_per_token_quant_fp8 = per_token_quant_fp8
