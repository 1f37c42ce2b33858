# SPDX-License-Identifier: Apache-2.0
"""Servers that the tests of remote tiers start: the distribution's Redis and nginx, and one that answers wrongly."""

import base64
import contextlib
import http.server
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

DEADLINE_SECONDS = 60


def find(program):
    """Path of a server's program, which may lie where only root looks."""
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds, what, seconds=DEADLINE_SECONDS):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} took more than {seconds} seconds")
        time.sleep(0.01)


class Server:
    """A server's process on a port of its own, which it keeps when it is started again."""

    program = ""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.process = None

    def command(self):
        raise NotImplementedError

    def ready(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def start(self):
        with open(self.folder / "output.log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)

        def up():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.program} ended: {(self.folder / 'output.log').read_text()}")
            return self.ready()

        wait_until(up, f"the start of {self.program}")
        return self

    def kill(self):
        """Ends it at once, as a crash would."""
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)

    def end(self, number):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
        if self.process is not None:
            self.process.wait(DEADLINE_SECONDS)
        self.process = None


class Redis(Server):
    """A Redis that keeps everything in memory. Keyword arguments are lines of its configuration."""

    program = "redis-server"

    def __init__(self, folder, **settings):
        super().__init__(folder)
        self.settings = settings

    def command(self):
        given = {"port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": str(self.folder),
                 **self.settings}  # fmt: skip
        options = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return [find("redis-server"), *options]

    def ready(self):
        with contextlib.suppress(OSError, ConnectionError):
            return self.call("PING", authenticate=False)[:1] in (b"+", b"-")
        return False

    def call(self, *words, authenticate=True):
        """The raw answer to one command."""
        password = self.settings.get("requirepass")
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            if password and authenticate:
                connection.sendall(self.encode("AUTH", password))
                connection.recv(64)
            connection.sendall(self.encode(*words))
            return connection.recv(1 << 16)

    @staticmethod
    def encode(*words):
        data = [str(word).encode() for word in words]
        return b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in data)

    def keys(self):
        answer = self.call("KEYS", "*").split(b"\r\n")
        return sorted(line.decode() for line in answer if line[:1] not in (b"*", b"$", b""))


class Nginx(Server):
    """An nginx that stores what is put (WebDAV). With a token, requests must bear it."""

    program = "nginx"

    def __init__(self, folder, token=""):
        super().__init__(folder)
        self.token = token
        (self.folder / "store").mkdir(exist_ok=True)

    def configuration(self):
        guard = f'if ($http_authorization != "Bearer {self.token}") {{ return 401; }}' if self.token else ""
        folder = self.folder
        temporary = " ".join(
            f"{kind}_temp_path {folder}/temporary/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return f"""
            daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log warn;
            events {{ worker_connections 512; }}
            http {{
                access_log off; {temporary}
                server {{
                    listen 127.0.0.1:{self.port};
                    root {folder}/store;
                    client_max_body_size 64m;
                    location / {{ {guard} dav_methods PUT DELETE; create_full_put_path on; dav_access user:rw; }}
                }}
            }}
        """

    def command(self):
        (self.folder / "temporary").mkdir(exist_ok=True)
        file = self.folder / "nginx.conf"
        file.write_text(self.configuration())
        return [find("nginx"), "-c", str(file), "-p", str(self.folder)]

    def files(self):
        return sorted(path for path in (self.folder / "store").rglob("*") if path.is_file())


class Silent:
    """A port that takes connections and never says a word."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]

    def stop(self):
        self.socket.close()


class Liar(http.server.ThreadingHTTPServer):
    """An HTTP store whose answers go wrong in a way that a test sets (`mode`). `asked` counts requests by method.

    honest; error: 500; truncated: less than announced; flipped: one bit; shortened: an honest length and less of it;
    other: another entry's body; huge: a gigabyte; slow: a byte at a time; endless: no length and no end.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.port = self.server_address[1]
        self.mode = "honest"
        self.store = {}
        self.asked = {}
        self.sent = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, address):
        pass  # clients that go away are what these tests are about


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def count(self):
        with self.server.lock:
            self.server.asked[self.command] = self.server.asked.get(self.command, 0) + 1

    def answer(self, status, body=b"", announced=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            self.server.sent += len(body)

    def do_PUT(self):
        self.count()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.mode == "error":
            self.answer(500)
            return
        self.server.store[self.path] = body
        self.answer(201)

    def do_DELETE(self):
        self.count()
        self.answer(204 if self.server.store.pop(self.path, None) is not None else 404)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.count()
        body, mode = self.server.store.get(self.path), self.server.mode
        if mode == "error":
            self.answer(500, b"no")
        elif body is None:
            self.answer(404)
        elif mode == "truncated":
            self.answer(200, body[: len(body) // 2], announced=len(body))
            self.close_connection = True
        elif mode == "shortened":
            self.answer(200, body[: len(body) // 2])
        elif mode == "flipped":
            middle = len(body) // 2
            self.answer(200, body[:middle] + bytes([body[middle] ^ 16]) + body[middle + 1 :])
        elif mode == "other":
            entries = [value for path, value in sorted(self.server.store.items()) if value != body and len(value) > 512]
            self.answer(200, entries[0])
        elif mode in ("huge", "endless"):
            self.pour(announced=mode == "huge")
        elif mode == "slow":
            self.drip(body)
        else:
            self.answer(200, body)

    def pour(self, announced):
        self.close_connection = True
        self.send_response(200)
        if announced:
            self.send_header("Content-Length", str(1 << 30))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        for _ in range(1 << 14):
            self.wfile.write(bytes(1 << 16))
            self.server.sent += 1 << 16

    def drip(self, body):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for byte in body:
            if self.server.stopping.wait(0.05):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
