# SPDX-License-Identifier: Apache-2.0
"""Compile services among machines that have leases, and among themselves: nobody waits in a circle."""

import concurrent.futures
import http.client
import json

from harness import ARCH, COMMAND, DESCRIPTORS, NO_COMPILER, RemoteTest
from servers import DEADLINE_SECONDS, Redis, Server, free_port

KERNELS = DESCRIPTORS[:4]
# So long that who waits for a time limit instead of an answer is noticed.
PATIENCE = "timeout=60s&compile_timeout=10m"


class Service(Server):
    program = "quantjit serve"

    def __init__(self, folder, environment, *options):
        super().__init__(folder)
        self.environment = environment
        self.options = options

    def command(self):
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        return ["env", "-i", *settings, COMMAND, "serve", "--listen", f"127.0.0.1:{self.port}", *self.options]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5 * DEADLINE_SECONDS)
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def compile(self, traits, **more):
        return self.ask("POST", "/v1/compile", json.dumps({"traits": traits, "arch": ARCH, **more}))

    def counters(self):
        return json.loads(self.ask("GET", "/v1/status")[1])["service"]

    def metric(self, name):
        lines = self.ask("GET", "/metrics")[1].decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((name + " ", name + "{")))


class Services(RemoteTest):
    needs = ("CURL", "MICROHTTPD")

    def service(self, name, remote, port=None, *options):
        environment = {**self.environment, "QUANTJIT_CACHE_DIR": str(self.root(name)), "QUANTJIT_REMOTE": remote}
        made = Service(self.work / f"{name}-service", environment, *options)
        made.port = port or made.port
        return self.serve(made)

    def test_a_service_does_not_wait_for_the_lease_of_who_asks_it(self):
        self.need("HIREDIS", "redis-server")
        redis = self.serve(Redis(self.work / "redis"))
        shared = f"redis://127.0.0.1:{redis.port}?timeout=20s&lease_wait=10m"
        service = self.service("service", shared)
        remote = f"{shared} qj+http://127.0.0.1:{service.port}?{PATIENCE}"
        made = self.document("machine", "prewarm", *KERNELS, "--arch", ARCH, "-j", "1", QUANTJIT_REMOTE=remote)
        self.assertEqual((made["hits"] + made["compiled"], made["failed"]), (len(KERNELS), []))
        self.assertEqual(service.counters()["compiles"], len(KERNELS))
        self.assertEqual(service.metric("quantjit_remote_waits_total"), 0)

    def test_a_service_with_the_cache_of_who_asks_it(self):
        service = self.service("machine", "")
        remote = f"qj+http://127.0.0.1:{service.port}?{PATIENCE}"
        made = self.document("machine", "compile", KERNELS[0], "--arch", ARCH, QUANTJIT_REMOTE=remote)
        self.assertEqual((made["source"], service.counters()["compiles"]), ("remote", 1))

    def test_a_service_that_is_its_own_tier(self):
        port = free_port()
        service = self.service("service", f"qj+http://127.0.0.1:{port}?{PATIENCE}", port)
        for traits in KERNELS[:2]:
            self.assertEqual(service.compile(traits)[0], 200)
        self.assertEqual(service.counters()["compiles"], 2)

    def test_services_that_are_tiers_of_each_other(self):
        ports = [free_port(), free_port()]
        services = [
            self.service(f"service{i}", f"qj+http://127.0.0.1:{ports[1 - i]}?{PATIENCE}", ports[i], "-j", "1")
            for i in range(2)
        ]
        with concurrent.futures.ThreadPoolExecutor(4 * len(KERNELS)) as pool:
            answers = list(pool.map(
                lambda number: services[number % 2].compile(KERNELS[number // 2 % len(KERNELS)]), range(4 * len(KERNELS))
            ))  # fmt: skip
        self.assertEqual({status for status, _ in answers}, {200})
        compiles = sum(service.counters()["compiles"] for service in services)
        self.assertGreaterEqual(compiles, len(KERNELS))
        self.assertLessEqual(compiles, 2 * len(KERNELS))

    def test_what_a_service_cannot_compile_does_not_hide_what_it_can(self):
        service = self.service("service", "")
        archs = f"sm_999,{ARCH}"  # no compiler knows the first
        remote = f"qj+http://127.0.0.1:{service.port}?{PATIENCE}"
        asking = self.start("machine", "prewarm", *KERNELS, "--arch", archs, "-j", "1",
                            QUANTJIT_REMOTE=remote, QUANTJIT_NVRTC=NO_COMPILER)  # fmt: skip
        out, said = asking.running.communicate(timeout=300)
        made = json.loads(out)
        self.assertEqual((made["hits"], len(made["failed"])), (len(KERNELS), len(KERNELS)), said)
        self.assertEqual(service.counters()["compiles"] - service.counters()["compile_failures"], len(KERNELS))

    def test_a_service_without_a_compiler_gives_out_what_it_has(self):
        self.document("service", "prewarm", *KERNELS[1::2], "--arch", ARCH)
        self.environment["QUANTJIT_NVRTC"] = NO_COMPILER
        service = self.service("service", "")
        asking = self.start("machine", "prewarm", *KERNELS, "--arch", ARCH, "-j", "1",
                            QUANTJIT_REMOTE=f"qj+http://127.0.0.1:{service.port}?{PATIENCE}")  # fmt: skip
        out, said = asking.running.communicate(timeout=300)
        made = json.loads(out)
        self.assertEqual((made["hits"], len(made["failed"])), (len(KERNELS[1::2]), len(KERNELS[::2])), said)

    def test_what_a_client_says_about_waiting(self):
        service = self.service("service", "")
        for said in ("yes", 1, None):
            self.assertEqual(service.compile(KERNELS[0], at_once=said)[0], 400)
        for said in (True, False):
            self.assertEqual(service.compile(KERNELS[0], at_once=said)[0], 200)
