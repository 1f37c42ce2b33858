#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `quantjit prewarm` on an empty cache with one and with several jobs, and of a model.

usage: tests/gpu/prewarm_scaling.py QUANTJIT [--jobs 1,2,4,16] [--count N] [--rounds N] [--model FILE] [--out FILE.json]

Prewarms the same COUNT (256) distinct descriptors for sm_90a into a fresh cache directory for each number of jobs, in
rounds that go through all numbers in turn; seconds are the medians of the command's wall time, speed-up is that of one
job over it. A second run on the last cache must compile nothing. Then the model: `prewarm --model` with tensor and
expert parallelism of 8 for sm_90a and sm_100a, its list and its time. Text goes to standard error, one JSON object to
standard output or FILE. Exits 1 if anything failed to compile or was compiled twice. Needs NVRTC, no GPU.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests" / "data" / "models" / "deepseek-v3.json"
ARCH = "sm_90a"


class Command:
    def __init__(self, path, work):
        self.path = path
        self.work = work
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("QUANTJIT_")}
        self.caches = 0

    def fresh_cache(self):
        self.caches += 1
        cache = self.work / f"cache-{self.caches}"
        cache.mkdir(mode=0o700)
        return cache

    def run(self, *arguments, cache):
        """The JSON document, with the wall time of the process as `wall_s`."""
        start = time.perf_counter()
        result = subprocess.run(
            [self.path, *arguments, "--json"], env=dict(self.environment, QUANTJIT_CACHE_DIR=str(cache)),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        if result.returncode != 0:
            raise SystemExit(f"quantjit {arguments[0]} failed: {result.stderr.strip()[-2000:]}")
        document = json.loads(result.stdout)
        document["wall_s"] = seconds
        return document


def say(text):
    print(text, file=sys.stderr, flush=True)


def pick(command, count):
    """COUNT descriptors spread over all that there are."""
    listed = subprocess.run([command.path, "traits", "--enumerate"], capture_output=True, text=True, check=True).stdout
    texts = listed.split()
    return [texts[i * len(texts) // count] for i in range(count)]


def write_manifest(path, texts):
    items = [{"traits": text, "archs": [ARCH]} for text in texts]
    path.write_text(json.dumps({"quantjit_manifest": 1, "items": items}))
    return str(path)


def check(document, requested, compiled, problems, what):
    found = (document["requested"], document["compiled"], len(document["failed"]))
    if found != (requested, compiled, 0):
        problems.append(f"{what}: (requested, compiled, failed) are {found}, not {(requested, compiled, 0)}")


def scale(command, manifest, count, jobs, rounds, problems):
    seconds = {number: [] for number in jobs}
    cache = None
    for _ in range(rounds):
        for number in jobs:
            cache = command.fresh_cache()
            document = command.run("prewarm", "--manifest", manifest, "-j", str(number), cache=cache)
            check(document, count, count, problems, f"-j {number}")
            seconds[number].append(document["wall_s"])
    again = command.run("prewarm", "--manifest", manifest, cache=cache)
    check(again, count, 0, problems, "the second run")
    medians = {number: statistics.median(seconds[number]) for number in jobs}
    base = medians[jobs[0]]
    rows = [
        {"jobs": number, "seconds": round(medians[number], 3), "speedup": round(base / medians[number], 3)}
        for number in jobs
    ]
    for row in rows:
        say(f"{count} descriptors, -j {row['jobs']}: {row['seconds']:.2f} s, {row['speedup']:.2f} x")
    say(f"a second run of them: {again['wall_s']:.3f} s, {again['hits']} hits")
    return {"descriptors": count, "rounds": rounds, "rows": rows, "second_run_s": round(again["wall_s"], 4)}


def prewarm_model(command, model, problems):
    arguments = ["prewarm", "--model", str(model), "--tp", "8", "--ep", "8", "--arch", "sm_90a,sm_100a"]
    cache = command.fresh_cache()
    document = command.run(*arguments, cache=cache)
    check(document, document["requested"], document["requested"], problems, "the model")
    again = command.run(*arguments, cache=cache)
    check(again, document["requested"], 0, problems, "the model again")
    listed = json.loads(
        subprocess.run(
            [command.path, "cache", "list", "--json"], env=dict(command.environment, QUANTJIT_CACHE_DIR=str(cache)),
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    entries = sorted((entry["arch"], entry["traits"]) for entry in listed["entries"])
    say(f"{model.name} at TP 8, EP 8: {len(entries)} kernels in {document['wall_s']:.2f} s, again in {again['wall_s']:.3f} s")
    for arch, traits in entries:
        say(f"  {arch} {traits}")
    return {
        "model": model.name,
        "seconds": round(document["wall_s"], 3),
        "second_run_s": round(again["wall_s"], 4),
        "entries": [{"arch": arch, "traits": traits} for arch, traits in entries],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", metavar="QUANTJIT")
    parser.add_argument("--jobs", default="1,2,4,16")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", type=pathlib.Path, default=MODEL)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    jobs = [int(number) for number in arguments.jobs.split(",")]
    problems = []
    with tempfile.TemporaryDirectory(prefix="quantjit-prewarm-") as folder:
        work = pathlib.Path(folder)
        command = Command(os.path.abspath(arguments.command), work)
        texts = pick(command, arguments.count)
        manifest = write_manifest(work / "manifest.json", texts)
        report = {
            "cores": len(os.sched_getaffinity(0)),
            "scaling": scale(command, manifest, len(set(texts)), jobs, arguments.rounds, problems),
            "model": prewarm_model(command, arguments.model, problems),
        }
    report["problems"] = problems
    for problem in problems:
        say(problem)
    text = json.dumps(report, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    else:
        print(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
