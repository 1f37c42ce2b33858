#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a kernel from a remote tier costs, and how many a server on this machine hands out.

usage: remote_hits.py [--seconds S] [--clients N ...]

With QUANTJIT_COMMAND and QUANTJIT_LIBRARY in the environment, redis-server and nginx installed. For each kind of tier:
compiles some kernels and stores them there, then lets services that have nothing look them up, each hit by a service of
its own (so each makes a connection, verifies the entry and writes nothing). Prints a table, and beside it what one
compile costs here. Server and clients share the machine.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("SOURCE_DIR", str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "remote"))

from harness import ARCH, COMMAND, DESCRIPTORS  # noqa: E402
from servers import Nginx, Redis, Server  # noqa: E402

import quantjit  # noqa: E402


class Serve(Server):
    """A compile service with a cache of its own."""

    program = "quantjit serve"

    def command(self):
        (self.folder / "cache").mkdir(mode=0o700, exist_ok=True)
        return [
            COMMAND, "serve", "--listen", f"127.0.0.1:{self.port}", "--no-token", "--cache-dir",
            str(self.folder / "cache"),
        ]  # fmt: skip


def service(url, **more):
    return quantjit.Service(memory_only=True, remote=[url], ignore_environment=True,
                            nvrtc=os.environ.get("QUANTJIT_NVRTC"), **more)  # fmt: skip


def fill(url):
    """Milliseconds of each compile, all of which are stored behind `url` in the end."""
    spent = []
    with service(url) as first:
        for traits in DESCRIPTORS:
            begin = time.perf_counter()
            first.image(traits, ARCH)
            spent.append((time.perf_counter() - begin) * 1e3)
        if not first.flush_remote(60):
            raise RuntimeError(f"not stored: {first.remote_stats()}")
    return spent


def hit(url, traits):
    """Microseconds of one look-up by a service that has nothing, and bytes read."""
    with service(url) as fresh:
        begin = time.perf_counter()
        source = fresh.image(traits, ARCH).info()["source"]
        spent = (time.perf_counter() - begin) * 1e6
        if source != "remote":
            raise RuntimeError(f"{traits} came from {source}: {fresh.remote_stats()}")
        return spent, fresh.remote_stats()[0]["bytes_read"]


def load(url, clients, seconds):
    """Times and bytes of all hits that so many clients got in that time."""
    found, failures = [], []
    end = time.monotonic() + seconds

    def work(number):
        try:
            i = number
            while time.monotonic() < end:
                found.append(hit(url, DESCRIPTORS[i % len(DESCRIPTORS)]))
                i += 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 8])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quantjit-hits-") as name:
        work = pathlib.Path(name)
        (work / "files").mkdir(mode=0o700)
        redis, nginx, serve = Redis(work / "redis"), Nginx(work / "nginx"), Serve(work / "serve")
        tiers = {
            "redis": f"redis://127.0.0.1:{redis.port}", "nginx": f"http://127.0.0.1:{nginx.port}",
            "serve": f"qj+http://127.0.0.1:{serve.port}", "file": f"file://{work}/files",
        }  # fmt: skip
        with contextlib.ExitStack() as running:
            for server in (redis, nginx, serve):
                running.callback(server.stop)
                server.start()
            print(f"{'tier':8}{'clients':>8}{'hits/s':>10}{'p50 us':>10}{'p99 us':>10}{'bytes':>10}{'cold ms':>10}")
            for tier, url in tiers.items():
                cold = statistics.median(fill(url))
                for clients in options.clients:
                    found = load(url, clients, options.seconds)
                    times = sorted(spent for spent, _ in found)
                    size = statistics.mean(size for _, size in found)
                    print(
                        f"{tier:8}{clients:8}{len(found) / options.seconds:10.0f}{times[len(times) // 2]:10.0f}"
                        f"{times[len(times) * 99 // 100]:10.0f}{size:10.0f}{cold:10.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
