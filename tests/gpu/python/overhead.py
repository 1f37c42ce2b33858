# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs on the host, beside the same launch from C, and beside a bare Triton launch.

Every figure is the median over batches of the wall time of one call: a batch is launched without waiting (fewer calls
than a stream queues, so that the GPU never holds the host up) and synchronized outside of the timed part. All series
take turns in the same process, on the same stream and tensors. The overhead of a form is its figure less the C loop's.
"""

import ctypes
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import quantjit
import torch
from quantjit import _abi, ops, torch_ops
from quantjit._dlpack import view_of
from quantjit.compat import sglang

BATCHES, CALLS = 60, 200
TEXT = "per_token_group_quant:in=bf16,out=e4m3,scale=ue8m0,layout=col,numerics=sglang"
LIMIT_US = 6.0  # what a call with given outputs may cost over the C ABI; reported, for a time is no test

HERE = pathlib.Path(__file__).resolve().parent


def launch_loop_library():
    """The C loop that the build makes, or made here from its source."""
    built = pathlib.Path(os.environ.get("QUANTJIT_LIBRARY", "/")).resolve().parent / "libgpu_launch_loop.so"
    if built.exists():
        return ctypes.CDLL(str(built))
    folder = tempfile.mkdtemp(prefix="quantjit-loop-")
    made = os.path.join(folder, "libgpu_launch_loop.so")
    root = HERE.parents[2]
    subprocess.run(
        [
            "cc",
            "-std=c11",
            "-O2",
            "-shared",
            "-fPIC",
            "-I",
            root / "include",
            root / "tests/gpu/launch_loop.c",
            "-o",
            made,
        ],
        check=True,
    )
    return ctypes.CDLL(made)


def c_loop(kernel, tensors, stream):
    """A function that runs one batch in C and gives its seconds."""
    views = {name: view_of(tensor, name) for name, tensor in tensors.items()}
    operands = ops._operands({name: view.tensor for name, view in views.items()}, 0)
    function = launch_loop_library().launch_loop
    function.argtypes = (
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    )  # fmt: skip
    launch = ctypes.cast(quantjit._library.library().dll["qj_kernel_launch"], ctypes.c_void_p)

    def run():
        seconds = ctypes.c_double()
        status = function(launch, kernel.handle, ctypes.addressof(operands), stream, CALLS, ctypes.addressof(seconds))
        if status != _abi.STATUS_OK:
            raise quantjit._library.library().error(status)
        return seconds.value

    run.kept = views
    return run


def python_loop(call):
    """A function that runs one batch of a call and gives its seconds."""

    def run():
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        return time.perf_counter() - begin

    return run


def triton_call(x):
    """A bare launch of a small Triton kernel, or None."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def add_one(pointer, count, block: tl.constexpr):
        index = tl.program_id(0) * block + tl.arange(0, block)
        value = tl.load(pointer + index, mask=index < count)
        tl.store(pointer + index, value + 1, mask=index < count)

    count = x.numel()
    return lambda: add_one[(8,)](x, count, block=1024)


def nothing_operation():
    """An operation of the same schema that does nothing: PyTorch's part."""
    library = torch.library.Library("quantjit_measure", "DEF")
    library.define("nothing(Tensor a, Tensor(a!) b, Tensor(b!) c, str d, Tensor? e=None, int f=0) -> ()")
    library.impl("nothing", lambda a, b, c, d, e=None, f=0: None, "CUDA")
    return library, torch.ops.quantjit_measure.nothing.default


def measure(service):
    """Host time of a call in microseconds, and the overhead over the C ABI's launch."""
    torch.manual_seed(1)
    x = torch.randn((4, 2048), device="cuda").to(torch.bfloat16)
    codes, scales = torch_ops.empty_outputs(x, TEXT)
    mutable = torch.zeros(8192, device="cuda")
    library, nothing = nothing_operation()
    torch_ops.group_quant_into(x, codes, scales, TEXT)
    stream = torch.cuda.current_stream().cuda_stream
    kernel = service.get(TEXT, x.get_device(), stream)
    into = torch_ops.group_quant_into
    series = {
        "c_abi": c_loop(kernel, {"input": x, "output_q": codes, "output_s": scales}, stream),
        "torch_op": python_loop(lambda: into(x, codes, scales, TEXT)),
        "torch_ops_launch": python_loop(lambda: torch_ops.launch(x, codes, scales, TEXT)),
        "sglang_adapter": python_loop(
            lambda: sglang.per_token_group_quant(x, codes, scales, 128, True, column_major_scales=True)
        ),
        "public_function": python_loop(
            lambda: quantjit.per_token_group_quant(x, TEXT, output_q=codes, output_s=scales)
        ),
        "torch_op_allocating": python_loop(lambda: torch_ops.group_quant(x, TEXT)),
        "torch_op_of_nothing": python_loop(lambda: nothing(x, codes, scales, TEXT)),
        "empty_python_call": python_loop(lambda: None),
    }
    triton_launch = triton_call(mutable)
    if triton_launch is not None:
        series["triton_launch"] = python_loop(triton_launch)
    for run in series.values():
        run()
        torch.cuda.synchronize()
    times = {name: [] for name in series}
    for _ in range(BATCHES):
        for name, run in series.items():
            times[name].append(run() / CALLS * 1e6)
            torch.cuda.synchronize()
    us = {name: round(statistics.median(found), 3) for name, found in times.items()}
    floor = {name: round(min(found), 3) for name, found in times.items()}
    overhead = {name: round(us[name] - us["c_abi"], 3) for name in ("torch_op", "torch_ops_launch", "sglang_adapter",
                                                                     "public_function")}  # fmt: skip
    del library
    return {
        "us_median": us, "us_min": floor, "overhead_us": overhead, "limit_us": LIMIT_US,
        "within_limit": {name: found <= LIMIT_US for name, found in overhead.items()}, "batches": BATCHES, "calls": CALLS,
    }  # fmt: skip
