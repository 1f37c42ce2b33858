# SPDX-License-Identifier: Apache-2.0
"""What python_gpu.py checks of torch.compile and CUDA graphs."""

import quantjit
import torch
from checks import COLUMN, KEYS, random, raws, require
from quantjit import torch_ops
from quantjit.compat import sglang, vllm


def group(keys):
    def quantize(x):
        codes, scales = quantjit.per_token_group_quant(x + 0.5, **keys)
        return codes, scales, codes.view(torch.int8).sum(dtype=torch.int64)

    return quantize


def adapters(x):
    packed = vllm.per_token_group_quant_fp8_packed_for_deepgemm(x, 128)
    aligned = sglang.sglang_per_token_group_quant_fp8(
        x, 128, column_major_scales=True, scale_tma_aligned=True, scale_ue8m0=True
    )
    return *packed, *aligned, *sglang.per_token_group_quant(x), *sglang.sglang_per_token_quant_fp8(x)


def captured(function, *inputs):
    """The function's outputs as a CUDA graph makes them, and the graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        function(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = function(*inputs)
    return outputs, graph


def compile_and_capture(service):
    """Eager, torch.compile(fullgraph=True) and a replayed CUDA graph give the same bytes."""
    functions = [(f"{keys}", group(keys)) for keys in KEYS[:3]] + [("adapters", adapters)]
    for name, function in functions:
        torch._dynamo.reset()
        compiled = torch.compile(function, fullgraph=True)
        kept = random(24, 1024)
        outputs, graph = captured(function, kept)
        for seed in (5, 6):
            x = random(24, 1024, seed=seed)
            wanted = raws(function(x))
            require(raws(compiled(x)) == wanted, f"torch.compile of {name}")
            kept.copy_(x)
            graph.replay()
            require(raws(outputs) == wanted, f"graph of {name}")
    return {"functions": [name for name, _ in functions]}


def compile_for_graphs(service):
    """torch.compile's own CUDA graphs, symbolic sizes, and given outputs."""
    torch._dynamo.reset()
    function = group(KEYS[1])
    compiled = torch.compile(function, fullgraph=True, mode="reduce-overhead")
    x = random(24, 1024)
    for _ in range(4):
        require(raws(compiled(x)) == raws(function(x)), "reduce-overhead")
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    for tokens in (3, 5, 8, 130):
        x = random(tokens, 1024)
        require(raws(compiled(x)) == raws(function(x)), f"symbolic sizes, {tokens} tokens")
    torch._dynamo.reset()

    def into(x, codes, scales):
        quantjit.per_token_group_quant(x, COLUMN, output_q=codes, output_s=scales)
        return codes.view(torch.int8).sum(dtype=torch.int64)

    given = [torch_ops.empty_outputs(x, COLUMN) for _ in range(2)]
    total = torch.compile(into, fullgraph=True)(x, *given[0])
    require(total.item() == into(x, *given[1]).item() and raws(given[0]) == raws(given[1]), "given outputs")
    return "reduce-overhead, symbolic sizes and given outputs"


def cold_capture(service):
    """A kernel that is not loaded is refused on a capturing stream, and the capture goes on."""
    with quantjit.Service(memory_only=True) as own:  # which has loaded nothing yet
        quantjit.set_default_service(own)
        try:
            return capture_a_cold_kernel()
        finally:
            quantjit.set_default_service(service)


def capture_a_cold_kernel():
    x = random(8, 512)
    warm, cold = "per_token_group_quant:group=128,scale=ue8m0", "per_token_group_quant:group=16,scale=ue8m0,layout=col"
    wanted = raws(torch_ops.group_quant(x, warm))
    graph = torch.cuda.CUDAGraph()
    missed = False
    outputs = torch_ops.empty_outputs(x, warm)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        try:
            torch_ops.group_quant(x, cold)
        except quantjit.CaptureMiss:
            missed = True
        torch_ops.group_quant_into(x, *outputs, warm)
    graph.replay()
    require(missed, "it was not refused")
    require(raws(outputs) == wanted, "the graph gives other bytes")
    return "CaptureMiss, and the graph is whole"


ALL = [cold_capture, compile_and_capture, compile_for_graphs]
