# SPDX-License-Identifier: Apache-2.0
"""The operations as PyTorch's: `torch.compile(fullgraph=True)` takes them, and so does CUDA-graph capture.

Registered under `torch.ops.quantjit` when this module is imported:

    per_token_group_quant(Tensor input, str traits, Tensor? masked_m=None, int expected_m=0) -> (Tensor, Tensor)
    per_token_group_quant_into(Tensor input, Tensor(a!) output_q, Tensor(b!) output_s, str traits, ...) -> ()
    per_token_quant(Tensor input, str traits) -> (Tensor, Tensor)
    per_token_quant_into(Tensor input, Tensor(a!) output_q, Tensor(b!) output_s, str traits) -> ()

`traits` is a descriptor; what it leaves out has its default. They launch on PyTorch's current stream of the input's
device, with kernels of `quantjit.default_service()`. A kernel that a captured stream asks for first follows the
capture policy, so call once before capturing, or prewarm. Tensors on the CPU are the simulated device's.
"""

from __future__ import annotations

from typing import Any

import torch

from quantjit import _shapes, ops
from quantjit import traits as traits_module
from quantjit._dlpack import view_of
from quantjit._launch import Launcher
from quantjit._objects import reader_of
from quantjit.errors import refuse
from quantjit.service import Service, default_service

_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in ("float32", "int32", "int8", "float8_e4m3fn", "float8_e8m0fnu")
    if hasattr(torch, name)
}
_TRAIT_WORDS = {
    torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", torch.float8_e4m3fn: "e4m3", torch.int8: "int8"
}  # fmt: skip


# PyTorch's current stream of a device, as a number. A build without CUDA has none, and no CUDA tensors either.
current_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)

_reader = reader_of(torch.Tensor)

# ---- Launching ----


def _launcher(service: Service, traits: str, device: int, stream: int) -> Launcher:
    """Makes and keeps the launcher of a descriptor as it was written."""
    if device < 0:
        raise refuse("input.device", "the CPU", "it must be a CUDA device if an output is on one")
    kept = service.launchers
    kernel = ops.kernel_for(service, traits_module.canonical(traits), device, stream)
    found = kept[(traits, device)] = Launcher(kernel, _reader)
    return found


def launch(
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    traits: str,
    masked_m: torch.Tensor | None = None,
    expected_m: int = 0,
    stream: int | None = None,
    service: Service | None = None,
) -> None:
    """Launches on outputs that exist, outside of PyTorch's dispatcher."""
    service = service or default_service()
    if input.is_cuda:
        _launch_on_gpu(service, input, output_q, output_s, traits, masked_m, expected_m, stream)
    else:
        _launch_on_host(service, input, output_q, output_s, traits, masked_m, expected_m, stream or 0)


def _launch_on_gpu(
    service: Service,
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    traits: str,
    masked_m: torch.Tensor | None,
    expected_m: int,
    stream: int | None,
) -> None:
    device = input.get_device()
    if stream is None:
        stream = current_stream(device)
    launcher = service.launchers.get((traits, device)) or _launcher(service, traits, device, stream)
    launcher(input, output_q, output_s, stream, masked_m, expected_m)


def _launch_on_host(
    service: Service,
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    traits: str,
    masked_m: torch.Tensor | None,
    expected_m: int,
    stream: int,
) -> None:
    named = {"input": input, "output_q": output_q, "output_s": output_s, "masked_m": masked_m}
    views = {name: view_of(value, name) for name, value in named.items() if value is not None}
    ops.launch(service, traits_module.canonical(traits), views, expected_m, stream)


def empty_outputs(input: torch.Tensor, traits: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs that belong to an input, over all of their storage. Works on symbolic sizes."""
    codes, scales = _shapes.outputs(traits, input.shape)
    return _empty(codes, input.device), _empty(scales, input.device)


def _empty(output: _shapes.Output, device: torch.device) -> torch.Tensor:
    dtype = _DTYPES.get(output.dtype)
    if dtype is None:
        raise refuse("traits", output.dtype, "this PyTorch has no such element type; install a newer one")
    if output.dense:
        return torch.empty(output.shape, dtype=dtype, device=device)
    storage = torch.empty((output.storage,), dtype=dtype, device=device)
    return storage.as_strided(output.shape, output.strides)


# ---- The operations ----

_library = torch.library.Library("quantjit", "DEF")
# Scales have strides that mean something; compiled code must not choose others.
_TAGS = [torch.Tag.pt2_compliant_tag, getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)]


def _into_on_gpu(
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    traits: str,
    masked_m: torch.Tensor | None = None,
    expected_m: int = 0,
) -> None:
    # As short as it can be: this is what a call costs on top of PyTorch's dispatcher and the launch itself.
    device = input.get_device()
    service = default_service()
    stream = current_stream(device)
    launcher = service.launchers.get((traits, device)) or _launcher(service, traits, device, stream)
    launcher(input, output_q, output_s, stream, masked_m, expected_m)


def _into_on_host(
    input: torch.Tensor,
    output_q: torch.Tensor,
    output_s: torch.Tensor,
    traits: str,
    masked_m: torch.Tensor | None = None,
    expected_m: int = 0,
) -> None:
    _launch_on_host(default_service(), input, output_q, output_s, traits, masked_m, expected_m, 0)


def _allocating_on_gpu(
    input: torch.Tensor, traits: str, masked_m: torch.Tensor | None = None, expected_m: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    output_q, output_s = empty_outputs(input, traits)
    _into_on_gpu(input, output_q, output_s, traits, masked_m, expected_m)
    return output_q, output_s


def _allocating_on_host(
    input: torch.Tensor, traits: str, masked_m: torch.Tensor | None = None, expected_m: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    output_q, output_s = empty_outputs(input, traits)
    _into_on_host(input, output_q, output_s, traits, masked_m, expected_m)
    return output_q, output_s


def _fake(input: torch.Tensor, traits: str, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return empty_outputs(input, traits)


def _fake_into(*_: Any, **__: Any) -> None:
    return None


def _register(schema: str) -> Any:
    name = schema.partition("(")[0]
    _library.define(schema, tags=_TAGS)
    into = name.endswith("_into")
    _library.impl(name, _into_on_gpu if into else _allocating_on_gpu, "CUDA")
    _library.impl(name, _into_on_host if into else _allocating_on_host, "CPU")
    torch.library.register_fake(f"quantjit::{name}", _fake_into if into else _fake, lib=_library)
    return getattr(torch.ops.quantjit, name).default


_MASK = "Tensor? masked_m=None, int expected_m=0"
_OUT = "Tensor input, Tensor(a!) output_q, Tensor(b!) output_s, str traits"

group_quant_into = _register(f"per_token_group_quant_into({_OUT}, {_MASK}) -> ()")
group_quant = _register(f"per_token_group_quant(Tensor input, str traits, {_MASK}) -> (Tensor, Tensor)")
token_quant_into = _register(f"per_token_quant_into({_OUT}) -> ()")
token_quant = _register("per_token_quant(Tensor input, str traits) -> (Tensor, Tensor)")


# ---- What quantjit.per_token_group_quant does with PyTorch tensors ----

# What PyTorch may have put between a call and its operation: modes, transforms, tracers, profilers. Those see operations
# only through the dispatcher. Without this PyTorch's internals every call goes that way.
try:
    _is_compiling = torch.compiler.is_compiling
    _modes, _function_modes = torch._C._len_torch_dispatch_stack, torch._C._is_torch_function_mode_enabled
    _transforms, _tracer = torch._C._functorch.peek_interpreter_stack, torch._C._get_tracing_state
    _profiler = torch._C._autograd._profiler_enabled
except AttributeError:

    def _is_compiling() -> bool:
        return True


def _is_plain(input: torch.Tensor) -> bool:
    """Whether a call is nothing but itself: then it launches at once, which saves the dispatcher's 2 to 4 us."""
    if _is_compiling() or type(input) is not torch.Tensor or not input.is_cuda or input.requires_grad:
        return False
    return not (_modes() or _function_modes() or _transforms() or _tracer() or _profiler())


def describe(
    op: str,
    traits: str | None,
    keys: dict[str, object],
    dtype: torch.dtype,
    out_dtype: torch.dtype | None,
    schedule: str | None,
) -> str:
    """The descriptor of a call, with what it leaves out taken from the tensors. Plain string work, which traces."""
    text = traits or op
    if keys:
        stated = traits_module.compose(op, **keys)
        text = text + (stated.replace(f"{op}:", ",", 1) if ":" in text else stated[len(op) :])
    out = None if out_dtype is None else _TRAIT_WORDS.get(out_dtype)
    return traits_module.completed(op, text, in_=_TRAIT_WORDS.get(dtype), out=out, schedule=schedule)


def quantize(
    op: str,
    input: torch.Tensor,
    text: str,
    outputs: tuple[torch.Tensor, torch.Tensor] | None = None,
    masked_m: torch.Tensor | None = None,
    expected_m: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """An operation on PyTorch tensors, into given outputs or into what it allocates."""
    if _is_plain(input):
        if outputs is None:
            outputs = empty_outputs(input, text)
        _launch_on_gpu(default_service(), input, *outputs, text, masked_m, expected_m, None)
        return outputs
    if op == traits_module.TOKEN_QUANT:
        if outputs is None:
            return token_quant(input, text)
        token_quant_into(input, *outputs, text)
    else:
        if outputs is None:
            return group_quant(input, text, masked_m, expected_m)
        group_quant_into(input, *outputs, text, masked_m, expected_m)
    return outputs


def run(
    op: str,
    input: torch.Tensor,
    traits: str | None,
    keys: dict[str, object],
    output_q: torch.Tensor | None,
    output_s: torch.Tensor | None,
    masked_m: torch.Tensor | None,
    expected_m: int,
    stream: int | None,
    service: Service | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`quantjit.per_token_group_quant` and `per_token_quant` on PyTorch tensors."""
    out = None if output_q is None else output_q.dtype
    schedule = None if masked_m is None else "masked"
    if _is_plain(input):
        service = service or default_service()
        device = input.get_device()
        if stream is None:
            stream = current_stream(device)
        call = (device, op, traits, traits_module.frozen(keys), input.dtype, out, schedule)
        text, launcher = service.calls.get(call) or _plan(service, call, stream)
        if output_q is None or output_s is None:
            output_q, output_s = empty_outputs(input, text)
        launcher(input, output_q, output_s, stream, masked_m, expected_m)
        return output_q, output_s
    text = describe(op, traits, keys, input.dtype, out, schedule)
    outputs = None if output_q is None or output_s is None else (output_q, output_s)
    if stream is None and service is None:
        return quantize(op, input, text, outputs, masked_m, expected_m)
    if outputs is None:
        outputs = empty_outputs(input, text)
    launch(input, *outputs, text, masked_m, expected_m, stream, service)  # which takes more than the operations do
    return outputs


def _plan(service: Service, call: tuple, stream: int) -> tuple[str, Launcher]:
    """What a plain call needs, made once and kept: its descriptor and its launcher."""
    kept = service.calls
    device, op, traits, keys, *rest = call
    text = describe(op, traits, traits_module.thawed(keys), *rest)
    planned = kept[call] = (text, service.launchers.get((text, device)) or _launcher(service, text, device, stream))
    return planned
