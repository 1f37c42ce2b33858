#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times cold compiles, each in a process of its own, beside an empty kernel through the same NVRTC.

usage: tests/gpu/compile_cost.py QUANTJIT [ROUNDS]

The empty kernel is `__global__ void empty() {}` with no option but the target. Writes one JSON object: the milliseconds
are medians over the rounds, which alternate between the two; the ratios are theirs. Needs no GPU.
"""

import json
import os
import statistics
import subprocess
import sys

CASES = [  # descriptor, target
    ("per_token_group_quant", "sm_90a"),
    ("per_token_group_quant:scale=ue8m0,layout=col", "sm_90a"),
    ("per_token_group_quant:scale=ue8m0,layout=col,silu=true", "sm_90a"),
    ("per_token_group_quant:scale=ue8m0,layout=col,schedule=masked", "sm_90a"),
    ("per_token_group_quant:scale=ue8m0,layout=col,silu=true,schedule=masked", "sm_90a"),
    ("per_token_group_quant:numerics=exact,silu=true", "sm_90a"),
    ("per_token_quant", "sm_90a"),
    ("per_token_quant:in=f32", "sm_90a"),
    ("per_token_group_quant:scale=ue8m0,layout=col", "sm_100a"),
    ("per_token_group_quant:scale=ue8m0,layout=col,silu=true", "sm_100a"),
    ("per_token_quant", "sm_100a"),
]
EMPTY = """
import ctypes, sys, time
nvrtc = ctypes.CDLL(sys.argv[1])
program, size = ctypes.c_void_p(), ctypes.c_size_t()
options = (ctypes.c_char_p * 1)(b"--gpu-architecture=" + sys.argv[2].encode())
start = time.perf_counter()
nvrtc.nvrtcCreateProgram(ctypes.byref(program), b"__global__ void empty() {}", b"empty.cu", 0, None, None)
assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
nvrtc.nvrtcGetCUBIN(program, ctypes.create_string_buffer(size.value))
print((time.perf_counter() - start) * 1000)
"""


def compile_descriptor(command, descriptor, arch):
    environment = dict(os.environ, QUANTJIT_CACHE_DIR=os.devnull, QUANTJIT_LOG_LEVEL="off")
    result = subprocess.run([command, "compile", descriptor, "--arch", arch, "--no-cache", "--json"], env=environment,
                            check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def empty_ms(library, arch):
    result = subprocess.run([sys.executable, "-c", EMPTY, library, arch], check=True, capture_output=True, text=True)
    return float(result.stdout)


def nvrtc_path(command):
    result = subprocess.run([command, "doctor", "--json"], capture_output=True, text=True)
    return json.loads(result.stdout)["nvrtc"]["path"]


def main():
    command = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    library = nvrtc_path(command)
    rows = []
    for descriptor, arch in CASES:
        real, empty, entries = [], [], 0
        for _ in range(rounds):
            document = compile_descriptor(command, descriptor, arch)
            real.append(document["compile_ms"])
            entries = len(document["entry_points"])
            empty.append(empty_ms(library, arch))
        rows.append({"traits": descriptor, "arch": arch, "entry_points": entries,
                     "compile_ms": round(statistics.median(real), 1), "empty_ms": round(statistics.median(empty), 1),
                     "ratio": round(statistics.median(real) / statistics.median(empty), 2)})
    json.dump({"rounds": rounds, "rows": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
