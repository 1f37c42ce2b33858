# SPDX-License-Identifier: Apache-2.0
"""vLLM's packed activation quantization for DeepGEMM by its own names and signatures (numerics=vllm)."""

from __future__ import annotations

import torch

from quantjit import torch_ops
from quantjit.compat import _rules
from quantjit.compat._rules import FP8, IN_WORDS, OUT_WORDS
from quantjit.errors import refuse
from quantjit.traits import GROUP_QUANT

_GROUP = 128
_IN_WORDS = {dtype: word for dtype, word in IN_WORDS.items() if word != "f32"}


def per_token_group_quant_8bit_packed(
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s_packed: torch.Tensor,
    group_size: int,
    eps: float,
    min_8bit: float,
    max_8bit: float,
) -> None:
    """Quantizes groups of 128 into given outputs.

    Args:
        input: [.., K], contiguous, bf16 or f16; leading dimensions are flattened to mn rows.
        output_q: contiguous, float8_e4m3fn or int8, at least mn rows of K; rows up to a multiple of 4 are zeroed.
        output_s_packed: [mn, ceil(K / 512)] int32 with strides (1, mn rounded up to 4).
    """
    _rules.require_eps(eps)
    _rules.require_limits(output_q.dtype, min_8bit, max_8bit)
    _rules.require_contiguous(input, "input")
    _rules.require_contiguous(output_q, "output_q")
    if group_size != _GROUP:
        raise refuse("group_size", group_size, f"it must be {_GROUP}")
    text = (
        f"per_token_group_quant:in={_rules.word(_IN_WORDS, input.dtype, 'input')},"
        f"out={_rules.word(OUT_WORDS, output_q.dtype, 'output_q')},scale=ue8m0,layout=col,numerics=vllm"
    )
    columns = input.shape[-1]
    rows = input.view(-1, columns) if input.dim() != 2 else input
    codes = output_q.view(-1, columns) if output_q.dim() != 2 else output_q
    aligned = (rows.shape[0] + 3) // 4 * 4
    if output_s_packed.dim() != 2 or output_s_packed.stride(0) != 1 or output_s_packed.stride(1) != aligned:
        raise refuse("output_s_packed.stride()", tuple(output_s_packed.stride()), f"it must be (1, {aligned})")
    torch_ops.quantize(GROUP_QUANT, rows, text, (codes, output_s_packed))


per_token_group_fp8_quant_packed = per_token_group_quant_8bit_packed


def per_token_group_quant_fp8_packed_for_deepgemm(
    x: torch.Tensor,
    group_size: int,
    eps: float = 1e-10,
    use_ue8m0: bool | None = None,
    out_q: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes groups of 128 to FP8 with scales as DeepGEMM takes them.

    Returns: codes of x's shape (`out_q` if given), and int32 words of four exponents [mn, ceil(K / 512)] with strides
    (1, mn rounded up to 4).
    """
    if use_ue8m0 is False:
        raise refuse("use_ue8m0", False, "packed scales are UE8M0; leave it out or pass True")
    _rules.require_divisible(x, _GROUP, "x")
    x = x.contiguous()
    if out_q is not None and (out_q.dtype != FP8 or tuple(out_q.shape) != tuple(x.shape)):
        raise refuse("out_q", f"{tuple(out_q.shape)} {out_q.dtype}", f"it must be {tuple(x.shape)} {FP8}")
    codes = torch.empty_like(x, dtype=FP8) if out_q is None else out_q
    columns = x.shape[-1]
    rows = x.numel() // columns if columns else 0
    words = (columns // _GROUP + 3) // 4
    scales = torch.empty_strided((rows, words), (1, (rows + 3) // 4 * 4), dtype=torch.int32, device=x.device)
    per_token_group_quant_8bit_packed(x, codes, scales, group_size, eps, -448.0, 448.0)
    return codes, scales
