# SPDX-License-Identifier: Apache-2.0
"""The operations on any tensors: PyTorch's, NumPy's, and whatever has `__dlpack__`.

Launches are asynchronous on a GPU: memory must stay valid until the stream has passed the launch. NumPy arrays and
other tensors in host memory are device memory on the simulated device, where these calls wait; a GPU refuses them.
"""

from __future__ import annotations

import functools
from ctypes import byref, pointer, sizeof
from typing import Any

from quantjit import _abi, _simulated
from quantjit import traits as traits_module
from quantjit._dlpack import View, is_torch, view_of
from quantjit._kernel import Kernel
from quantjit._library import as_text, library, text_argument
from quantjit.errors import refuse
from quantjit.service import Service, default_service
from quantjit.traits import GROUP_QUANT, TOKEN_QUANT

_HOST_RULE = "a GPU's kernel takes GPU memory; host memory is the simulated device's, see QUANTJIT_CUDA_DRIVER"


def per_token_group_quant(
    input: Any,
    traits: str | None = None,
    *,
    output_q: Any = None,
    output_s: Any = None,
    masked_m: Any = None,
    expected_m: int = 0,
    stream: int | None = None,
    service: Service | None = None,
    **keys: object,
) -> tuple[Any, Any]:
    """Quantizes groups of consecutive elements of a row, each with its own scale. Returns (codes, scales).

    Args:
        input: [T, H], [T, 2H] with silu; with schedule=masked [E, T, H] or [E, T, 2H]. Last stride 1, rows aligned to
            16 bytes.
        traits: a descriptor; what it leaves out is taken from `keys`, then from the tensors (`in`, `out`, `schedule`),
            then its default.
        output_q, output_s: where to write, both or none. What belongs to an input is allocated: codes contiguous, row
            scales contiguous, column scales with token stride 1 and a group stride of T rounded up to 4.
        masked_m: [E] int32 or int64: live rows an expert.
        expected_m: hint of live rows an expert, 0 is unknown; never changes results.
        stream: CUstream or cudaStream_t as a number; None is PyTorch's current stream for its tensors, and else the
            default stream.
        service: None is `default_service()`.
        keys: keys of the descriptor, `group=64, scale="ue8m0"`.

    Raises: InvalidArgument, and what `Service.get` raises.
    """
    _require_both(output_q, output_s)
    if is_torch(input):
        run = _run_torch or _import_torch()
        return run(GROUP_QUANT, input, traits, keys, output_q, output_s, masked_m, expected_m, stream, service)
    schedule = "masked" if masked_m is not None else None
    named = {"input": input, "output_q": output_q, "output_s": output_s, "masked_m": masked_m}
    return _run(GROUP_QUANT, traits, keys, schedule, named, expected_m, stream, service)


def per_token_quant(
    input: Any,
    traits: str | None = None,
    *,
    output_q: Any = None,
    output_s: Any = None,
    stream: int | None = None,
    service: Service | None = None,
    **keys: object,
) -> tuple[Any, Any]:
    """Quantizes each row with one scale. Returns (codes [T, H], scales [T, 1]).

    `input` is [T, H], contiguous, with H divisible by 4. `output_q` and `output_s` may have more rows, which keep their
    contents. The rest is as in `per_token_group_quant`.
    """
    _require_both(output_q, output_s)
    if is_torch(input):
        run = _run_torch or _import_torch()
        return run(TOKEN_QUANT, input, traits, keys, output_q, output_s, None, 0, stream, service)
    named = {"input": input, "output_q": output_q, "output_s": output_s}
    return _run(TOKEN_QUANT, traits, keys, None, named, 0, stream, service)


def _require_both(output_q: Any, output_s: Any) -> None:
    if (output_q is None) != (output_s is None):
        raise refuse("output_q and output_s", "one of them", "both are given or none")


def _run(
    op: str,
    traits: str | None,
    keys: dict[str, object],
    schedule: str | None,
    named: dict[str, Any],
    expected_m: int,
    stream: int | None,
    service: Service | None,
) -> tuple[Any, Any]:
    service = service or default_service()
    views = {"input": view_of(named["input"], "input", stream=stream or 0)}
    try:
        for name in ("output_q", "output_s", "masked_m"):
            if named.get(name) is not None:
                views[name] = view_of(named[name], name, writable=name != "masked_m", stream=stream or 0)
        text = describe(op, traits, keys, views["input"], views.get("output_q"), schedule)
        outputs = (named["output_q"], named["output_s"])
        if outputs[0] is None:
            outputs = allocate(text, views["input"])
            views["output_q"] = view_of(outputs[0], "output_q")
            views["output_s"] = view_of(outputs[1], "output_s")
        launch(service, text, views, expected_m, stream or 0)
    finally:
        for view in views.values():
            view.release()
    return outputs


_run_torch: Any = None  # torch_ops.run, once there was a PyTorch tensor: even a repeated import costs half a launch


def _import_torch() -> Any:
    global _run_torch
    from quantjit import torch_ops

    _run_torch = torch_ops.run
    return _run_torch


def describe(
    op: str, traits: str | None, keys: dict[str, object], input: View, output_q: View | None, schedule: str | None
) -> str:
    """The canonical descriptor of a call."""
    out = None if output_q is None else output_q.trait_dtype
    return _described(op, traits or "", traits_module.frozen(keys), input.trait_dtype, out, schedule)


@functools.lru_cache(maxsize=4096)
def _described(
    op: str, traits: str, keys: traits_module.FrozenKeys, dtype: str | None, out: str | None, schedule: str | None
) -> str:
    stated = traits_module.compose(op, **traits_module.thawed(keys))
    if traits:
        given = traits_module.completed(op, traits)
        for key, value, _ in keys:
            if traits_module.has_key(given, key.rstrip("_")):
                raise refuse(key, value, "the descriptor text states it already")
        stated = given + stated[len(op) :].replace(":", "," if ":" in given else ":", 1)
    return traits_module.canonical(traits_module.completed(op, stated, in_=dtype, out=out, schedule=schedule))


# ---- Launching ----


def kernel_for(service: Service, traits: str, device: int, stream: int) -> Kernel:
    """The kernel of a launch, kept by the service. `device` -1: of the stream, or of the current context."""
    kept = service.kernels
    kernel = kept.get((traits, device)) if device >= 0 else None
    if kernel is None:
        kernel = service.get(traits, None if device < 0 else device, stream)
        kept[(traits, kernel.device)] = kernel
    return kernel


def launch(service: Service, traits: str, views: dict[str, View], expected_m: int, stream: int) -> None:
    """Launches on tensors that exist, wherever they are. On host memory it waits."""
    on_host = any(view.on_host for view in views.values())
    if on_host:
        require_simulated(service)
    given = views["input"].tensor.device
    device = given.device_id if given.device_type == _abi.DEVICE_CUDA else -1
    kernel = kernel_for(service, traits, device, stream)
    call(kernel, {name: view.tensor for name, view in views.items()}, expected_m, stream)
    if on_host:
        _simulated.synchronize(service.cuda_driver, kernel.device, stream)


def call(kernel: Kernel, tensors: dict[str, _abi.DLTensor], expected_m: int, stream: int) -> None:
    """The C ABI's launch of whatever operation the kernel is of."""
    operands = _operands(tensors, expected_m)
    opened = library()
    opened.check(opened.qj_kernel_launch(kernel.handle, byref(operands), stream))


def _operands(tensors: dict[str, _abi.DLTensor], expected_m: int) -> _abi.Operands:
    operands = _abi.Operands(struct_size=sizeof(_abi.Operands), expected_m=expected_m)
    for name, tensor in tensors.items():
        setattr(operands, name, pointer(tensor))
    return operands


def require_simulated(service: Service) -> None:
    """Raises InvalidArgument unless the service's device is simulated, and takes host memory."""
    if not service.is_simulated:
        raise refuse("input.device", "host memory", _HOST_RULE)


# ---- Outputs ----


def output_specs(traits: str, input: View) -> tuple[_abi.TensorSpec, _abi.TensorSpec]:
    """Codes and scales that belong to an input, as the originals allocate them."""
    specs = tuple(_abi.TensorSpec(struct_size=sizeof(_abi.TensorSpec)) for _ in range(2))
    opened = library()
    opened.check(opened.qj_output_specs(*text_argument(traits), byref(input.tensor), byref(specs[0]), byref(specs[1])))
    return specs[0], specs[1]


def allocate(traits: str, input: View) -> tuple[Any, Any]:
    """Outputs in host memory, as NumPy arrays."""
    if not input.on_host:
        raise refuse(
            "output_q",
            "None",
            "outputs are allocated for PyTorch tensors and in host memory; give them for other tensors",
        )
    from quantjit import numpy_arrays

    return tuple(numpy_arrays.empty(spec) for spec in output_specs(traits, input))  # type: ignore[return-value]


# ---- The CPU reference ----


def reference(
    input: Any,
    traits: str | None = None,
    *,
    arch: str,
    op: str = GROUP_QUANT,
    output_q: Any = None,
    output_s: Any = None,
    masked_m: Any = None,
    math: str = "auto",
    sm_count: int = 132,
    **keys: object,
) -> tuple[Any, Any]:
    """An operation on the CPU, in host memory: exactly the bytes that the kernel writes. Slow; needs no GPU.

    Args:
        arch: the target whose bits are wanted, e.g. "sm_90a".
        op: the operation, where `traits` does not tell it.
        math: "auto", "fast" or "precise"; sm_count: multiprocessors, read with zero_rows=legacy.
    """
    op = traits.partition(":")[0] if traits else op
    named = {"input": input, "output_q": output_q, "output_s": output_s, "masked_m": masked_m}
    views = {
        name: view_of(value, name, writable=name.startswith("output"))
        for name, value in named.items()
        if value is not None
    }
    schedule = "masked" if masked_m is not None else None
    text = describe(op, traits, keys, views["input"], views.get("output_q"), schedule)
    outputs = (output_q, output_s)
    if output_q is None:
        outputs = allocate(text, views["input"])
        views["output_q"], views["output_s"] = view_of(outputs[0], "output_q"), view_of(outputs[1], "output_s")
    modes = ("auto", "fast", "precise")
    if math not in modes:
        raise refuse("math", math, f"it must be one of {', '.join(modes)}")
    target = _abi.ReferenceTarget(
        struct_size=sizeof(_abi.ReferenceTarget), arch=as_text(arch), math=modes.index(math), sm_count=sm_count
    )
    operands = _operands({name: view.tensor for name, view in views.items()}, 0)
    opened = library()
    opened.check(opened.qj_reference(*text_argument(text), byref(target), byref(operands)))
    return outputs
