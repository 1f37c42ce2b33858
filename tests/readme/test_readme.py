#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what README.md shows.

usage: test_readme.py commands|example, with SOURCE_DIR, BUILD_DIR, WORK_DIR and CXX_COMPILER in the environment.

Command blocks open with ```sh; those marked ```sh setup or ```sh gpu are not run here. They run in order, in a folder
that looks like the repository after tools/quickstart. The first ```cpp block is built and run.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["BUILD_DIR"])
WORK = pathlib.Path(os.environ["WORK_DIR"]) / sys.argv[1]
README = SOURCE / "README.md"


def blocks(info):
    """(line number, text) of each fenced block with exactly this info string."""
    text = README.read_text()
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if found.group(1).strip() == info:
            yield text.count("\n", 0, found.start()) + 2, found.group(2)


def environment():
    # The caller's settings and cache stay out of it.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUANTJIT_")}
    return {**kept, "HOME": str(WORK), "XDG_CACHE_HOME": str(WORK / "cache")}


def prepare():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True, mode=0o700)
    (WORK / "build").symlink_to(BUILD)
    for name in ("tests", "kernels", "tools"):
        (WORK / name).symlink_to(SOURCE / name)


def commands():
    prepare()
    script = "set -euo pipefail\n"
    found = list(blocks("sh"))
    assert len(found) >= 4, f"only {len(found)} command blocks were found"
    for start, text in found:
        for number, line in enumerate(text.splitlines(), start):
            if line.strip():
                script += f"echo '+ README.md:{number}'; {line}\n"
    result = subprocess.run(
        ["bash", "-c", script], cwd=WORK, env=environment(), text=True, check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    print(result.stdout)
    assert result.returncode == 0, f"a command gave {result.returncode}; the last one above is it"
    for path in ("kernel.cubin", "kernel.ptx", "out"):
        assert (WORK / path).exists(), f"no command left {path}"


def example():
    prepare()
    _, text = next(blocks("cpp"))
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 12, f"the example has {len(lines)} lines"
    (WORK / "example.cpp").write_text(text)
    library = BUILD / "lib"
    subprocess.run(
        [os.environ["CXX_COMPILER"], "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", SOURCE / "include", "example.cpp",
         "-o", "example", "-L", library, f"-Wl,-rpath,{library}", "-lquantjit"],
        cwd=WORK, check=True,
    )  # fmt: skip
    settings = environment()
    simulated = os.environ.get("SIMULATED_DEVICE")
    if not pathlib.Path("/dev/nvidia0").exists() and simulated:
        settings["QUANTJIT_CUDA_DRIVER"] = simulated
    result = subprocess.run([WORK / "example"], cwd=WORK, env=settings, text=True, check=False, capture_output=True)
    assert result.returncode == 0, f"the example gave {result.returncode}:\n{result.stdout}{result.stderr}"
    # 16 rows of 7168 one-byte codes; 56 groups a row make 14 words of four exponents.
    expected = f"{16 * 7168} bytes of codes, {16 * 14 * 4} bytes of scales\n"
    assert result.stdout == expected, f"the example printed {result.stdout!r}, expected {expected!r}"


if __name__ == "__main__":
    {"commands": commands, "example": example}[sys.argv[1]]()
