#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets 16 processes loose on cold kernels at once, and counts what the shared cache makes of it.

usage: tests/gpu/stampede.py QUANTJIT [--processes N] [--rounds N] [--out FILE.json]

Each round begins with an empty cache and runs `quantjit compile` in N processes: on one key, and on four keys. They
are started ahead and wait at a barrier, so the wall time is from its opening to the end of the last. Beside it stands
the time of one process on one key; rounds alternate. How often a kernel was compiled is told by a witness outside: the
kernel reports every file that is moved to the place of an entry. Text goes to standard error, one JSON object to
standard output or FILE. Exit status 1 unless each key was compiled and published once a round, all processes of a key
had the same bytes, and no temporary file, lease or claim was left. Needs NVRTC, no GPU.
"""

import argparse
import collections
import ctypes
import hashlib
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

KEYS = [f"per_token_group_quant:group={group},scale=ue8m0,layout=col" for group in (128, 64, 32)] + ["per_token_quant"]
ARCH = "sm_90a"
# Says that it is there, waits for the end of its standard input, then becomes the command.
WAIT = "echo ready; read -r line; exec \"$@\""
MOVED_TO = 0x80
EVENT = struct.Struct("iIII")


class Witness:
    """Files that were moved to an entry's name below some directories, as inotify saw it."""

    def __init__(self, directories):
        libc = ctypes.CDLL(None, use_errno=True)
        self.file = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for directory in directories:
            if libc.inotify_add_watch(self.file, os.fsencode(directory), MOVED_TO) < 0:
                raise OSError(ctypes.get_errno(), f"inotify cannot watch {directory}")

    def names(self):
        """Name -> how often it was moved there; ends the watch."""
        counts = collections.Counter()
        try:
            while data := os.read(self.file, 65536):
                while data:
                    length = EVENT.unpack_from(data)[3]
                    counts[data[EVENT.size : EVENT.size + length].rstrip(b"\0").decode()] += 1
                    data = data[EVENT.size + length :]
        except BlockingIOError:
            pass
        os.close(self.file)
        return {name: count for name, count in counts.items() if name.endswith(".qjc")}


class Stampede:
    def __init__(self, command, work):
        self.command = command
        self.work = work
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("QUANTJIT_")}
        self.keys = {}
        for traits in KEYS:
            document = self.run("explain", traits, "--arch", ARCH, cache=work / "unused")
            self.keys[traits] = document["key"]

    def run(self, *arguments, cache):
        environment = {**self.environment, "QUANTJIT_CACHE_DIR": str(cache)}
        result = subprocess.run([self.command, "--json", *arguments], env=environment, check=True, capture_output=True)
        return json.loads(result.stdout)

    def round(self, number, traits, processes):
        """Wall time in seconds, and what was wrong."""
        cache = self.work / f"cache-{number}"
        shards = [cache / "v1" / self.keys[text][:2] for text in traits]
        for directory in (cache, cache / "v1", *shards):
            directory.mkdir(mode=0o700, exist_ok=True)
        witness = Witness(shards)
        environment = {**self.environment, "QUANTJIT_CACHE_DIR": str(cache)}
        running = []
        outputs = []
        barrier, opening = os.pipe()
        for index in range(processes):
            outputs.append(cache.with_name(f"{cache.name}-{index}.cubin"))
            running.append(subprocess.Popen(
                ["sh", "-c", WAIT, "sh", self.command, "compile", traits[index % len(traits)], "--arch", ARCH,
                 "-o", str(outputs[-1])],
                env=environment, stdin=barrier, stdout=subprocess.PIPE, stderr=subprocess.PIPE))  # fmt: skip
        os.close(barrier)
        for process in running:
            process.stdout.readline()
        start = time.perf_counter()
        os.close(opening)
        errors = [process.communicate()[1].decode() for process in running]
        seconds = time.perf_counter() - start
        problems = [text for process, text in zip(running, errors) if process.returncode != 0 or text]
        problems += self.judge(cache, traits, outputs, witness.names())
        return seconds, problems

    def judge(self, cache, traits, outputs, published):
        wanted = {self.keys[text] + ".qjc": 1 for text in traits}
        if published != wanted:
            yield f"entries that were put in place: {published}, wanted {wanted}"
        for first in range(len(traits)):
            digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs[first :: len(traits)]}
            if len(digests) != 1:
                yield f"{traits[first]}: {len(digests)} different images"
        left = [path for path in cache.rglob("*") if path.name.startswith(".tmp-") or path.parent.name == "leases"]
        if left:
            yield f"left behind: {left}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", metavar="QUANTJIT")
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    kinds = {"one_process": (KEYS[:1], 1), "one_key": (KEYS[:1], options.processes), "four_keys": (KEYS, options.processes)}
    times = {name: [] for name in kinds}
    problems = []
    with tempfile.TemporaryDirectory(prefix="quantjit-stampede-") as work:
        stampede = Stampede(str(pathlib.Path(options.command).resolve()), pathlib.Path(work))
        for number in range(options.rounds):
            for name, (traits, processes) in kinds.items():
                seconds, found = stampede.round(f"{name}-{number}", traits, processes)
                times[name].append(seconds)
                problems += [f"round {number}, {name}: {problem}" for problem in found]
    report = {"processes": options.processes, "rounds": options.rounds, "cores": os.cpu_count(), "problems": problems}
    for name, seconds in times.items():
        report[name] = {"median_ms": statistics.median(seconds) * 1e3, "max_ms": max(seconds) * 1e3}
    alone = report["one_process"]["median_ms"]
    for name in ("one_key", "four_keys"):
        report[name]["over_one_process"] = report[name]["median_ms"] / alone
        print(f"{options.processes} processes, {name}: {report[name]['median_ms']:.0f} ms, "
              f"{report[name]['over_one_process']:.2f} of one process's {alone:.0f} ms", file=sys.stderr)  # fmt: skip
    for problem in problems:
        print(problem, file=sys.stderr)
    text = json.dumps(report, indent=1) + "\n"
    if options.out:
        options.out.write_text(text)
    else:
        sys.stdout.write(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
