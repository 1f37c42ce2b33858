# SPDX-License-Identifier: Apache-2.0
"""quantjit serve: what it answers."""

import concurrent.futures
import http.server
import re
import threading
import unittest

from harness import ROW
from serving import ARCH, TEXTS, ServeTest, order, wait_for

KEY = re.compile(r"[0-9a-f]{64}-[0-9a-f]{16}")
SOURCE_TEXT = """#include "mine/params.h"
namespace mine {
template <int kWidth, bool kPdl>
__global__ void scale(const __grid_constant__ Params params) {}
}
"""
SOURCE = {
    "op": "scale_rows", "path": "mine/scale.cuh", "text": SOURCE_TEXT,
    "includes": [{"path": "mine/params.h", "text": "struct Params { int n; };\n"}],
    "keys": [{"key": "width", "values": [{"value": "4"}, {"value": "wide", "argument": "8"}]}],
    "entries": [{"function": "mine::scale", "arguments": ["width", "pdl"]}], "parameter_bytes": 4,
}  # fmt: skip


class Answers(ServeTest):
    def entry_file(self, key):
        return self.cache / "v1" / key[:2] / f"{key}.qjc"

    def test_a_miss_is_compiled_and_a_hit_is_the_same_bytes(self):
        self.start()
        first = self.compile(ROW)
        self.assertEqual(first.status, 200, first)
        self.assertEqual(first.headers["content-type"], "application/octet-stream")
        self.assertEqual(first.headers["x-quantjit-source"], "compiled")
        key = first.headers["x-quantjit-key"]
        self.assertRegex(key, KEY)
        second = self.compile(ROW)
        self.assertEqual((second.status, second.headers["x-quantjit-source"]), (200, "disk"), second)
        self.assertEqual(first.body, second.body)
        self.assertEqual(first.body, self.entry_file(key).read_bytes())
        self.assertEqual(self.metric("quantjit_compiles_total"), 1)
        # Another machine with the same compiler makes the same key, and finds its code in there.
        other = self.document("compile", ROW, "--arch", ARCH, "-o", "code", QUANTJIT_CACHE_DIR=str(self.work / "other"))
        self.assertEqual(other["key"], key)
        self.assertIn((self.work / "code").read_bytes(), first.body)

    def test_an_entry_of_the_service_is_a_hit_where_it_is_put(self):
        self.start()
        answer = self.compile(ROW)
        key = answer.headers["x-quantjit-key"]
        root = self.work / "client"
        folder = root / "v1" / key[:2]
        for made in (root, root / "v1", folder):
            made.mkdir(mode=0o700)
        file = folder / f"{key}.qjc"
        file.write_bytes(answer.body)
        file.chmod(0o600)
        found = self.document("compile", ROW, "--arch", ARCH, QUANTJIT_CACHE_DIR=str(root), QUANTJIT_JIT="off")
        self.assertEqual((found["source"], found["key"]), ("disk", key))

    def test_entries_by_key_and_by_request(self):
        self.start()
        made = self.compile(ROW)
        key = made.headers["x-quantjit-key"]
        for name in (key, key[:64]):
            got = self.ask("GET", f"/v1/entries/{name}")
            self.assertEqual((got.status, got.body), (200, made.body), got)
            self.assertEqual(got.headers["x-quantjit-key"], key)
            head = self.ask("HEAD", f"/v1/entries/{name}")
            self.assertEqual((head.status, head.body), (200, b""), head)
            self.assertEqual(int(head.headers["content-length"]), len(made.body))
        for name in ("0" * 64, "0" * 64 + "-" + "0" * 16, key[:64] + "-" + "0" * 16):
            self.refuse(self.ask("GET", f"/v1/entries/{name}"), 404, "NotFound")
        self.assertEqual(self.ask("HEAD", "/v1/entries/" + "0" * 64).status, 404)

    def test_a_damaged_entry_is_not_handed_on(self):
        self.start()
        made = self.compile(ROW)
        key = made.headers["x-quantjit-key"]
        file = self.entry_file(key)
        damaged = bytearray(file.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        file.write_bytes(damaged)
        self.assertEqual(self.ask("GET", f"/v1/entries/{key}").status, 404)
        again = self.compile(ROW)
        self.assertEqual((again.status, again.headers["x-quantjit-source"]), (200, "compiled"))
        self.assertEqual(self.metric("quantjit_rejected_entries_total"), 1)

    def test_no_path_leads_out_of_the_entries(self):
        self.start()
        for path in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "", "a" * 5000, "%00", "0" * 63,
                     "0" * 64 + ".qjc", "A" * 64, "0" * 64 + "-" + "0" * 16 + ".qjc"):  # fmt: skip
            answer = self.ask("GET", f"/v1/entries/{path}")
            self.assertIn(answer.status, (400, 404), f"{path}: {answer}")
            self.assertNotIn(b"root:", answer.body)
        for path in ("/", "/v1", "/v1/entries", "/etc/passwd", "/v1/compile/", "/metrics/.."):
            self.refuse(self.ask("GET", path), 404, "NotFound")

    def test_methods_that_a_path_is_not_for(self):
        self.start()
        for method, path in (("GET", "/v1/compile"), ("PUT", "/v1/entries/" + "0" * 64), ("DELETE", "/metrics"),
                             ("POST", "/healthz"), ("BREW", "/v1/status")):  # fmt: skip
            answer = self.ask(method, path)
            self.refuse(answer, 405, "MethodNotAllowed")
            self.assertIn("allow", answer.headers)

    def test_orders_that_are_none(self):
        self.start()
        for body in ("", "x", "[]", "null", '{"traits":1,"arch":"sm_90a"}', '{"arch":"sm_90a"}', "[" * 50000,
                     order(ROW, path="/etc/passwd"), order(ROW, file="x"), order(ROW, toolchain="zz"),
                     order(ROW, request="0" * 63), '{"traits":"per_token_quant","arch":"sm_90a","arch":"sm_90a"}',
                     b'{"traits":"\xff","arch":"sm_90a"}'):  # fmt: skip
            self.refuse(self.ask("POST", "/v1/compile", body), 400, "BadRequest")
        for traits, arch in (("nothing", ARCH), (ROW + ",group=7", ARCH), (ROW, "sm_80"), (ROW, "x")):
            self.refuse(self.compile(traits, arch), 400, "InvalidArgument")
        self.refuse(self.compile(ROW, math="slow"), 400, "InvalidArgument")
        self.refuse(self.compile(ROW, code="sass"), 400, "InvalidArgument")
        self.refuse(self.compile(ROW, source={"op": "x"}), 403, "Forbidden")
        self.assertEqual(self.metric("quantjit_compiles_total"), 0)

    def test_keys_that_are_another_one_here(self):
        self.start()
        key = self.compile(ROW).headers["x-quantjit-key"]
        request, toolchain = key.split("-")
        self.assertEqual(self.compile(ROW, request=request, toolchain=toolchain).status, 200)
        self.refuse(self.compile(ROW, request="0" * 64), 409, "RequestMismatch")
        self.refuse(self.compile(ROW, toolchain="0" * 16), 409, "ToolchainMismatch")

    def test_math_and_code_are_part_of_the_order(self):
        self.start()
        keys = [self.compile(ROW, **more).headers["x-quantjit-key"]
                for more in ({}, {"math": "fast"}, {"math": "precise"}, {"code": "cubin"}, {"code": "ptx"})]  # fmt: skip
        self.assertEqual(keys[0], keys[1], "sm_90a is fast by itself")
        self.assertEqual(keys[0], keys[4], "the service was started with --code ptx")
        self.assertEqual(len(set(keys)), 3)

    def test_a_compile_that_fails_tells_why(self):
        self.start()
        answer = self.compile(ROW, "sm_120a")
        self.refuse(answer, 422, "CompileError")
        self.assertEqual(self.metric("quantjit_compile_failures_total"), 1)

    def test_without_a_compiler_it_serves_what_it_has(self):
        made = self.document("compile", ROW, "--arch", ARCH)
        self.start(QUANTJIT_NVRTC="/nonexistent/libnvrtc.so")
        self.assertEqual(self.compile(ROW).headers["x-quantjit-key"], made["key"])
        self.refuse(self.compile(TEXTS[1]), 503, "NoCompiler")
        self.refuse(self.compile(ROW, toolchain="0" * 16), 409, "ToolchainMismatch")

    def test_a_service_that_may_not_compile(self):
        self.start("--no-jit")
        self.refuse(self.compile(ROW), 404, "SealedMiss")

    def test_many_who_want_one_kernel_cost_one_compile(self):
        self.start("-j", "2")
        self.hold_compiles()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            answers = [pool.submit(self.compile, ROW) for _ in range(40)]
            wait_for("all to wait", lambda: self.metric("quantjit_serve_joined_total") == 39)
            self.release()
            bodies = {answer.result().body for answer in answers}
        self.assertEqual(len(bodies), 1)
        self.assertEqual(self.metric("quantjit_compiles_total"), 1)
        self.assertEqual(self.begun(), 2, "one of the start, one of the kernel")

    def test_a_full_queue_is_said_and_hits_are_served_meanwhile(self):
        self.start("-j", "1", "--queue", "1")
        self.compile(ROW)
        self.hold_compiles()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = [pool.submit(self.compile, TEXTS[0])]
            wait_for("a compile", lambda: self.metric("quantjit_serve_compiles_running") == 1)
            answers.append(pool.submit(self.compile, TEXTS[1]))
            wait_for("a second one", lambda: self.metric("quantjit_serve_compiles_waiting") == 1)
            full = self.compile(TEXTS[2])
            self.refuse(full, 429, "QueueFull")
            self.assertEqual(full.headers["retry-after"], "1")
            self.assertEqual(self.compile(ROW).headers["x-quantjit-source"], "disk")
            self.assertEqual(self.ask("GET", "/healthz").status, 200)
            self.release()
            self.assertEqual([answer.result().status for answer in answers], [200, 200])

    def test_reports_of_a_running_service(self):
        self.start("-j", "3")
        self.compile(ROW)
        self.compile(ROW)
        report = self.ask("GET", "/v1/status").document
        self.assertEqual(report["answers"]["/v1/compile"], {"200": 2})
        self.assertEqual(report["service"]["compiles"], 1)
        self.assertEqual((report["state"], report["queue"]["jobs"]), ("serving", 3))
        self.assertEqual(self.metric('quantjit_serve_answers_total{path="/v1/compile",code="200"}'), 2)
        self.assertEqual(self.metric("quantjit_serve_compile_request_seconds_count"), 2)
        url = f"http://127.0.0.1:{self.port}"
        shown = self.command("serve", "--status", url)
        if "without libcurl" in shown.err:
            self.skipTest("the command was built without libcurl")
        self.assertEqual(shown.status, 0, shown)
        self.assertIn("1 done, 0 failed", shown.out)
        self.assertEqual(self.document("serve", "--status", "qj+" + url + "/")["service"]["disk_hits"], 1)
        self.end()
        self.assertIn("cannot be read", self.fails("serve", "--status", url).err)
        for address in ("file:///etc/passwd", "", "http://user:hidden@127.0.0.1"):
            self.assertNotIn("hidden", self.refuses("serve", "--status", address).err)

    def test_status_of_what_is_no_service(self):
        bodies = [b"", b"[]", b"<html>", b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
                  b" " * (5 << 20), b'{"version":"\xff"}']  # fmt: skip

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(self.server.body)))
                self.end_headers()
                self.wfile.write(self.server.body)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
            server.daemon_threads = True
            server.handle_error = lambda *_: None
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            for server.body in bodies:
                self.fails("serve", "--status", url)
            server.body = b'{"version":"\\u001b[2J","state":"' + b'","uptime_s":1,"deep":' + b"[" * 90 + b"]" * 90 + b"}"
            shown = self.command("serve", "--status", url)
            self.assertEqual((shown.status, "\033" in shown.out), (0, False), shown)
            server.shutdown()


class Sources(ServeTest):
    def test_a_kernel_of_the_client_is_compiled_and_kept_by_its_content(self):
        self.start("--allow-sources")
        first = self.compile("scale_rows:width=wide", source=SOURCE)
        self.assertEqual((first.status, first.headers["x-quantjit-source"]), (200, "compiled"), first)
        again = self.compile("scale_rows:width=wide", source=SOURCE)
        self.assertEqual((again.headers["x-quantjit-source"], again.body), ("disk", first.body))
        changed = {**SOURCE, "text": SOURCE_TEXT + "// 2\n"}
        other = self.compile("scale_rows:width=wide", source=changed)
        self.assertEqual(other.headers["x-quantjit-source"], "compiled")
        self.assertNotEqual(other.headers["x-quantjit-key"], first.headers["x-quantjit-key"])
        self.refuse(self.compile("scale_rows:width=wide"), 400, "InvalidArgument")
        self.assertEqual(self.compile(ROW).status, 200)

    def test_sources_that_break_a_rule(self):
        self.start("--allow-sources")
        for change in ({"op": "per_token_quant"}, {"path": "/etc/passwd"}, {"path": "../x.cuh"}, {"entries": []},
                       {"path": "device/amax.cuh"}, {"parameter_bytes": 0}, {"parameter_bytes": 5000},
                       {"includes": [{"path": "/etc/passwd.h", "text": ""}]},
                       {"entries": [{"function": "f<system(1)>", "arguments": []}]}):  # fmt: skip
            self.refuse(self.compile("scale_rows", source={**SOURCE, **change}), 400, "InvalidArgument")
        for change in ({"file": "/etc/passwd"}, {"text": 1}, {"more": 1}, {"parameter_bytes": -1}, {"keys": 1}):
            self.refuse(self.compile("scale_rows", source={**SOURCE, **change}), 400, "BadRequest")

    def test_no_source_makes_the_compiler_open_a_file(self):
        self.start("--allow-sources")
        for line in ('#include "/etc/passwd"', "#include </etc/passwd>", '#include "../../etc/passwd.h"',
                     '%:include "/etc/passwd"', '??=include "/etc/passwd"', '#inc\\\nlude "/etc/passwd"',
                     '#inc\\ \nlude "/etc/passwd"', '/**/ #include "/etc/passwd"', '# /*\n*/ include "/etc/passwd"',
                     '#include/**/"/etc/passwd"', "#define X </etc/passwd>\n#include X", '#embed "/etc/passwd"',
                     '#import "/etc/passwd"', '#include_next "mine/params.h"', 'R"(" /* )"\n#include "etc/passwd.h"',
                     '#if __has_include("/etc/passwd")\n#endif', '#include "a" "/etc/passwd"', "\0"):  # fmt: skip
            answer = self.compile("scale_rows", source={**SOURCE, "text": line + "\n" + SOURCE_TEXT})
            self.refuse(answer, 400, "InvalidArgument")
        # What is hidden from the reader of includes names no file of the machine either.
        answer = self.compile("scale_rows", source={**SOURCE, "text": '#include "missing.h"\n' + SOURCE_TEXT})
        self.refuse(answer, 422, "CompileError")
        self.assertEqual(self.metric("quantjit_serve_source_compiles_total"), 0)


if __name__ == "__main__":
    unittest.main()
