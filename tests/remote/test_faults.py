# SPDX-License-Identifier: Apache-2.0
"""Servers that fail: whatever they do, each request ends with the right kernel, and the counters say what happened."""

import os
import threading

from harness import ARCH, DESCRIPTORS, RemoteTest
from servers import Liar, Nginx, Redis, Silent, wait_until

FIRST, SECOND = DESCRIPTORS[0], DESCRIPTORS[1]


class FaultTest(RemoteTest):
    """Services of this process, each with a cache of its own."""

    def setUp(self):
        super().setUp()
        import quantjit

        self.quantjit = quantjit
        self.machines = 0

    def service(self, remote):
        """A machine with nothing on its disk."""
        self.machines += 1
        made = self.quantjit.Service(
            cache_dir=self.root(f"machine{self.machines}"), remote=remote, ignore_environment=True,
            nvrtc=os.environ.get("QUANTJIT_NVRTC"),
        )  # fmt: skip
        self.addCleanup(made.close)
        return made

    def take(self, service, traits, source):
        """Requests a kernel, which must be the right one and come from `source`."""
        info = self.right(service, traits)
        self.assertEqual(info["source"], source, f"{traits}: {service.remote_stats()}")

    def right(self, service, traits):
        image = service.image(traits, ARCH)
        info = image.info()
        wanted = service.explain(traits, ARCH)
        self.assertEqual((info["traits"], info["key"], info["arch"]), (wanted["traits"], wanted["key"], ARCH))
        self.assertTrue(wanted["hit"], f"{traits} is not on disk")
        self.assertEqual(image.code[:4], b"\x7fELF")
        self.assertGreater(len(info["entry_points"]), 0)
        return info

    def counters(self, service, tier=0):
        return service.remote_stats()[tier]

    def stored(self, service, count):
        """Waits until what was compiled is on the server."""
        self.assertTrue(service.flush_remote(60), self.counters(service))
        self.assertEqual(self.counters(service)["puts"], count, self.counters(service))


class WrongAnswers(FaultTest):
    needs = ("CURL",)

    def setUp(self):
        super().setUp()
        self.liar = self.serve(Liar())
        self.url = f"http://127.0.0.1:{self.liar.port}/cache?timeout=2s"
        honest = self.service([self.url])
        for traits in (FIRST, SECOND):
            self.take(honest, traits, "compiled")
        self.stored(honest, 2)
        self.take(self.service([self.url]), FIRST, "remote")

    def lied_to(self, mode):
        """The service that asked for a kernel while the server lied, and its counters."""
        self.liar.mode = mode
        service = self.service([self.url])
        self.take(service, FIRST, "compiled")
        return service, self.counters(service)

    def healed(self, service):
        """What the lied-to service compiled replaced what was wrong."""
        self.liar.mode = "honest"
        self.stored(service, 1)
        self.take(self.service([self.url]), FIRST, "remote")

    def test_bytes_that_are_no_entry_of_the_key_are_rejected_and_replaced(self):
        for mode in ("flipped", "shortened", "other"):
            with self.subTest(mode):
                service, counted = self.lied_to(mode)
                self.assertEqual((counted["rejected"], counted["hits"]), (1, 0), counted)
                self.healed(service)

    def test_what_was_stored_damaged_is_healed(self):
        for path, body in list(self.liar.store.items()):
            self.liar.store[path] = body[: len(body) - 7]
        service, counted = self.lied_to("honest")
        self.assertEqual((counted["rejected"], counted["hits"]), (1, 0), counted)
        self.healed(service)

    def test_a_server_that_fails_is_left_alone_after_one_call(self):
        for mode in ("error", "truncated", "slow"):
            with self.subTest(mode):
                service, counted = self.lied_to(mode)
                self.assertEqual((counted["failures"], counted["rejected"]), (1, 0), counted)
                self.assertTrue(counted["benched"], counted)
                asked = self.liar.asked["GET"]
                self.take(service, SECOND, "compiled")
                self.assertEqual(self.liar.asked["GET"], asked, "a benched server was asked")
                self.assertGreater(self.counters(service)["skipped"], 0)

    def test_a_gigabyte_is_not_read(self):
        for mode in ("huge", "endless"):
            with self.subTest(mode):
                self.liar.sent = 0
                _, counted = self.lied_to(mode)
                self.assertEqual((counted["failures"], counted["hits"]), (1, 0), counted)
                self.assertLess(counted["bytes_read"], 64 << 20)
                self.assertLess(self.liar.sent, 1 << 29)


class Silence(FaultTest):
    def silent(self, url, feature):
        self.need(feature)
        service = self.service([url])
        for number, traits in enumerate(DESCRIPTORS[:4]):
            self.take(service, traits, "compiled")
            counted = self.counters(service)
            self.assertEqual(counted["failures"], 1, counted)
            self.assertGreaterEqual(counted["skipped"], number)
        service.flush_remote(1)
        self.assertEqual(self.counters(service)["puts"], 0)

    def test_a_redis_that_takes_connections_and_says_nothing(self):
        self.silent(f"redis://127.0.0.1:{self.serve(Silent()).port}?timeout=300ms", "HIREDIS")

    def test_an_http_server_that_takes_connections_and_says_nothing(self):
        self.silent(f"http://127.0.0.1:{self.serve(Silent()).port}?timeout=300ms", "CURL")

    def test_ports_where_nobody_listens(self):
        port = Silent()
        port.stop()
        self.silent(f"redis://127.0.0.1:{port.port}", "HIREDIS")

    def test_a_dead_first_tier_does_not_hide_the_second(self):
        shared = self.root("shared")
        first = self.service([f"file://{shared}"])
        self.take(first, FIRST, "compiled")
        self.stored(first, 1)
        silent = self.serve(Silent())
        second = self.service([f"redis://127.0.0.1:{silent.port}?timeout=300ms", f"file://{shared}"])
        self.take(second, FIRST, "remote")


class Restarts(FaultTest):
    """Servers that die and come back while services work."""

    def work_through(self, server, url):
        """Several threads request kernels while the server is killed and started again, twice."""
        done, failures = [], []
        stop = threading.Event()

        def work():
            round_number = 0
            while not stop.is_set():
                service = self.service([url])
                try:
                    for traits in DESCRIPTORS[:6]:
                        self.right(service, traits)
                        done.append(traits)
                except BaseException as error:
                    failures.append(error)
                    return
                round_number += 1

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(2):
                mark = len(done)
                wait_until(lambda mark=mark: failures or len(done) > mark + 6, "requests with the server")
                server.kill()
                mark = len(done)
                wait_until(lambda mark=mark: failures or len(done) > mark + 6, "requests without the server")
                server.start()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        after = self.service([url])
        self.right(after, FIRST)
        self.assertEqual(self.counters(after)["failures"], 0, self.counters(after))

    def test_redis_killed_and_restarted(self):
        self.need("HIREDIS", "redis-server")
        redis = self.serve(Redis(self.work / "redis"))
        self.work_through(redis, f"redis://127.0.0.1:{redis.port}?timeout=5s")

    def test_nginx_killed_and_restarted(self):
        self.need("CURL", "nginx")
        nginx = self.serve(Nginx(self.work / "nginx"))
        self.work_through(nginx, f"http://127.0.0.1:{nginx.port}?timeout=5s")

    def test_a_server_that_came_back_is_used_again_by_a_service_that_benched_it(self):
        self.need("HIREDIS", "redis-server")
        redis = self.serve(Redis(self.work / "redis"))
        service = self.service([f"redis://127.0.0.1:{redis.port}"])
        self.take(service, FIRST, "compiled")
        self.stored(service, 1)
        redis.kill()
        self.take(service, SECOND, "compiled")
        self.assertTrue(self.counters(service)["benched"])
        redis.start()
        wait_until(lambda: not self.counters(service)["benched"], "the end of the pause")
        self.take(service, DESCRIPTORS[2], "compiled")
        service.flush_remote(60)
        self.assertEqual(self.counters(service)["puts"], 2, self.counters(service))


class Refusals(FaultTest):
    """Servers that answer and do not serve."""

    def test_a_full_redis_is_still_read(self):
        self.need("HIREDIS", "redis-server")
        redis = self.serve(Redis(self.work / "redis", maxmemory_policy="noeviction"))
        url = f"redis://127.0.0.1:{redis.port}"
        first = self.service([url])
        self.take(first, FIRST, "compiled")
        self.stored(first, 1)
        self.assertEqual(redis.call("CONFIG", "SET", "maxmemory", "1"), b"+OK\r\n")
        second = self.service([url])
        self.take(second, SECOND, "compiled")
        second.flush_remote(60)
        counted = self.counters(second)
        self.assertEqual((counted["puts"], counted["put_failures"]), (0, 1), counted)
        self.assertIn("OOM", counted["last_error"])
        self.take(second, FIRST, "remote")

    def test_a_wrong_password_fails_and_is_not_told(self):
        self.need("HIREDIS", "redis-server")
        redis = self.serve(Redis(self.work / "redis", requirepass="correct-horse"))
        right = self.service([f"redis://:correct-horse@127.0.0.1:{redis.port}"])
        self.take(right, FIRST, "compiled")
        self.stored(right, 1)
        wrong = self.service([f"redis://:battery-staple@127.0.0.1:{redis.port}"])
        self.take(wrong, FIRST, "compiled")
        counted = self.counters(wrong)
        self.assertGreater(counted["failures"], 0, counted)
        self.assertNotIn("staple", str(counted))
        self.take(self.service([f"redis://:correct-horse@127.0.0.1:{redis.port}"]), FIRST, "remote")

    def test_a_token_that_expired_and_was_renewed(self):
        self.need("CURL", "nginx")
        nginx = self.serve(Nginx(self.work / "nginx", token="first-token"))
        file = self.work / "token"
        file.write_text("first-token\n")
        file.chmod(0o600)
        url = f"http://127.0.0.1:{nginx.port}?token_file={file}"
        service = self.service([url])
        self.take(service, FIRST, "compiled")
        self.stored(service, 1)

        nginx.stop()
        nginx.token = "second-token"
        nginx.start()
        refused = self.service([url])
        self.take(refused, FIRST, "compiled")
        self.assertGreater(self.counters(refused)["failures"], 0)
        self.assertNotIn("-token", str(self.counters(refused)))
        file.write_text("second-token\n")
        self.take(self.service([url]), FIRST, "remote")
