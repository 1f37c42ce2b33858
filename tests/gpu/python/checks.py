# SPDX-License-Identifier: Apache-2.0
"""What python_gpu.py checks, one function each. A check returns what it has to say, or raises."""

import os
import pathlib
import shutil
import sys
import tempfile
import threading

import numpy as np
import quantjit
import torch
from quantjit import torch_ops

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python" / "tests"))
os.environ.setdefault("SOURCE_DIR", str(ROOT))

COLUMN = "per_token_group_quant:scale=ue8m0,layout=col"
KEYS = [
    {},
    {"scale": "ue8m0", "layout": "col"},
    {"group": 64, "layout": "col", "out": "int8"},
    {"numerics": "vllm", "scale": "ue8m0", "layout": "col"},
    {"numerics": "exact", "silu": True},
]


class Skipped(Exception):
    """Why a check cannot be made here."""


def random(*shape, dtype=torch.bfloat16, device="cuda", seed=3):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(shape, generator=generator, device=device) * 3).to(dtype)


def raw(tensor):
    """A tensor's elements as bytes, in order."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tobytes()


def raws(tensors):
    return [raw(tensor) for tensor in tensors]


def require(holds, text):
    if not holds:
        raise AssertionError(text)


def to_gpu(array):
    """A NumPy array, of an ml_dtypes type perhaps, on the GPU."""
    named = getattr(torch, array.dtype.name)
    return torch.from_numpy(array.view(np.uint8).reshape(-1).copy()).cuda().view(named).reshape(array.shape)


# ---- Bits ----


def golden(service):
    """Recorded bytes, through PyTorch tensors."""
    import golden as recorded

    cases = list(recorded.selected(400_000, silu=True, per_kind=6))
    for case in cases:
        codes, _, storage = recorded.make_outputs(case)
        q, kept = to_gpu(codes), torch.from_numpy(storage.view(np.int32)).cuda()
        s = kept if case.layout.startswith("ue8m0") else kept.view(torch.float32)
        if case.layout.endswith("col"):
            s = s.transpose(-1, -2)[..., : case.tokens, :]
        x = to_gpu(recorded.make_input(case))
        mask = recorded.make_mask(case)
        if case.per_token:
            quantjit.per_token_quant(x, case.traits, output_q=q, output_s=s)
        else:
            masked_m = None if mask is None else torch.from_numpy(mask).cuda()
            quantjit.per_token_group_quant(x, case.traits, output_q=q, output_s=s, masked_m=masked_m)
        require(recorded.sha256(np.frombuffer(raw(q), np.uint8)) == case.q_sha256, f"codes of {case.name}")
        require(recorded.sha256(np.frombuffer(raw(kept), np.uint8)) == case.s_sha256, f"scales of {case.name}")
    return {"cases": len(cases), "elements": sum(case.elements for case in cases)}


def reference(service):
    """Allocated outputs against the CPU reference."""
    arch, sms = service.device_info(0)["arch"], service.device_info(0)["sm_count"]
    for keys in KEYS:
        if keys.get("silu") and keys["numerics"] != "exact":
            continue
        x = random(37, 1280)
        found = quantjit.per_token_group_quant(x, **keys)
        host = x.cpu()
        wanted = torch_ops.empty_outputs(
            host, torch_ops.describe("per_token_group_quant", None, keys, host.dtype, None, None)
        )
        quantjit.reference(host, arch=arch, sm_count=sms, output_q=wanted[0], output_s=wanted[1], **keys)
        require(raws(found) == raws(wanted), f"{keys}")
        require(found[1].stride() == wanted[1].stride(), f"strides of {keys}")
    return {"descriptors": len(KEYS)}


# ---- Streams, devices, threads ----


def streams(service):
    """Launches go to PyTorch's current stream."""
    x = random(64, 1024)
    wanted = raws(torch_ops.group_quant(x, COLUMN))
    codes, scales = torch_ops.empty_outputs(x, COLUMN)
    codes.view(torch.uint8).fill_(0xA5)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(500_000_000)  # a quarter of a second
        torch_ops.group_quant_into(x, codes, scales, COLUMN)
    with torch.cuda.stream(torch.cuda.Stream()):
        early = raw(codes)
    require(not side.query(), "the side stream did not wait long enough to tell")
    require(early == b"\xa5" * len(early), "the launch did not wait for its stream")
    side.synchronize()
    require(raws((codes, scales)) == wanted, "other bytes")
    explicit = quantjit.per_token_group_quant(x, COLUMN, stream=side.cuda_stream)
    side.synchronize()
    require(raws(explicit) == wanted, "an explicit stream")
    return "current and explicit streams"


def devices(service):
    """Tensors say which device; the current device does not matter."""
    if torch.cuda.device_count() < 2:
        raise Skipped("there is one GPU")
    x = [random(16, 1024, device=f"cuda:{device}", seed=device) for device in range(2)]
    wanted = [raws(quantjit.per_token_group_quant(tensor.to("cuda:0"), COLUMN)) for tensor in x]
    for current in range(2):
        with torch.cuda.device(current):
            for device in range(2):
                found = quantjit.per_token_group_quant(x[device], COLUMN)
                require(found[0].device.index == found[1].device.index == device, "device of the outputs")
                with torch.cuda.device(device):
                    require(raws(found) == wanted[device], f"device {device} with {current} current")
            require(torch.cuda.current_device() == current, "the current device changed")
    codes, scales = torch_ops.empty_outputs(x[0], COLUMN)
    for arguments in ((x[1], codes, scales), (x[0], codes.to("cuda:1"), scales)):
        try:
            torch_ops.group_quant_into(*arguments, COLUMN)
        except (quantjit.InvalidArgument, RuntimeError) as error:
            require("device" in str(error), str(error))
        else:
            raise AssertionError("tensors of two devices were taken")
    return f"{torch.cuda.device_count()} GPUs"


def threads(service):
    """Eight threads on streams of their own."""
    inputs = [random(8 + i, 1024, seed=i) for i in range(8)]
    wanted = [raws(quantjit.per_token_group_quant(x, COLUMN)) for x in inputs]
    failures = []

    def work(i):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(200):
                    found = torch_ops.group_quant(inputs[i], COLUMN)
                torch.cuda.current_stream().synchronize()
                require(raws(found) == wanted[i], f"thread {i}")
        except Exception as error:
            failures.append(repr(error))

    torch.cuda.synchronize()
    running = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    require(not failures, str(failures))
    return "8 threads, 200 calls each"


# ---- Ways to the launch ----


def watched(service):
    """A call goes straight to the launch, but whoever watches operations (a mode, a profiler, a tracer) sees it."""
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._python_dispatch import TorchDispatchMode

    x = random(8, 512)
    codes, scales = torch_ops.empty_outputs(x, COLUMN)
    wanted = raws(torch_ops.group_quant(x, COLUMN))
    seen = []

    class Watcher(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    def call(x, codes, scales):
        quantjit.per_token_group_quant(x, COLUMN, output_q=codes, output_s=scales)
        return codes

    with Watcher():
        call(x, codes, scales)
    require("quantjit.per_token_group_quant_into.default" in seen, f"a mode saw {seen}")
    with torch.profiler.profile() as profile:
        call(x, codes, scales)
    names = [event.key for event in profile.key_averages()]
    require("quantjit::per_token_group_quant_into" in names, f"the profiler saw {names}")
    traced = make_fx(call)(x, codes, scales)
    require("per_token_group_quant_into" in traced.code, traced.code)
    seen.clear()
    codes.view(torch.uint8).fill_(0)
    call(x, codes, scales)
    require(not seen and torch_ops._is_plain(x), "a plain call went through the dispatcher")
    require(raws((codes, scales)) == wanted, "other bytes")
    return "dispatch mode, profiler and make_fx"


# ---- What is refused, what is in the process ----


def refused(service):
    """Host memory and wrong tensors raise InvalidArgument, which is a ValueError."""
    x = random(8, 512)
    codes, scales = torch_ops.empty_outputs(x, COLUMN)
    wrong = {
        "host memory": lambda: quantjit.per_token_group_quant(x.cpu(), COLUMN),
        "a NumPy array": lambda: quantjit.per_token_group_quant(np.zeros((8, 512), np.float32)),
        "an output on the host": lambda: quantjit.per_token_group_quant(
            x, COLUMN, output_q=codes.cpu(), output_s=scales
        ),
        "a wrong shape": lambda: quantjit.per_token_group_quant(x[:, :500], COLUMN),
        "a wrong type": lambda: quantjit.per_token_group_quant(x.double(), COLUMN),
        "misaligned rows": lambda: quantjit.per_token_group_quant(random(8, 513)[:, 1:], COLUMN),
    }
    for name, call in wrong.items():
        try:
            call()
        except quantjit.InvalidArgument:
            continue
        raise AssertionError(f"{name} was taken")
    torch.cuda.synchronize()
    return {"refused": list(wrong)}


def one_process(service):
    """PyTorch and the library in one process, whatever each carries."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    loaded = sorted({pathlib.Path(line.split()[-1]).name for line in maps.splitlines() if ".so" in line})
    wanted = ("libtorch_cuda", "libc10", "libquantjit", "libnvrtc.", "libcudart", "libcuda.")
    found = [name for name in loaded if name.startswith(wanted)]
    require(any(name.startswith("libquantjit") for name in found), "the library is not loaded")
    require(torch.randn(512, 512, device="cuda").mm(torch.randn(512, 512, device="cuda")).isfinite().all().item(), "mm")
    return {"loaded": found}


def reload_sources(service):
    """Editing a kernel changes the next result of this process, after reload_sources()."""
    x = torch.zeros((2, 128), dtype=torch.bfloat16, device="cuda")
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "kernels"
        shutil.copytree(ROOT / "kernels", folder)
        with quantjit.Service(memory_only=True, kernel_dir=folder) as own:

            def scale():
                return quantjit.per_token_group_quant(x, numerics="exact", service=own)[1][0, 0].item()

            before = scale()
            file = folder / "device" / "scale.cuh"
            file.write_text(file.read_text().replace("kAmaxFloor = 1e-10F", "kAmaxFloor = 448.0F"))
            require(scale() == before, "it changed before it was told")
            own.reload_sources()
            after = scale()
            require(before < 1e-12 and after == 1, "it did not change")
    return {"before": before, "after": after}


def foreign(service):
    """CuPy's arrays, by __dlpack__."""
    try:
        import cupy
    except ImportError:
        raise Skipped("CuPy is not installed") from None
    x = random(8, 512)
    wanted = quantjit.per_token_group_quant(x.float(), group=64)
    given = cupy.from_dlpack(x.float())
    codes, scales = torch.zeros_like(wanted[0]), cupy.zeros((8, 8), cupy.float32)
    torch.cuda.synchronize()
    quantjit.per_token_group_quant(given, group=64, output_q=codes, output_s=scales)
    torch.cuda.synchronize()
    require(raw(codes) == raw(wanted[0]) and scales.tobytes() == raw(wanted[1]), "other bytes")
    return "CuPy in and out"


BITS = [golden, reference, reload_sources]
SURROUNDINGS = [streams, devices, threads, watched, refused, foreign, one_process]
ALL = [*BITS, *SURROUNDINGS]
