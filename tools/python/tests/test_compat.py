# SPDX-License-Identifier: Apache-2.0
"""The adapters: signatures, layouts of what they allocate, and bits, with CPU tensors on the simulated device."""

import inspect

import pytest
import quantjit

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from quantjit.compat import sglang, vllm  # noqa: E402

FP8 = torch.float8_e4m3fn


def random(*shape, dtype=torch.bfloat16):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(3)) * 3).to(dtype)


def raw(tensor):
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


def same(found, wanted):
    return [raw(tensor) for tensor in found] == [raw(tensor) for tensor in wanted]


def signature(function):
    return [
        name if parameter.default is inspect.Parameter.empty else (name, parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
    ]


TAIL = [("column_major_scales", False), ("scale_tma_aligned", False), ("scale_ue8m0", False),
        ("fuse_silu_and_mul", False), ("masked_m", None), ("enable_v2", None)]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (sglang.per_token_group_quant, [
            "input", ("output_q", None), ("output_s", None), ("group_size", 128), ("scale_ue8m0", False),
            ("fuse_silu_and_mul", False), ("masked_m", None), ("expected_m", None), ("out_dtype", None),
            ("column_major_scales", False)]),
        (sglang.per_token_quant_fp8, ["input", "output_q", "output_s"]),
        (sglang.sglang_per_token_quant_fp8, ["x", ("dtype", FP8)]),
        (sglang.sglang_per_token_group_quant_fp8, ["x", "group_size", ("eps", 1e-10), *TAIL]),
        (sglang.sglang_per_token_group_quant_8bit, ["x", "group_size", "dst_dtype", ("eps", 1e-10), *TAIL]),
        (sglang.per_token_group_quant_8bit, ["x", "group_size", "dst_dtype", ("eps", 1e-10), *TAIL]),
        (sglang.per_token_group_quant_8bit_v2, [
            "input", "output_q", "output_s", "group_size", "eps", "min_8bit", "max_8bit", ("scale_ue8m0", False),
            ("fuse_silu_and_mul", False), ("masked_m", None)]),
        (vllm.per_token_group_quant_fp8_packed_for_deepgemm, [
            "x", "group_size", ("eps", 1e-10), ("use_ue8m0", None), ("out_q", None)]),
        (vllm.per_token_group_quant_8bit_packed, [
            "input", "output_q", "output_s_packed", "group_size", "eps", "min_8bit", "max_8bit"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_signatures_are_the_originals(function, wanted):
    assert signature(function) == wanted


# ---- SGLang ----


@pytest.mark.parametrize("tokens", [1, 5, 8])
@pytest.mark.parametrize(
    ("ue8m0", "column", "dtype", "words", "strides"),
    [
        (False, False, torch.float32, 5, lambda aligned: (5, 1)),
        (False, True, torch.float32, 5, lambda aligned: (1, aligned)),
        (True, False, torch.int32, 2, lambda aligned: (2, 1)),
        (True, True, torch.int32, 2, lambda aligned: (1, aligned)),
    ],
)
def test_group_quant_allocates_the_originals_layouts(service, tokens, ue8m0, column, dtype, words, strides):
    x = random(tokens, 640)
    codes, scales = sglang.per_token_group_quant(x, scale_ue8m0=ue8m0, column_major_scales=column)
    assert (codes.dtype, codes.shape, codes.is_contiguous()) == (FP8, (tokens, 640), True)
    assert (scales.dtype, scales.shape) == (dtype, (tokens, words))
    assert scales.stride() == strides((tokens + 3) // 4 * 4)
    keys = {"scale": "ue8m0" if ue8m0 else "f32", "layout": "col" if column else "row"}
    assert same((codes, scales), quantjit.per_token_group_quant(x, numerics="sglang", **keys))


@pytest.mark.parametrize("tokens", [1, 5])
@pytest.mark.parametrize("column", [False, True])
def test_group_quant_reads_the_layout_from_given_scales(service, tokens, column):
    x = random(tokens, 512)
    wanted = sglang.per_token_group_quant(x, column_major_scales=column)
    codes, scales = torch.zeros_like(wanted[0]), torch.zeros_like(wanted[1])
    if column:
        scales = torch.zeros((4, 8)).t()[:tokens, :]
    given = sglang.per_token_group_quant(x, codes, scales)
    assert given[0] is codes and given[1] is scales
    assert same(given, wanted)


def test_group_quant_masks_fuses_and_casts(service):
    x = random(2, 4, 512)
    live = torch.tensor([1, 3], dtype=torch.int32)
    codes, scales = sglang.per_token_group_quant(x, fuse_silu_and_mul=True, masked_m=live, expected_m=2)
    assert (codes.shape, scales.shape) == ((2, 4, 256), (2, 4, 2))
    wanted = sglang.per_token_group_quant(x[1, :3].contiguous(), fuse_silu_and_mul=True)
    assert same((codes[1, :3], scales[1, :3]), wanted)
    assert sglang.per_token_group_quant(random(3, 256), out_dtype=torch.int8)[0].dtype == torch.int8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output_q": torch.zeros((4, 256), dtype=FP8)}, "both are given or none"),
        ({"output_q": torch.zeros((4, 256), dtype=FP8), "output_s": torch.zeros((4, 2)), "scale_ue8m0": True}, "int32"),
        ({"output_q": torch.zeros((4, 256), dtype=FP8), "output_s": torch.zeros((4, 2), dtype=torch.int32)}, "float32"),
        ({"out_dtype": torch.float16}, "output_q.dtype"),
        ({"group_size": 48}, "group"),
    ],
)
def test_group_quant_refuses_what_the_original_asserts(service, arguments, message):
    with pytest.raises(quantjit.InvalidArgument, match=message):
        sglang.per_token_group_quant(random(4, 256), **arguments)


def test_token_quant_keeps_the_rows_beyond(service):
    x = random(3, 256)
    codes, scales = torch.ones((5, 256)).to(FP8), torch.full((5, 1), 2.0)
    assert sglang.per_token_quant_fp8(x, codes, scales) is None
    assert same((codes[:3], scales[:3]), sglang.sglang_per_token_quant_fp8(x))
    assert (codes[3:].float() == 1).all() and (scales[3:] == 2).all()
    flat = torch.zeros(5)
    sglang.per_token_quant_fp8(x, codes, flat)
    assert (flat[:3] == scales[:3, 0]).all()


@pytest.mark.parametrize(
    ("arguments", "dtype", "shape", "strides"),
    [
        ({}, torch.float32, (5, 4), (4, 1)),
        ({"column_major_scales": True}, torch.float32, (5, 4), (1, 5)),
        ({"column_major_scales": True, "scale_tma_aligned": True}, torch.float32, (5, 4), (1, 8)),
        ({"column_major_scales": True, "scale_tma_aligned": True, "scale_ue8m0": True}, torch.int32, (5, 1), (1, 8)),
        ({"scale_ue8m0": True}, torch.float32, (5, 4), (4, 1)),
    ],
)
def test_the_8bit_family_allocates_the_originals_layouts(service, arguments, dtype, shape, strides):
    x = random(5, 512)
    codes, scales = sglang.sglang_per_token_group_quant_fp8(x, 128, **arguments)
    assert (codes.dtype, codes.shape) == (FP8, (5, 512))
    assert (scales.dtype, scales.shape, scales.stride()) == (dtype, shape, strides)
    packed = dtype == torch.int32
    scale = "f32" if "scale_ue8m0" not in arguments else "ue8m0" if packed else "f32_pow2"
    layout = "col" if "column_major_scales" in arguments else "row"
    wanted = quantjit.per_token_group_quant(x, numerics="sglang", scale=scale, layout=layout)
    assert same((codes, scales), wanted)
    again = torch.zeros_like(codes), scales.clone(memory_format=torch.preserve_format)
    sglang.per_token_group_quant_8bit_v2(x, *again, 128, 1e-10, -448.0, 448.0, arguments.get("scale_ue8m0", False))
    assert same(again, wanted)


def test_the_8bit_family_has_the_bits_of_the_kernel_it_goes_to(service):
    x = random(4, 256)
    x[0, 3] = float("nan")  # the older kernel gives it the other sign

    def code(**arguments):
        return raw(sglang.sglang_per_token_group_quant_fp8(x, 128, **arguments)[0])[3]

    column = {"column_major_scales": True, "scale_tma_aligned": True, "scale_ue8m0": True}
    assert (code(), code(**column)) == (0x7E, 0x7E)
    assert (code(enable_v2=True), code(enable_v2=True, **column), code(scale_ue8m0=True)) == (0xFE, 0xFE, 0xFE)
    codes, scales = sglang.per_token_group_quant(x)
    assert raw(codes)[3] == 0x7E
    sglang.per_token_group_quant_8bit_v2(x, codes, scales, 128, 1e-10, -448.0, 448.0)
    assert raw(codes)[3] == 0xFE


def test_a_group_that_is_a_whole_row_goes_to_token_quant(service):
    x = random(4, 128)
    x[1] = 0  # tells the two apart: one has a floor
    assert same(sglang.sglang_per_token_group_quant_fp8(x, 128), sglang.sglang_per_token_quant_fp8(x))


def test_the_8bit_family_takes_more_dimensions_and_int8(service):
    x = random(2, 3, 256)
    codes, scales = sglang.sglang_per_token_group_quant_8bit(x, 64, torch.int8)
    assert (codes.shape, scales.shape) == ((2, 3, 256), (2, 3, 4))
    flat = sglang.sglang_per_token_group_quant_int8(x.view(6, 256), 64)
    assert same((codes, scales), flat)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": 1e-6}, "eps"),
        ({"group_size": 100}, "multiple of 100"),
        ({"enable_v2": False}, "enable_v2"),
        ({"scale_ue8m0": True, "column_major_scales": True}, "TMA"),
        ({"x": random(256, 4).t()}, "contiguous"),
    ],
)
def test_the_8bit_family_refuses(service, arguments, message):
    given = {"x": random(4, 256), "group_size": 128, **arguments}
    with pytest.raises(quantjit.InvalidArgument, match=message):
        sglang.sglang_per_token_group_quant_fp8(**given)


def test_limits_other_than_the_types_are_refused(service):
    codes, scales = sglang.per_token_group_quant(random(4, 256))
    with pytest.raises(quantjit.InvalidArgument, match="limits"):
        sglang.per_token_group_quant_8bit_v2(random(4, 256), codes, scales, 128, 1e-10, -240.0, 240.0)


# ---- vLLM ----


@pytest.mark.parametrize(("tokens", "words"), [(1, 2), (5, 2), (8, 1)])
def test_packed_allocates_the_originals_layout(service, tokens, words):
    x = random(tokens, words * 512 - 128)
    codes, scales = vllm.per_token_group_quant_fp8_packed_for_deepgemm(x, 128)
    aligned = (tokens + 3) // 4 * 4
    assert (codes.dtype, codes.shape) == (FP8, x.shape)
    assert (scales.dtype, scales.shape, scales.stride()) == (torch.int32, (tokens, words), (1, aligned))
    wanted = quantjit.per_token_group_quant(x, numerics="vllm", scale="ue8m0", layout="col")
    assert same((codes, scales), wanted)


def test_packed_flattens_and_takes_codes(service):
    x = random(2, 3, 256)
    out = torch.zeros((2, 3, 256), dtype=FP8)
    codes, scales = vllm.per_token_group_quant_fp8_packed_for_deepgemm(x, 128, use_ue8m0=True, out_q=out)
    assert codes is out and scales.shape == (6, 1)
    assert same((codes, scales), vllm.per_token_group_quant_fp8_packed_for_deepgemm(x.view(6, 256), 128))


def test_packed_zeroes_rows_up_to_four(service):
    x = random(3, 256)
    codes = torch.ones((6, 256)).to(FP8)
    scales = torch.empty_strided((3, 1), (1, 4), dtype=torch.int32)
    vllm.per_token_group_quant_8bit_packed(x, codes, scales, 128, 1e-10, -448.0, 448.0)
    assert (codes[3].float() == 0).all() and (codes[4:].float() == 1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group_size": 64}, "128"),
        ({"use_ue8m0": False}, "UE8M0"),
        ({"x": random(4, 200)}, "multiple of 128"),
        ({"x": random(4, 256, dtype=torch.float32)}, "dtype"),
        ({"out_q": torch.zeros((5, 256), dtype=FP8)}, "out_q"),
    ],
)
def test_packed_refuses(service, arguments, message):
    given = {"x": random(4, 256), "group_size": 128, **arguments}
    with pytest.raises(quantjit.InvalidArgument, match=message):
        vllm.per_token_group_quant_fp8_packed_for_deepgemm(**given)


# ---- torch.compile ----


def block(x):
    codes, scales = sglang.sglang_per_token_group_quant_fp8(
        x, 128, column_major_scales=True, scale_tma_aligned=True, scale_ue8m0=True
    )
    row = sglang.per_token_group_quant(x)
    packed = vllm.per_token_group_quant_fp8_packed_for_deepgemm(x, 128)
    token = sglang.sglang_per_token_quant_fp8(x)
    return codes, scales, *row, *packed, *token


@pytest.mark.parametrize("dynamic", [False, True])
def test_adapters_compile_into_one_graph(service, dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for tokens in (5, 7):
        x = random(tokens, 512)
        found, wanted = compiled(x), block(x)
        assert same(found, wanted)
        assert [tensor.stride() for tensor in found] == [tensor.stride() for tensor in wanted]
