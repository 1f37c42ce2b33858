# SPDX-License-Identifier: Apache-2.0
"""A running `quantjit serve`, and clients of it, for its tests."""

import http.client
import json
import pathlib
import signal
import socket
import subprocess
import time

from harness import BINARY, FakeCompilerTest

DEADLINE = 60

ARCH = "sm_90a"
# Descriptors that differ, more than any test asks for.
TEXTS = [
    f"per_token_group_quant:in={dtype},group={group},scale={scale},layout={layout},pdl={pdl}"
    for dtype in ("bf16", "f16", "f32") for group in (16, 32, 64, 128)
    for scale, layout in (("f32", "row"), ("f32", "col"), ("ue8m0", "col")) for pdl in ("true", "false")
]  # fmt: skip


def order(traits, arch=ARCH, **more):
    return json.dumps({"traits": traits, "arch": arch, **more})


def wait_for(what, condition):
    """Polls until a condition holds."""
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


class Answer:
    """Status, headers and body."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def document(self):
        return json.loads(self.body)

    @property
    def error(self):
        """Type of the error that the body tells."""
        return self.document["error"]["type"]

    def __str__(self):
        return f"{self.status} {self.headers}\n{self.body[:600]!r}"


class ServeTest(FakeCompilerTest):
    """A test with a service that compiles with the compiler of the tests."""

    def setUp(self):
        super().setUp()
        self.environment.update(QUANTJIT_FAKE_HOLD=str(self.hold))
        self.probe = subprocess.run([BINARY, "serve", "--listen", "nonsense"], capture_output=True, text=True, check=False)
        if "without libmicrohttpd" in self.probe.stderr:
            self.skipTest("the command was built without libmicrohttpd")
        self.child = None

    def start(self, *options, **settings):
        """Starts a service and waits until it listens and its compiler is warm."""
        port_file = self.work / "port"
        self.log = open(self.work / "log", "w+")
        self.addCleanup(self.log.close)
        self.child = subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file, *map(str, options)],
            env={**self.environment, **settings}, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.log, text=True,
        )  # fmt: skip
        self.addCleanup(self.kill, self.child)

        def listening():
            self.assertIsNone(self.child.poll(), f"it ended: {self.messages()}")
            return port_file.exists()

        wait_for("the port", listening)
        self.port = int(port_file.read_text())
        return self.child

    def kill(self, child):
        child.kill()
        child.wait()
        child.stdout.close()

    def messages(self):
        return pathlib.Path(self.log.name).read_text()

    def begun(self):
        """Compiles that were begun, the first one of the start included."""
        path = pathlib.Path(str(self.hold) + ".begun")
        return path.stat().st_size if path.exists() else 0

    def hold_compiles(self):
        """From now on compiles wait for release()."""
        wait_for("the first compile", lambda: self.begun() > 0)
        self.hold.touch()

    def release(self):
        self.hold.unlink()

    def end(self, number=signal.SIGTERM, status=0):
        """Ends the service by a signal; what it wrote on standard output."""
        self.child.send_signal(number)
        out, _ = self.child.communicate(timeout=DEADLINE)
        self.assertEqual(self.child.returncode, status, self.messages())
        return out

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def ask(self, method, path, body=None, **headers):
        """One request on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def compile(self, traits, arch=ARCH, **more):
        return self.ask("POST", "/v1/compile", order(traits, arch, **more))

    def refuse(self, answer, status, error):
        """Checks an error: its status, its type, and that it tells nothing of this machine."""
        self.assertEqual((answer.status, answer.error), (status, error), answer)
        self.assertTrue(answer.document["error"]["message"], answer)
        for secret in (str(self.work), "/nvrtc/", "libnvrtc.so", "/usr/", "secret"):
            self.assertNotIn(secret, answer.body.decode(), answer)

    def metric(self, name, **headers):
        """Value of one sample of /metrics; 0 if it is not there."""
        for line in self.ask("GET", "/metrics", **headers).body.decode().splitlines():
            sample, _, value = line.rpartition(" ")
            if sample == name:
                return float(value)
        return 0

    def raw(self, data, timeout=DEADLINE):
        """Sends bytes and reads until the service closes; returns what came."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as client:
            client.sendall(data)
            return self.read_all(client)

    def read_all(self, client):
        data = b""
        while True:
            try:
                piece = client.recv(65536)
            except ConnectionResetError:
                return data
            if not piece:
                return data
            data += piece
