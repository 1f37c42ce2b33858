#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package on a GPU, with PyTorch: bits, torch.compile, CUDA graphs, streams, devices, and what a call costs.

usage: python_gpu.py [--out REPORT.json] [--only NAME ...], with PYTHONPATH=tools/python and QUANTJIT_LIBRARY set.

Prints a report; its last line is "N passed, N failed, N skipped". Exits 1 if anything failed.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "python"))

import checks  # noqa: E402
import graphs  # noqa: E402
import overhead  # noqa: E402
import torch  # noqa: E402

import quantjit  # noqa: E402

SKIPPED = checks.Skipped


def machine(service):
    device = service.device_info(0)
    return {
        "gpu": device["name"],
        "arch": device["arch"],
        "gpus": device["devices"],
        "driver": device["driver_version"],
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "quantjit": quantjit.version(),
        "library": quantjit.library_path(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, help="write the report as JSON")
    parser.add_argument("--only", nargs="*", default=[], help="names of the checks to run")
    options = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    results = []
    with tempfile.TemporaryDirectory(prefix="quantjit-python-") as folder:
        service = quantjit.Service(cache_dir=folder)
        quantjit.set_default_service(service)
        report = {"machine": machine(service), "checks": results}
        print(json.dumps(report["machine"], indent=1))
        for check in [*checks.ALL, *graphs.ALL, overhead.measure]:
            name = check.__name__
            if options.only and name not in options.only:
                continue
            begin = time.perf_counter()
            outcome, said = "passed", None
            try:
                said = check(service)
            except SKIPPED as reason:
                outcome, said = "skipped", str(reason)
            except Exception:
                outcome, said = "failed", traceback.format_exc()
            counts[outcome] += 1
            seconds = round(time.perf_counter() - begin, 2)
            results.append({"check": name, "outcome": outcome, "seconds": seconds, "said": said})
            print(
                f"{outcome:8}{seconds:7.2f} s  {name}: {said if isinstance(said, str) else json.dumps(said)}",
                flush=True,
            )
        report["stats"] = service.stats()
        if options.out:
            options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(", ".join(f"{number} {word}" for word, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
