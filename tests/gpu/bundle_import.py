#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that a bundle made on a machine without a GPU serves one with a GPU and without a compiler.

usage: tests/gpu/bundle_import.py export QUANTJIT BUNDLE.qjb [KIND]    (cubin, or ptx for sim; needs NVRTC, no GPU)
       tests/gpu/bundle_import.py run QUANTJIT BUNDLE.qjb [DEVICE]     (gpu, or sim:sm_90a; needs no NVRTC)

`export` compiles the descriptors of the recorded cases for sm_90a into a cache of its own and exports it. `run` runs the
recorded cases three times, each in an empty home with QUANTJIT_JIT=off and no libnvrtc: from a cache root into which
the bundle was imported, from the bundle alone, and from the bundle below an empty root. It asks the dynamic loader which
libraries were opened. It writes one JSON object; exit status 1 if a case failed, was skipped, or libnvrtc was opened.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent.parent / "golden" / "h200_cases.jsonl"


def descriptor(case):
    """The descriptor text that a recorded case asks for."""
    math = "precise" if case["reference"] == "vllm_packed" else "fast"
    types = f"in={case['in_dtype']},out={case['out_dtype']},math={math}"
    if case["layout"] == "per_token":
        return f"per_token_quant:{types}"
    scale, layout = case["layout"].split("_")
    numerics = {"sglang_unified": "sglang", "sglang_v2_aot": "sglang_v2", "vllm_packed": "vllm"}[case["reference"]]
    fill = "zero" if numerics == "vllm" else "none"
    schedule = "flat" if case["experts"] is None else "masked"
    return (
        f"per_token_group_quant:{types},group={case['group']},scale={scale},layout={layout},"
        f"silu={str(case['silu']).lower()},schedule={schedule},numerics={numerics},fill={fill}"
    )


def environment(home, **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUANTJIT_")}
    return {**kept, "HOME": str(home), "QUANTJIT_LOG_LEVEL": "error", **settings}


def run(command, settings, check=True):
    return subprocess.run(command, env=settings, check=check, stdout=subprocess.PIPE, text=True)


def export(quantjit, bundle, kind):
    wanted = sorted({descriptor(json.loads(line)) for line in CASES.read_text().splitlines() if line})
    with tempfile.TemporaryDirectory() as home:
        settings = environment(home, QUANTJIT_CACHE_DIR=f"{home}/cache")
        for text in wanted:
            run([quantjit, "compile", text, "--arch", "sm_90a", "--emit", kind], settings)
        document = run([quantjit, "--json", "bundle", "export", "--out", bundle, "--all"], settings).stdout
    exported = json.loads(document)
    print(json.dumps({name: exported[name] for name in ("path", "entries", "bytes", "unpacked_bytes", "archs")}))
    return 0 if exported["entries"] == len(wanted) else 1


def serve(quantjit, home, device, roots):
    """Runs the recorded cases from these roots; returns what came of it."""
    loads = pathlib.Path(home) / "loads"
    loads.mkdir()
    settings = environment(home, QUANTJIT_CACHE_DIR=":".join(roots), QUANTJIT_JIT="off", QUANTJIT_NVRTC="/nonexistent",
                           LD_DEBUG="files", LD_DEBUG_OUTPUT=str(loads / "log"))  # fmt: skip
    result = run([quantjit, "golden", CASES, "--device", device], settings, check=False)
    counts = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped", result.stdout.splitlines()[-1])
    passed, failed, skipped = map(int, counts.groups())
    text = "".join(path.read_text(errors="replace") for path in loads.iterdir())
    opened = sorted(set(re.findall(r"file=(\S*(?:nvrtc|cuda)\S*) \[", text)))
    # That the driver library was seen shows that libnvrtc would have been.
    opened_well = any("cuda" in name for name in opened) and not any("nvrtc" in name for name in opened)
    good = result.returncode == 0 and passed > 0 and failed == skipped == 0 and opened_well
    if not good:
        print("\n".join(result.stdout.splitlines()[-5:]), file=sys.stderr)
    return {"passed": passed, "failed": failed, "skipped": skipped, "opened": opened, "good": good}


def show(quantjit, bundle, device):
    report = {"bundle": bundle, "device": device}
    with tempfile.TemporaryDirectory() as work:
        homes = {name: f"{work}/{name}" for name in ("imported", "in_place", "below_a_root")}
        for home in homes.values():
            os.mkdir(home, 0o700)
        root = f"{homes['imported']}/cache"
        imported = run([quantjit, "--json", "bundle", "import", bundle],
                       environment(homes["imported"], QUANTJIT_CACHE_DIR=root, QUANTJIT_JIT="off"))  # fmt: skip
        document = json.loads(imported.stdout)
        report["import"] = {name: document[name] for name in ("imported", "already_there", "failed")}
        # A bundle in place must be where nobody else writes, as roots must.
        private = f"{work}/kernels.qjb"
        pathlib.Path(private).write_bytes(pathlib.Path(bundle).read_bytes())
        os.chmod(private, 0o644)
        roots = {"imported": [root], "in_place": [private], "below_a_root": [f"{homes['below_a_root']}/cache", private]}
        for name, home in homes.items():
            report[name] = serve(quantjit, home, device, roots[name])
    print(json.dumps(report, indent=2))
    return 0 if all(report[name]["good"] for name in homes) else 1


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("export", "run"):
        print("\n".join(__doc__.splitlines()[2:4]), file=sys.stderr)
        return 2
    quantjit, bundle = (str(pathlib.Path(path).resolve()) for path in sys.argv[2:4])
    if sys.argv[1] == "export":
        return export(quantjit, bundle, *(sys.argv[4:] or ["cubin"]))
    return show(quantjit, bundle, *(sys.argv[4:] or ["gpu"]))


if __name__ == "__main__":
    sys.exit(main())
