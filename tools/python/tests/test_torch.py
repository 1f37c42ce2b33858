# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors and operations, with CPU tensors on the simulated device. tests/gpu/python_gpu.py has the rest."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import places
import pytest
import quantjit

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from quantjit import _shapes, ops, torch_ops  # noqa: E402
from quantjit import traits as traits_module  # noqa: E402
from quantjit._dlpack import view_of  # noqa: E402

KEYS = [
    {},
    {"group": 64, "layout": "col"},
    {"scale": "ue8m0", "layout": "col"},
    {"scale": "ue8m0", "numerics": "vllm", "layout": "col"},
    {"out": "int8"},
]


ALL_CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def random(*shape, dtype=torch.bfloat16):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(3)) * 3).to(dtype)


def raw(tensor):
    """The bytes of a tensor's elements, in order."""
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float8_e4m3fn", "int8", "int32", "int64"])
def test_tensors_are_seen_without_a_copy(dtype):
    tensor = torch.zeros((4, 6), dtype=getattr(torch, dtype))[:, 2:].t()
    view = view_of(tensor, "x")
    assert (view.address, view.shape, view.strides) == (tensor.data_ptr(), (4, 4), (1, 6))


def test_other_tensors_are_refused():
    with pytest.raises(quantjit.InvalidArgument, match="dtype"):
        view_of(torch.zeros(2, dtype=torch.float64), "x")
    with pytest.raises(quantjit.InvalidArgument, match="layout"):
        view_of(torch.zeros((2, 2)).to_sparse(), "x")
    with pytest.raises(quantjit.InvalidArgument, match="device"):
        view_of(torch.zeros(2, device="meta"), "x")


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_an_operation_gives_the_bytes_of_the_same_numpy_array(service, keys):
    x = random(5, 640)
    codes, scales = quantjit.per_token_group_quant(x, **keys)
    array = x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    wanted = quantjit.per_token_group_quant(array, **keys)
    assert raw(codes) == wanted[0].tobytes() and raw(scales) == wanted[1].tobytes()
    assert scales.stride() == tuple(step // 4 for step in wanted[1].strides)


def sample_shapes():
    return [(1, 1), (3, 4), (5, 5), (4, 8), (130, 9)]


@pytest.mark.parametrize("masked", [False, True])
def test_outputs_are_computed_as_the_library_does(library, masked):
    checked = 0
    for scale, layouts in {"f32": ("row", "col"), "f32_pow2": ("row", "col"), "ue8m0": ("row", "col"),
                           "e8m0": ("row", "swizzle128x4")}.items():  # fmt: skip
        for layout in layouts:
            for silu in (False, True):
                for tokens, groups in sample_shapes():
                    text = traits_module.descriptor(
                        "per_token_group_quant", group=32, scale=scale, layout=layout, silu=silu, numerics="exact",
                        schedule="masked" if masked else "flat",
                    )  # fmt: skip
                    shape = (*((3,) if masked else ()), tokens, groups * 32 * (2 if silu else 1))
                    compare_specs(text, shape)
                    checked += 1
    compare_specs(traits_module.canonical("per_token_quant"), (7, 64))
    assert checked == 80


def compare_specs(text, shape):
    view = view_of(np.broadcast_to(np.zeros(1, ml_dtypes.bfloat16), shape), "x")
    for output, spec in zip(_shapes.outputs(text, shape), ops.output_specs(text, view), strict=True):
        dtype = getattr(torch, output.dtype)
        assert output.shape == tuple(spec.shape[: spec.ndim]), (text, shape)
        assert output.strides == tuple(spec.strides[: spec.ndim]), (text, shape)
        assert output.storage * dtype.itemsize == spec.storage_bytes, (text, shape)
        assert spec.dtype.bits == 8 * dtype.itemsize


def test_storage_holds_the_padding_of_columns(service):
    scales = quantjit.per_token_group_quant(random(5, 512), scale="ue8m0", layout="col")[1]
    assert scales.untyped_storage().nbytes() == 1 * 8 * 4


# ---- torch.compile ----


def quantize(x, scale):
    codes, scales = quantjit.per_token_group_quant(x * scale, group=64, layout="col")
    return codes.view(torch.int8) + 0, scales * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_graph_gives_the_eager_bytes(service, backend):
    torch._dynamo.reset()
    x = random(6, 256)
    compiled = torch.compile(quantize, fullgraph=True, backend=backend)
    for tokens in (6, 6, 3):
        wanted, found = quantize(x[:tokens], 0.5), compiled(x[:tokens], 0.5)
        assert [raw(tensor) for tensor in found] == [raw(tensor) for tensor in wanted]


def test_a_compiled_graph_has_symbolic_sizes(service):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(quantize, fullgraph=True, backend="aot_eager", dynamic=True)
    for tokens in (2, 3, 7, 12):
        x = random(tokens, 256)
        assert [raw(tensor) for tensor in compiled(x, 0.5)] == [raw(tensor) for tensor in quantize(x, 0.5)]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2


def into(x, codes, scales):
    quantjit.per_token_group_quant(x + 1, output_q=codes, output_s=scales, scale="ue8m0", layout="col")
    return codes.view(torch.int8).sum(dtype=torch.int32)


def test_a_compiled_graph_writes_given_outputs(service):
    torch._dynamo.reset()
    x = random(5, 512)
    outputs = [torch_ops.empty_outputs(x, "per_token_group_quant:scale=ue8m0,layout=col") for _ in range(2)]
    total = into(x, *outputs[0])
    assert torch.compile(into, fullgraph=True, backend="aot_eager")(x, *outputs[1]) == total
    assert [raw(tensor) for tensor in outputs[0]] == [raw(tensor) for tensor in outputs[1]]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        (torch_ops.group_quant, ("per_token_group_quant:scale=ue8m0,layout=col",)),
        (torch_ops.group_quant, ("per_token_group_quant:group=64,silu=true",)),
        (torch_ops.token_quant, ("per_token_quant",)),
    ],
    ids=str,
)
def test_operations_keep_the_rules_of_pytorch(service, operation, arguments):
    torch.library.opcheck(operation, (random(5, 512), *arguments))


@pytest.mark.parametrize(
    ("operation", "text", "checks"),
    [
        (torch_ops.group_quant_into, "per_token_group_quant:out=int8", ALL_CHECKS),
        # PyTorch's check of the schema multiplies the outputs, which it cannot do with FP8.
        (torch_ops.token_quant_into, "per_token_quant", ("test_faketensor", "test_aot_dispatch_dynamic")),
    ],
    ids=str,
)
def test_operations_on_given_outputs_keep_the_rules_of_pytorch(service, operation, text, checks):
    x = random(5, 512)
    torch.library.opcheck(operation, (x, *torch_ops.empty_outputs(x, text), text), test_utils=checks)


def test_shapes_that_do_not_fit_are_refused_while_tracing(library):
    with pytest.raises(quantjit.InvalidArgument, match="multiple of 128"):
        torch_ops.group_quant(torch.empty((4, 200), device="meta", dtype=torch.bfloat16), "per_token_group_quant")


def test_an_explicit_service_is_used(service, cache):
    with quantjit.Service(cache_dir=cache) as other:
        quantjit.per_token_quant(random(3, 256), service=other)
        assert other.stats()["requests"] == 1
    assert service.stats()["requests"] == 0


def test_the_example_runs(simulator, cache):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "QUANTJIT_CACHE_DIR": str(cache)}
    program = places.SOURCE / "examples" / "python_compile" / "main.py"
    result = subprocess.run(
        [sys.executable, program, "--device", "cpu"], env=environment, text=True, capture_output=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith("compiled and eager codes are the same bytes\n")
