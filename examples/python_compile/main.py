#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A linear layer on FP8 activations, compiled by torch.compile into one graph, and replayed as a CUDA graph.

usage: main.py [--device cuda|cpu], with quantjit importable and QUANTJIT_LIBRARY set where it is not installed.

On the CPU it needs the simulated device: QUANTJIT_CUDA_DRIVER=.../libquantjit_simcuda.so.
"""

import argparse

import torch

import quantjit
from quantjit import torch_ops

GROUP = 128


class QuantizedLinear(torch.nn.Module):
    """y = dequantize(quantize(x)) @ weight.T, with one scale per GROUP activations."""

    def __init__(self, features_in, features_out, device):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features_out, features_in, device=device) / features_in**0.5)

    def forward(self, x):
        codes, scales = quantjit.per_token_group_quant(x, group=GROUP)
        # A real engine hands both to an FP8 matrix product; this shows what they mean.
        values = codes.float().unflatten(-1, (-1, GROUP)) * scales.unsqueeze(-1)
        return values.flatten(-2) @ self.weight.T


def replayed(layer, x):
    """The layer's result from a CUDA graph. Kernels are loaded before the capture."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        layer(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = layer(x)
    graph.replay()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cuda", "cpu"))
    device = parser.parse_args().device

    # What a server does before it answers its first request: nothing is compiled after this.
    service = quantjit.default_service()
    prepared = service.prewarm(["per_token_group_quant:group=128"], devices=[0])
    service.seal()
    print(f"prepared {prepared['requested']} kernel for {service.device_info()['name']}")

    torch.manual_seed(1)
    layer = QuantizedLinear(512, 256, device).requires_grad_(False)
    x = torch.randn(16, 512, device=device).to(torch.bfloat16)
    exact = x.float() @ layer.weight.T
    eager = layer(x)
    compiled = torch.compile(layer, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")(x)
    print(f"largest error of eager     {(eager - exact).abs().max().item():.4f}")
    print(f"largest error of compiled  {(compiled - exact).abs().max().item():.4f}")
    if device == "cuda":
        print(f"largest error of replayed  {(replayed(layer, x) - exact).abs().max().item():.4f}")

    # The codes themselves are the same bytes, whoever calls.
    codes = torch.compile(lambda x: torch_ops.group_quant(x, "per_token_group_quant:group=128")[0], fullgraph=True,
                          backend="aot_eager")(x)  # fmt: skip
    same = torch.equal(codes.view(torch.uint8), quantjit.per_token_group_quant(x, group=GROUP)[0].view(torch.uint8))
    print(f"compiled and eager codes are {'the same bytes' if same else 'DIFFERENT'}")
    return 0 if same and (compiled - exact).abs().max() < 0.2 else 1


if __name__ == "__main__":
    raise SystemExit(main())
