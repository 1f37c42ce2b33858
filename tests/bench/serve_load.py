#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a compile service does under load: throughput, time of answers, memory, and whether it loses any.

usage: serve_load.py QUANTJIT [--clients N] [--seconds S] [--misses PERCENT] [--jobs N] [--nvrtc FILE] [--arch A,...]

Starts `quantjit serve` with an empty cache and keeps N clients asking, each on a connection of its own that it keeps.
The given share of requests is for a descriptor that nobody asked for before, as long as there are any; the rest for
one that is stored. Prints the rounds as a table, then ends the service by SIGTERM in the middle of the last round.
Exit status 1 if an answer was lost or wrong.
"""

import argparse
import asyncio
import collections
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEY = re.compile(rb"x-quantjit-key: ([0-9a-f]{64}-[0-9a-f]{16})\r\n", re.IGNORECASE)
MAGIC = b"\x89QJC\r\n\x1a\n"


class Load:
    """What the clients share."""

    def __init__(self, options, port, descriptors):
        self.options, self.port = options, port
        self.random = random.Random(options.seed)
        self.fresh = iter(descriptors)
        self.stored = []
        self.times = {"hit": [], "miss": []}
        self.statuses = collections.Counter()
        self.keys = {}
        self.lost = self.wrong = 0
        self.ending = self.closed = False

    def pick(self):
        """A descriptor, and whether nobody asked for it before."""
        if not self.stored or self.random.random() * 100 < self.options.misses:
            found = next(self.fresh, None)
            if found is not None:
                return found, "miss"
        return self.random.choice(self.stored), "hit"

    def note(self, wanted, kind, status, head, body, seconds):
        self.statuses[status] += 1
        if status != 200:
            return
        self.times[kind].append(seconds)
        key = KEY.search(head)
        if key is None or not body.startswith(MAGIC) or self.keys.setdefault(wanted, key.group(1)) != key.group(1):
            self.wrong += 1
        elif kind == "miss":
            self.stored.append(wanted)


async def read_answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)\r\n", head, re.IGNORECASE).group(1))
    return int(head[9:12]), head, await reader.readexactly(length)


async def client(load, until):
    """Asks until a time, or until the service says that it ends. What was sent and not answered is lost."""
    writer = None
    while time.monotonic() < until and not load.closed:
        if writer is None:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
            except OSError:
                if load.ending:
                    return
                raise
        wanted, kind = load.pick()
        body = json.dumps({"traits": wanted[0], "arch": wanted[1]}).encode()
        begin = time.monotonic()
        try:
            writer.write(b"POST /v1/compile HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            status, head, answer = await read_answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            load.lost += 1
            writer = None
            continue
        load.note(wanted, kind, status, head, answer, time.monotonic() - begin)
        if status == 503 or b"connection: close" in head.lower():
            writer.close()
            writer = None
            if status == 503:
                return
    if writer is not None:
        writer.close()


def resident(pid):
    """Physical memory of a process in MiB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) / 1024


def quantile(values, q):
    return sorted(values)[min(int(q * len(values)), len(values) - 1)] * 1000 if values else float("nan")


async def run_round(load, number, pid, seconds):
    load.times = {"hit": [], "miss": []}
    before, begin = resident(pid), time.monotonic()
    await asyncio.gather(*(client(load, begin + seconds) for _ in range(load.options.clients)))
    took = time.monotonic() - begin
    hits, misses = load.times["hit"], load.times["miss"]
    print(
        f"{number:5} {len(hits) + len(misses):8} {(len(hits) + len(misses)) / took:8.0f} {len(misses):7} "
        f"{quantile(hits, 0.5):8.1f} {quantile(hits, 0.99):8.1f} {quantile(misses, 0.5):8.1f} "
        f"{quantile(misses, 0.99):8.1f} {before:8.1f} {resident(pid):8.1f}", flush=True,
    )  # fmt: skip


async def end_in_the_middle(load, child):
    """SIGTERM while all clients ask."""
    tasks = [asyncio.create_task(client(load, time.monotonic() + 60)) for _ in range(load.options.clients)]
    before = sum(load.statuses.values())
    while sum(load.statuses.values()) < before + load.options.clients:
        await asyncio.sleep(0.01)
    load.statuses.clear()
    load.ending = True
    begin = time.monotonic()
    child.send_signal(signal.SIGTERM)
    status = await asyncio.to_thread(child.wait)
    load.closed = True
    await asyncio.gather(*tasks)
    print(f"ended with status {status} in {time.monotonic() - begin:.2f} s; answers meanwhile: {dict(load.statuses)}")
    return status


def descriptors(options, environment):
    texts = subprocess.run([options.quantjit, "traits", "--enumerate"], env=environment, check=True, text=True,
                           capture_output=True).stdout.split()  # fmt: skip
    found = [pair for pair in itertools.product(texts, options.arch.split(","))]
    random.Random(options.seed).shuffle(found)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("quantjit")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--misses", type=float, default=0.2, help="percent of the requests")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--nvrtc")
    parser.add_argument("--arch", default="sm_90a,sm_100a")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="quantjit-load-"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUANTJIT_")}
    environment["QUANTJIT_CACHE_DIR"] = str(work / "cache")
    if options.nvrtc:
        environment["QUANTJIT_NVRTC"] = options.nvrtc
    port_file = work / "port"
    child = subprocess.Popen(
        [options.quantjit, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file, "-j", str(options.jobs)],
        env=environment,
    )
    try:
        while not port_file.exists():
            if child.poll() is not None:
                return 1
            time.sleep(0.01)
        load = Load(options, int(port_file.read_text()), descriptors(options, environment))
        print(f"{options.clients} clients, seed {options.seed}; times in ms, memory in MiB")
        print("round  answers    per s  misses  hit p50  hit p99 miss p50 miss p99   before    after")

        async def run():
            for number in range(1, options.rounds + 1):
                await run_round(load, number, child.pid, options.seconds)
            print(f"answers: {dict(load.statuses)}, {len(load.keys)} kernels")
            return await end_in_the_middle(load, child)

        status = asyncio.run(run())
        print(f"{load.lost} lost, {load.wrong} wrong")
        return 0 if status == 0 and load.lost == load.wrong == 0 else 1
    finally:
        child.kill()
        child.wait()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
