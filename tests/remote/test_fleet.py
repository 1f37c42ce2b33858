# SPDX-License-Identifier: Apache-2.0
"""A fleet compiles once: many processes on many machines that share a server."""

import os
import shutil

from harness import ARCH, DESCRIPTORS, NO_COMPILER, SOURCE, RemoteTest
from servers import Nginx, Redis, wait_until

MODEL = SOURCE / "tests" / "data" / "models" / "deepseek-v4-pro.json"
MACHINES, PROCESSES = 4, 16
KERNELS = DESCRIPTORS[:5]


def total(documents, field):
    return sum(document[field] for document in documents)


class FleetOnRedis(RemoteTest):
    needs = ("HIREDIS", "redis-server")

    def setUp(self):
        super().setUp()
        self.redis = self.serve(Redis(self.work / "redis"))
        # Much longer than the default of 30 s, so that a slow machine that runs the tests changes no count.
        self.environment["QUANTJIT_REMOTE"] = f"redis://127.0.0.1:{self.redis.port}?timeout=20s&lease_wait=240s"

    def test_64_processes_on_4_machines_compile_each_kernel_of_a_model_once(self):
        arguments = ("prewarm", "--model", MODEL, "--superset", "--arch", f"{ARCH},sm_100a", "-j", "1")
        running = [
            self.start(f"machine{machine}", *arguments) for _ in range(PROCESSES) for machine in range(MACHINES)
        ]
        documents = [process.document(self) for process in running]
        kernels = documents[0]["requested"]
        self.assertGreater(kernels, 4)
        self.assertEqual({document["requested"] for document in documents}, {kernels})
        self.assertEqual(total(documents, "compiled"), kernels)
        self.assertEqual(total(documents, "hits"), kernels * (MACHINES * PROCESSES - 1))
        for machine in range(MACHINES):
            entries = list(self.root(f"machine{machine}").glob("v1/*/*.qjc"))
            self.assertEqual(len(entries), kernels)
            checked = self.document(f"machine{machine}", "cache", "verify")
            self.assertEqual((checked["checked"], checked["bad"]), (kernels, []))
        self.assertEqual([key for key in self.redis.keys() if ":lease-" in key], [])

        fifth = self.document("machine5", *arguments, QUANTJIT_NVRTC=NO_COMPILER)
        self.assertEqual((fifth["requested"], fifth["hits"], fifth["compiled"]), (kernels, kernels, 0))

    def test_a_machine_without_a_compiler_takes_what_is_there_and_says_what_is_not(self):
        self.document("first", "prewarm", KERNELS[0], "--arch", ARCH)
        found = self.document("second", "compile", KERNELS[0], "--arch", ARCH, QUANTJIT_NVRTC=NO_COMPILER)
        self.assertEqual(found["source"], "remote")
        again = self.document("second", "compile", KERNELS[0], "--arch", ARCH, QUANTJIT_NVRTC=NO_COMPILER)
        self.assertEqual(again["source"], "disk")
        missing = self.start("second", "compile", KERNELS[1], "--arch", ARCH, QUANTJIT_NVRTC=NO_COMPILER)
        _, said = missing.running.communicate(timeout=120)
        self.assertEqual(missing.running.returncode, 1)
        self.assertIn("it is not there", said)
        self.assertIn(f"redis://127.0.0.1:{self.redis.port}", said)

    def test_a_sealed_key_of_another_password_is_not_read(self):
        for name, byte in (("key", b"k"), ("other", b"o")):
            (self.work / name).write_bytes(byte * 32)
            (self.work / name).chmod(0o600)
        remote = f"redis://127.0.0.1:{self.redis.port}?mac={self.work}"
        self.document("first", "prewarm", KERNELS[0], "--arch", ARCH, QUANTJIT_REMOTE=f"{remote}/key")
        same = self.document("second", "compile", KERNELS[0], "--arch", ARCH, QUANTJIT_REMOTE=f"{remote}/key")
        self.assertEqual(same["source"], "remote")
        other = self.document("third", "compile", KERNELS[0], "--arch", ARCH, QUANTJIT_REMOTE=f"{remote}/other")
        self.assertEqual(other["source"], "compiled")


class FleetOnShards(RemoteTest):
    needs = ("HIREDIS", "redis-server")

    def test_three_hosts_share_the_kernels_and_all_are_found(self):
        servers = [self.serve(Redis(self.work / f"redis{i}")) for i in range(3)]
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
        self.environment["QUANTJIT_REMOTE"] = f"redis://{hosts}"
        first = self.document("first", "prewarm", *DESCRIPTORS, "--arch", ARCH)
        self.assertEqual(first["compiled"], len(DESCRIPTORS))
        second = self.document("second", "prewarm", *DESCRIPTORS, "--arch", ARCH)
        self.assertEqual((second["hits"], second["compiled"]), (len(DESCRIPTORS), 0))
        held = [len([key for key in server.keys() if "latest" not in key and "fence" not in key]) for server in servers]
        self.assertEqual(sum(held), len(DESCRIPTORS), "each kernel lies on one host")
        self.assertTrue(all(held), f"{held} kernels a host")

    def test_without_one_host_its_kernels_are_compiled_and_the_others_found(self):
        servers = [self.serve(Redis(self.work / f"redis{i}")) for i in range(2)]
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
        self.environment["QUANTJIT_REMOTE"] = f"redis://{hosts}"
        self.document("first", "prewarm", *DESCRIPTORS, "--arch", ARCH)
        lost = len([key for key in servers[0].keys() if "latest" not in key and "fence" not in key])
        servers[0].kill()
        second = self.document("second", "prewarm", *DESCRIPTORS, "--arch", ARCH)
        self.assertEqual((second["hits"], second["compiled"]), (len(DESCRIPTORS) - lost, lost))


class FleetOnNginx(RemoteTest):
    needs = ("CURL", "nginx")

    def test_what_one_machine_compiled_the_next_one_downloads(self):
        nginx = self.serve(Nginx(self.work / "nginx"))
        for layout in ("plain", "bazel"):
            remote = f"http://127.0.0.1:{nginx.port}/{layout}?layout={layout}"
            first = self.document(f"first-{layout}", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_REMOTE=remote)
            self.assertEqual(first["compiled"], len(KERNELS))
            second = self.document(f"second-{layout}", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_REMOTE=remote)
            self.assertEqual((second["hits"], second["compiled"]), (len(KERNELS), 0))
            third = self.document(
                f"third-{layout}", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_REMOTE=remote, QUANTJIT_NVRTC=NO_COMPILER
            )
            self.assertEqual((third["hits"], third["compiled"]), (len(KERNELS), 0))

    def test_processes_without_leases_compile_more_than_once_and_none_is_harmed(self):
        nginx = self.serve(Nginx(self.work / "nginx"))
        self.environment["QUANTJIT_REMOTE"] = f"http://127.0.0.1:{nginx.port}"
        running = [self.start(f"machine{machine}", "prewarm", *KERNELS, "--arch", ARCH) for machine in range(4)]
        documents = [process.document(self) for process in running]
        self.assertEqual(total(documents, "compiled") + total(documents, "hits"), 4 * len(KERNELS))
        self.assertGreaterEqual(total(documents, "compiled"), len(KERNELS))
        for machine in range(4):
            self.assertEqual(self.document(f"machine{machine}", "cache", "verify")["bad"], [])

    def test_a_read_only_tier_is_read_and_not_written(self):
        nginx = self.serve(Nginx(self.work / "nginx"))
        remote = f"http://127.0.0.1:{nginx.port}"
        self.document("first", "prewarm", KERNELS[0], "--arch", ARCH, QUANTJIT_REMOTE=remote)
        files = nginx.files()
        second = self.document(
            "second", "prewarm", *KERNELS[:2], "--arch", ARCH, QUANTJIT_REMOTE=f"{remote}?readonly=1"
        )
        self.assertEqual((second["hits"], second["compiled"]), (1, 1))
        self.assertEqual(nginx.files(), files)


class FleetOnAFolder(RemoteTest):
    def test_a_shared_folder_is_a_tier(self):
        shared = self.root("shared")
        self.environment["QUANTJIT_REMOTE"] = f"file://{shared}"
        self.document("first", "prewarm", *KERNELS, "--arch", ARCH)
        second = self.document("second", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_NVRTC=NO_COMPILER)
        self.assertEqual((second["hits"], second["compiled"]), (len(KERNELS), 0))

    def test_tiers_are_asked_in_order_and_the_first_ones_are_filled(self):
        near, far = self.root("near"), self.root("far")
        self.document("first", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_REMOTE=f"file://{far}")
        both = f"file://{near} file://{far}"
        second = self.document("second", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_REMOTE=both)
        self.assertEqual((second["hits"], second["compiled"]), (len(KERNELS), 0))
        third = self.document("third", "prewarm", *KERNELS, "--arch", ARCH, QUANTJIT_REMOTE=f"file://{near}")
        self.assertEqual((third["hits"], third["compiled"]), (len(KERNELS), 0))

class LostHolder(RemoteTest):
    """A machine that dies while the others wait for what it compiles."""

    needs = ("HIREDIS", "redis-server")

    def setUp(self):
        super().setUp()
        fake, builtins = os.environ.get("FAKE_NVRTC"), os.environ.get("FAKE_BUILTINS")
        if not fake or not builtins:
            self.skipTest("the compiler of the tests was not built")
        nvrtc = self.work / "nvrtc"
        nvrtc.mkdir()
        shutil.copy(fake, nvrtc / "libnvrtc.so.13")
        shutil.copy(builtins, nvrtc / "libnvrtc-builtins.so.13.78")
        self.redis = self.serve(Redis(self.work / "redis"))
        self.environment.update(
            QUANTJIT_NVRTC=str(nvrtc / "libnvrtc.so.13"), QUANTJIT_CODE="ptx",
            QUANTJIT_REMOTE=f"redis://127.0.0.1:{self.redis.port}?timeout=20s&lease_wait=10m",
        )  # fmt: skip
        self.hold = self.work / "hold"
        self.begun = self.work / "hold.begun"
        self.hold.touch()
        self.addCleanup(self.hold.unlink, missing_ok=True)

    def leases(self):
        return [key for key in self.redis.keys() if ":lease-" in key]

    def begin(self, machine, **settings):
        return self.start(machine, "compile", KERNELS[0], "--arch", ARCH, **settings)

    def holder(self):
        """A machine in the middle of a compile."""
        process = self.begin("holder", QUANTJIT_FAKE_HOLD=str(self.hold))
        self.addCleanup(process.running.kill)
        wait_until(self.begun.exists, "the compile of the holder")
        self.assertEqual(len(self.leases()), 1)
        return process

    def test_others_go_on_when_the_lease_of_a_killed_holder_ends(self):
        holder = self.holder()
        waiting = [self.begin(f"machine{machine}") for machine in range(4)]
        holder.running.kill()
        holder.running.communicate()
        sources = sorted(process.document(self)["source"] for process in waiting)
        self.assertEqual(sources, ["compiled", "remote", "remote", "remote"], "one of them takes the holder's place")
        self.assertEqual(self.leases(), [])
        self.assertEqual(self.begun.stat().st_size, 1)

    def test_a_holder_that_is_slow_is_waited_for(self):
        holder = self.holder()
        fence = next(key for key in self.redis.keys() if key.endswith(":fence"))
        waiting = [self.begin(f"machine{machine}") for machine in range(2)]
        # Each look at the lease counts: they have found it held, more than once.
        wait_until(lambda: int(self.redis.call("GET", fence).split(b"\r\n")[1]) > 6, "the others' looks")
        self.hold.unlink()
        self.assertEqual(holder.document(self)["source"], "compiled")
        self.assertEqual([process.document(self)["source"] for process in waiting], ["remote", "remote"])
        self.assertEqual(self.leases(), [])

    def test_everything_in_the_server_is_forgotten_while_one_compiles(self):
        holder = self.holder()
        self.assertEqual(self.redis.call("FLUSHALL"), b"+OK\r\n")
        second = self.begin("second")
        self.assertEqual(second.document(self)["source"], "compiled")
        self.hold.unlink()
        self.assertEqual(holder.document(self)["source"], "compiled")
        self.assertEqual(self.leases(), [])
        third = self.begin("third")
        self.assertEqual(third.document(self)["source"], "remote")
