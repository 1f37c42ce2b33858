# SPDX-License-Identifier: Apache-2.0
"""quantjit serve: clients that are strangers, slow, broken or many, and how it ends."""

import concurrent.futures
import http.client
import os
import resource
import signal
import socket
import subprocess
import time

from harness import BINARY, ROW
from serving import DEADLINE, TEXTS, Answer, ServeTest, order, wait_for

TOKEN = "secret-token-of-the-tests"


class Tokens(ServeTest):
    def setUp(self):
        super().setUp()
        self.tokens = self.work / "tokens"
        self.tokens.write_text(f"{TOKEN}\nsecret-second\n")

    def bearer(self, token=TOKEN):
        return {"Authorization": f"Bearer {token}"}

    def test_who_shows_no_token_gets_nothing(self):
        self.start("--token-file", self.tokens)
        shown = [{}, self.bearer(""), self.bearer("x"), self.bearer(TOKEN + "x"), self.bearer(TOKEN[:-1]),
                 {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": "Bearer"},
                 {"Authorization": f"Bearer {TOKEN} {TOKEN}"}]  # fmt: skip
        for headers in shown:
            for method, path, body in (("POST", "/v1/compile", order(ROW)), ("GET", "/v1/entries/" + "0" * 64, None),
                                       ("GET", "/metrics", None), ("GET", "/v1/status", None), ("GET", "/x", None)):  # fmt: skip
                answer = self.ask(method, path, body, **headers)
                self.refuse(answer, 401, "Unauthorized")
                self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        self.assertEqual(self.begun() <= 1, True, "a stranger had something compiled")

    def test_each_token_of_the_file_is_good(self):
        self.start("--token-file", self.tokens)
        for token in (TOKEN, "secret-second"):
            self.assertEqual(self.ask("POST", "/v1/compile", order(ROW), **self.bearer(token)).status, 200)
        self.assertEqual(self.ask("GET", "/v1/status", Authorization=f"bEARER  {TOKEN} ").status, 200)

    def test_tokens_are_replaced_while_it_runs(self):
        self.start("--token-file", self.tokens)
        self.assertEqual(self.ask("GET", "/metrics", **self.bearer()).status, 200)
        replaced = self.work / "new"
        replaced.write_text("secret-third\n")
        replaced.rename(self.tokens)
        wait_for("the new token", lambda: self.ask("GET", "/metrics", **self.bearer("secret-third")).status == 200)
        self.assertEqual(self.ask("GET", "/metrics", **self.bearer()).status, 401)
        self.tokens.write_text("")
        wait_for("a warning", lambda: self.ask("GET", "/metrics", **self.bearer("secret-third")).status == 200
                 and "stay valid" in self.messages())  # fmt: skip
        self.assertNotIn("secret-", self.messages())

    def test_metrics_may_be_open(self):
        self.start("--token-file", self.tokens, "--open-metrics")
        self.assertEqual(self.ask("GET", "/metrics").status, 200)
        self.assertEqual(self.ask("GET", "/v1/status").status, 401)

    def test_what_others_reach_needs_a_token(self):
        refused = self.refuses("serve", "--listen", "0.0.0.0:0")
        self.assertIn("--token-file", refused.err)
        self.refuses("serve", "--listen", "127.0.0.1:0", "--token-file", self.work / "missing")
        self.tokens.write_text(" \n\n")
        self.refuses("serve", "--listen", "127.0.0.1:0", "--token-file", self.tokens)

    def test_addresses_that_are_none(self):
        for address in ("", "127.0.0.1", ":1", "127.0.0.1:x", "127.0.0.1:65536", "::1:80", "[::1:80", "[]:80"):
            self.refuses("serve", "--listen", address)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.assertIn("--listen", self.fails("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}").err)


class Clients(ServeTest):
    HEAD = b"POST /v1/compile HTTP/1.1\r\nHost: x\r\n"

    def lives(self):
        self.assertEqual(self.compile(ROW).status, 200)

    def test_bodies_that_are_too_long(self):
        self.start("--max-request", "2K")
        self.assertEqual(self.compile(ROW).status, 200)
        for length in (2049, 100_000):
            self.refuse(self.ask("POST", "/v1/compile", b" " * length), 413, "TooLarge")
        # Whoever announces a gigabyte hears at once that it is too much.
        answer = self.raw(self.HEAD + b"Content-Length: 1000000000\r\n\r\n{")
        self.assertTrue(answer.startswith(b"HTTP/1.1 413 "), answer)
        # Whoever sends without end and without saying how much is cut off.
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE) as client:
            client.sendall(self.HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            sent = 0
            try:
                while sent < 1 << 28:
                    client.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                    sent += 65536
            except (BrokenPipeError, ConnectionResetError):
                pass
        self.assertLess(sent, 1 << 26)
        self.lives()

    def test_chunked_bodies(self):
        self.start("--max-request", "2K")
        body = order(ROW).encode()
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7))
        close = b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.assertTrue(self.raw(self.HEAD + close + chunks + b"0\r\n\r\n").startswith(b"HTTP/1.1 200 "))
        long = b"1000\r\n" + b" " * 4096 + b"\r\n0\r\n\r\n"
        self.assertTrue(self.raw(self.HEAD + close + long).startswith(b"HTTP/1.1 413 "))
        for broken in (b"zz\r\n", b"-1\r\n", b"ffffffffffffffffffff\r\n", b"5\r\nabcdefgh\r\n"):
            answer = self.raw(self.HEAD + close + broken + b"\r\n0\r\n\r\n")
            self.assertNotIn(b" 200 ", answer[:20])
        self.lives()

    def test_lengths_that_are_wrong(self):
        self.start("--client-timeout", "0.5")
        body = order(ROW).encode()
        for length in (b"-1", b"x", b"99999999999999999999999", b"1 2", b"", b"0x10"):
            answer = self.raw(self.HEAD + b"Connection: close\r\nContent-Length: " + length + b"\r\n\r\n" + body)
            self.assertNotIn(b" 200 ", answer[:20], length)
        # Too short: what is left is no request. Too long: the rest never comes.
        answer = self.raw(self.HEAD + b"Content-Length: 5\r\n\r\n" + body)
        self.assertIn(b"400", answer[:20])
        self.assertEqual(self.raw(self.HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body), b"")
        self.assertGreaterEqual(self.metric("quantjit_serve_timeouts_total"), 1)
        self.lives()

    def test_lengths_that_are_told_twice(self):
        self.start()
        body = order(ROW).encode()
        length = b"Content-Length: %d\r\n" % len(body)
        coding = b"Transfer-Encoding: chunked\r\n"
        hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        for lengths in (length + b"Content-Length: 5\r\n", b"content-length: 5\r\n" + length, length + coding, coding + length):
            for sent in (body, b"0\r\n\r\n"):
                answer = self.raw(self.HEAD + lengths + b"\r\n" + sent + hidden)
                self.assertEqual((answer[:13], answer.count(b"HTTP/1.1 ")), (b"HTTP/1.1 400 ", 1), (lengths, answer))
        self.lives()

    def drip(self, client, data):
        """Sends a byte at a time until the service has had enough; how long that took."""
        begin = time.monotonic()
        client.settimeout(0.02)
        for byte in data * 1000:
            if time.monotonic() - begin > DEADLINE:
                self.fail("the service listened to a slow client for too long")
            try:
                client.sendall(bytes([byte]))
                if client.recv(1000) == b"":
                    break
            except socket.timeout:
                pass
            except (BrokenPipeError, ConnectionResetError):
                break
        return time.monotonic() - begin

    def test_heads_and_bodies_that_drip(self):
        self.start("--client-timeout", "0.5")
        for first, rest in ((b"", b"GET /healthz HTTP/1.1\r\nX: aaaaaaaa"), (b"GET /healthz HTTP/1.1\r\nX:", b"a"),
                            (self.HEAD + b"Content-Length: 60000\r\n\r\n", b" "),
                            (self.HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")):  # fmt: skip
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(first)
                self.drip(client, rest)
        self.assertEqual(self.metric("quantjit_serve_timeouts_total"), 4)
        self.lives()

    def test_a_client_that_does_not_take_its_answer_is_left(self):
        self.start("--client-timeout", "0.5")
        self.compile(ROW)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            client.connect(("127.0.0.1", self.port))
            # More than all buffers on the way hold.
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)
            wait_for("the end of its patience", lambda: self.metric("quantjit_serve_timeouts_total") == 1)
        self.lives()

    def test_waiting_for_a_compile_is_not_slow(self):
        self.start("--client-timeout", "0.3")
        self.hold_compiles()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.compile, ROW)
            slow = socket.create_connection(("127.0.0.1", self.port))
            self.addCleanup(slow.close)
            wait_for("an idle one to be dropped", lambda: self.metric("quantjit_serve_timeouts_total") >= 1)
            self.release()
            self.assertEqual(answer.result().status, 200)

    def test_requests_in_a_row_on_one_connection(self):
        self.start()
        one = self.HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(order(ROW)), order(ROW).encode())
        last = one.replace(b"Host: x", b"Host: x\r\nConnection: close")
        answers = self.raw(one + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + one + last)
        self.assertEqual(answers.count(b"HTTP/1.1 200 "), 4)
        self.assertEqual(self.metric("quantjit_compiles_total"), 1)
        connection = self.connect()
        for _ in range(3):
            connection.request("GET", "/healthz")
            self.assertEqual(Answer(connection.getresponse()).status, 200)
        connection.close()

    def test_bytes_that_are_no_request(self):
        self.start("--client-timeout", "0.5")
        for data in (b"\r\n\r\n", b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", os.urandom(3000),
                     b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"b" * 100_000,
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):  # fmt: skip
            self.assertNotIn(b" 200 ", self.raw(data)[:20], data[:20])
        self.lives()

    def test_clients_that_leave_before_their_answer(self):
        self.start("-j", "2")
        self.hold_compiles()
        for text in TEXTS[:4]:
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                body = order(text).encode()
                client.sendall(self.HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                wait_for("a compile", lambda: self.begun() + self.metric("quantjit_serve_compiles_waiting")
                         >= 2 + TEXTS.index(text))  # fmt: skip
        self.release()
        wait_for("the compiles", lambda: self.metric("quantjit_compile_seconds_count") == 4)
        self.lives()
        wait_for("all to be gone", lambda: self.metric("quantjit_serve_connections") == 1)

    def test_a_thousand_idle_connections_stop_nobody(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2500:
            self.skipTest("this machine allows too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2500, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for limit, crowded in ((4096, 0), (64, 900)):
            with self.subTest(limit=limit):
                self.start("--max-connections", limit)
                clients = []
                try:
                    for _ in range(1000):
                        clients.append(socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE))
                    self.lives()
                    self.assertGreaterEqual(self.metric("quantjit_serve_crowded_out_total"), crowded)
                    self.assertGreaterEqual(self.metric("quantjit_serve_connections_total"), 1000)
                finally:
                    for client in clients:
                        client.close()
                self.end()


class Ends(ServeTest):
    def test_a_signal_ends_it_in_order(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start()
            self.compile(ROW)
            self.assertEqual(self.end(number), "")
            self.assertFalse((self.work / "port").exists())
            self.assertRegex(self.messages(), r"serving on http://127\.0\.0\.1:\d+, \d+ compiles")

    def test_nothing_in_flight_is_lost_at_the_end(self):
        self.start("-j", "2")
        idle = self.connect()
        idle.request("GET", "/healthz")
        self.assertEqual(Answer(idle.getresponse()).status, 200)
        self.hold_compiles()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = [pool.submit(self.compile, text) for text in TEXTS[:20]]
            wait_for("all to wait", lambda: self.metric("quantjit_serve_compiles_waiting") == 18)
            self.child.send_signal(signal.SIGTERM)
            wait_for("the end to begin", lambda: self.ask("GET", "/healthz").status == 503)
            # Who comes now is told so, on a new connection and on an old one.
            self.refuse(self.compile(TEXTS[30]), 503, "Draining")
            idle.request("POST", "/v1/compile", order(TEXTS[31]))
            last = Answer(idle.getresponse())
            self.refuse(last, 503, "Draining")
            self.assertEqual(last.headers["connection"], "close")
            idle.close()
            self.assertEqual(self.ask("GET", "/v1/status").document["state"], "draining")
            self.release()
            statuses = [answer.result().status for answer in answers]
        self.assertEqual(statuses, [200] * 20)
        self.assertEqual(self.child.wait(DEADLINE), 0, self.messages())
        self.assertEqual(len(self.entries()), 20)
        with self.assertRaises(ConnectionRefusedError):
            self.ask("GET", "/healthz")

    def test_the_time_for_the_end_is_limited(self):
        self.start("-j", "1", "--drain", "0.5")
        self.hold_compiles()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            answers = [pool.submit(self.compile, text) for text in TEXTS[:3]]
            wait_for("all to wait", lambda: self.metric("quantjit_serve_compiles_waiting") == 2)
            self.end(status=1)
            for answer in answers:
                self.refuse(answer.result(), 503, "Draining")
        self.assertIn("1 compiles were not done", self.messages())

    def test_a_second_signal_ends_it_at_once(self):
        self.start("-j", "1")
        self.hold_compiles()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.compile, ROW)
            wait_for("a compile", lambda: self.metric("quantjit_serve_compiles_running") == 1)
            self.child.send_signal(signal.SIGTERM)
            wait_for("the end to begin", lambda: self.ask("GET", "/healthz").status == 503)
            self.child.send_signal(signal.SIGTERM)
            self.assertEqual(self.child.wait(DEADLINE), -signal.SIGTERM)
            self.assertIsInstance(answer.exception(), (http.client.HTTPException, OSError))

    def test_its_document_is_the_last_thing_it_says(self):
        port_file = self.work / "port"
        with subprocess.Popen(
            [BINARY, "--json", "serve", "--listen", "[::1]:0", "--port-file", port_file], env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as child:  # fmt: skip
            wait_for("the port", lambda: port_file.exists() or child.poll() is not None)
            if child.poll() is not None:
                self.skipTest(f"no IPv6 here: {child.stderr.read()}")
            child.terminate()
            out, _ = child.communicate(timeout=DEADLINE)
        self.assertEqual(child.returncode, 0)
        self.assertRegex(out, r'"address": "\[::1\]:\d+"')
