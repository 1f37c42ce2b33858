// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/remote_fixture.hpp"

#include <atomic>
#include <stdlib.h>  // setenv
#include <thread>

namespace quantjit::remote {
namespace {

using namespace std::chrono_literals;
using test::ContainsSubstring;
using Request = FakeHttp::Request;

const std::string kRequest(64, 'a');
const std::string kFull = kRequest + "-0123456789abcdef";

FakeHttp::Answer always(const std::string& answer) {
  return [answer](const Request&, int) { return answer; };
}

/// The outcome of each kind of call, in words.
std::string outcomes(Backend& backend, const Limits& limits) {
  const Name name = name_of('a');
  return to_string(backend.get(name, limits).outcome) + " " +
         to_string(backend.put(name, "x", Overwrite::kReplace, limits).outcome) + " " +
         to_string(backend.put(name, "x", Overwrite::kKeep, limits).outcome) + " " +
         to_string(backend.head(name, limits).outcome) + " " +
         to_string(backend.remove(name, limits).outcome);
}

}  // namespace

TEST_CASE("HTTP tier: requests are the documented ones", "[remote]") {
  const FakeHttp http([](const Request& request, int) {
    return request.line.starts_with("HEAD")
               ? "HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n"
               : http_answer(200, "body");
  });
  const auto backend = backend_of(http.url("http", "me:p%20w@", "/base/x%20y/"));
  const Name name = name_of('a');
  const std::string bytes("\0\r\n\xff", 4);
  const Reply got = backend->get(name, generous());
  CHECK(got.found());
  CHECK(got.body == "body");
  CHECK(backend->put(name, bytes, Overwrite::kReplace, generous()).found());
  CHECK(backend->put(name, "", Overwrite::kKeep, generous()).found());
  CHECK(backend->head(name, generous()).found());
  CHECK(backend->remove(name, generous()).found());
  CHECK_FALSE(backend->has_leases());
  CHECK_FALSE(backend->compiles());
  const std::vector<Request> sent = http.requests();
  REQUIRE(sent.size() == 5);
  const std::string path = " /base/x%20y/aa/" + kFull;
  CHECK(sent[0].line == "GET" + path);
  CHECK(sent[1].line == "PUT" + path);
  CHECK(sent[1].body == bytes);
  CHECK(sent[1].has("Content-Type: application/octet-stream"));
  CHECK_FALSE(sent[1].has("If-None-Match: *"));
  CHECK(sent[2].line == "PUT" + path);
  CHECK(sent[2].body.empty());
  CHECK(sent[2].has("If-None-Match: *"));
  CHECK(sent[3].line == "HEAD" + path);
  CHECK(sent[4].line == "DELETE" + path);
  for (const Request& request : sent) {
    CHECK(request.has("Authorization: Basic bWU6cCB3"));
    CHECK(request.headers.find("Expect") == std::string::npos);
  }
  CHECK(http.connections() == 1);
}

TEST_CASE("HTTP tier: the layout of caches for Bazel is a hash below ac", "[remote]") {
  const FakeHttp http(always(http_answer(200)));
  const auto backend = backend_of(http.url("http", "", "/cache?layout=bazel"));
  CHECK(backend->put(name_of('a'), "x", Overwrite::kReplace, generous()).found());
  CHECK(http.requests().at(0).line == "PUT /cache/ac/" + base::to_hex(base::sha256(kFull)));
}

TEST_CASE("HTTP tier: each status has its meaning", "[remote]") {
  struct Row {
    int status;
    std::string meaning;  ///< of get, put, put if absent, head, remove
  };

  for (const Row& row : std::vector<Row>{{200, "found found found found found"},
                                         {201, "failed found found found found"},
                                         {204, "failed found found found found"},
                                         {206, "failed found found found found"},
                                         {301, "refused refused refused refused refused"},
                                         {302, "refused refused refused refused refused"},
                                         {400, "refused refused refused refused refused"},
                                         {401, "refused refused refused refused refused"},
                                         {403, "refused refused refused refused refused"},
                                         {404, "absent absent absent absent absent"},
                                         {405, "refused refused refused refused refused"},
                                         {410, "absent absent absent absent absent"},
                                         {412, "refused refused kept refused refused"},
                                         {413, "refused refused refused refused refused"},
                                         {429, "refused refused refused refused refused"},
                                         {500, "failed failed failed failed failed"},
                                         {502, "failed failed failed failed failed"},
                                         {503, "failed failed failed failed failed"},
                                         {507, "refused refused refused refused refused"}}) {
    INFO(row.status);
    const FakeHttp http([&](const Request& request, int) {
      return http_answer(row.status,
                         request.line.starts_with("HEAD") || row.status == 204 ? "" : "hello");
    });
    CHECK(outcomes(*backend_of(http.url()), generous()) == row.meaning);
  }
}

TEST_CASE("HTTP tier: the time limit holds whatever the server does", "[remote]") {
  using Connection = test::LoopbackConnection;
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::vector<std::pair<std::string, test::LoopbackServer::Serve>> servers{
      {"never answers", [](Connection& to, int) { to.wait_for_close(); }},
      {"closes at once", [](Connection&, int) {}},
      {"resets", [](Connection& to, int) { to.reset_at_close(); }},
      {"drips headers", [](Connection& to, int) { to.drip("HTTP/1.1 200 OK\r\nA: bbbbbbbbb"); }},
      {"drips a body",
       [&](Connection& to, int) {
         to.read_until("\r\n\r\n");
         to.write(head + "Content-Length: 100000\r\n\r\n");
         to.drip("xxxxxxxx");
       }},
      {"closes in the middle of a body",
       [&](Connection& to, int) {
         to.read_until("\r\n\r\n");
         to.write(head + "Content-Length: 1000\r\n\r\nhello");
       }},
      {"promises more than it sends, and waits",
       [&](Connection& to, int) {
         to.read_until("\r\n\r\n");
         to.write(head + "Content-Length: 1000\r\n\r\nhello");
         to.wait_for_close();
       }},
      {"sends a gigabyte",
       [&](Connection& to, int) {
         const std::string chunk(std::size_t{1} << 16, 'x');
         to.read_until("\r\n\r\n");
         bool more = to.write(head + "Content-Length: 1073741824\r\n\r\n");
         for (int i = 0; more && i < 16384; ++i) {
           more = to.write(chunk);
         }
       }},
      {"sends chunks without an end",
       [&](Connection& to, int) {
         const std::string chunk = "10000\r\n" + std::string(std::size_t{1} << 16, 'x') + "\r\n";
         to.read_until("\r\n\r\n");
         to.write(head + "Transfer-Encoding: chunked\r\n\r\n");
         while (to.write(chunk)) {
         }
       }},
      {"ends in the middle of a chunk",
       [&](Connection& to, int) {
         to.read_until("\r\n\r\n");
         to.write(head + "Transfer-Encoding: chunked\r\n\r\n10\r\nhello");
       }},
      {"sends chunks that are none",
       [&](Connection& to, int) {
         to.read_until("\r\n\r\n");
         to.write(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n");
       }},
      {"sends headers without an end",
       [&](Connection& to, int) {
         bool more = to.write(head);
         while (more) {
           more = to.write("X-Header: " + std::string(1000, 'x') + "\r\n");
         }
       }},
      {"speaks Redis", [](Connection& to, int) { to.write("-ERR unknown command 'GET'\r\n"); }},
      {"sends noise", [](Connection& to, int) { to.write(std::string(1000, '\xee')); }},
  };
  for (const auto& [what, serve] : servers) {
    INFO(what);
    const test::LoopbackServer server(serve);
    const auto backend = backend_of("http://127.0.0.1:" + std::to_string(server.port()));
    const Reply got = in_time([&] { return backend->get(name_of('a'), brief()); });
    CHECK(to_string(got.outcome) == "failed");
    CHECK(got.body.empty());
    CHECK_FALSE(got.error.empty());
    const Reply put = in_time([&] {
      return backend->put(name_of('a'), std::string(std::size_t{16} << 20, 'x'),
                          Overwrite::kReplace, brief());
    });
    CHECK_FALSE((put.outcome == Outcome::kKept || put.outcome == Outcome::kAbsent));
  }
}

TEST_CASE("HTTP tier: no connection is no more than a failure", "[remote]") {
  const test::BlackHole hole;
  for (const std::string& host :
       {"127.0.0.1:" + std::to_string(hole.port()),
        "127.0.0.1:" + std::to_string(test::closed_port()), std::string("host.invalid")}) {
    INFO(host);
    const auto backend = backend_of("http://" + host + "?connect_timeout=100ms");
    const Reply reply = in_time([&] { return backend->get(name_of('a'), generous()); });
    CHECK(reply.outcome == Outcome::kFailed);
    CHECK_FALSE(reply.error.empty());
  }
}

TEST_CASE("HTTP tier: a body is read up to the limit and no further", "[remote]") {
  const FakeHttp http(always(http_answer(200, std::string(1000, 'x'))));
  const auto backend = backend_of(http.url());
  Limits limits = generous();
  limits.max_bytes = 1000;
  CHECK(backend->get(name_of('a'), limits).body.size() == 1000);
  limits.max_bytes = 999;
  const Reply reply = backend->get(name_of('a'), limits);
  CHECK(reply.outcome == Outcome::kFailed);
  CHECK_THAT(reply.error, ContainsSubstring("longer than what is read"));
}

TEST_CASE("HTTP tier: what a server says beside its status changes nothing", "[remote]") {
  const std::string endless = "\r\nContent-Length: 1073741824\r\n\r\n" + std::string(100000, 'x');
  for (const auto& [answer, meaning] : std::vector<std::pair<std::string, std::string>>{
           {"HTTP/1.1 404 Not Found" + endless, "absent"},
           {"HTTP/1.1 403 Forbidden" + endless, "refused"},
           {"HTTP/1.1 500 Oops" + endless, "failed"}}) {
    INFO(meaning);
    const FakeHttp http(always(answer));
    const auto backend = backend_of(http.url());
    const Reply reply = in_time([&] { return backend->get(name_of('a'), generous()); });
    CHECK(to_string(reply.outcome) == meaning);
  }
}

TEST_CASE("HTTP tier: no redirection is followed", "[remote]") {
  const FakeHttp other(always(http_answer(200, "of another server")));
  const FakeHttp http([&](const Request&, int) {
    return "HTTP/1.1 307 Elsewhere\r\nLocation: " + other.url() + "/\r\nContent-Length: 0\r\n\r\n";
  });
  const auto backend = backend_of(http.url("http", "me:secret@"));
  CHECK(outcomes(*backend, generous()) == "refused refused refused refused refused");
  CHECK(other.connections() == 0);
}

TEST_CASE("HTTP tier: a token file is read again when the server says 401", "[remote]") {
  const cache::TemporaryDirectory directory;
  const std::string path = directory / "token";
  const FakeHttp http([&](const Request& request, int) {
    if (request.has("Authorization: Bearer old")) {
      cache::write_file(path, "new");  // of the same length, perhaps within one tick
    }
    return request.has("Authorization: Bearer new") ? http_answer(200, "x") : http_answer(401);
  });
  const auto backend = backend_of(http.url("http", "", "?token_file=" + path));
  CHECK(backend->get(name_of('a'), generous()).outcome == Outcome::kRefused);
  for (const std::string& content :
       {std::string("a\nb"), std::string("a\x01"), std::string(), std::string(100000, 'a')}) {
    cache::write_file(path, content);
    CHECK(backend->get(name_of('a'), generous()).outcome == Outcome::kRefused);
  }
  CHECK(http.requests().empty());
  cache::write_file(path, "old\n");
  CHECK(backend->get(name_of('a'), generous()).found());
  CHECK(http.requests().size() == 2);
  cache::write_file(path, "bad\n");
  CHECK(backend->get(name_of('a'), generous()).outcome == Outcome::kRefused);
  CHECK(http.requests().size() == 3);
}

TEST_CASE("HTTP tier: only its own proxy is used", "[remote]") {
  const FakeHttp proxy(always(http_answer(200, "by proxy")));
  const FakeHttp http(always(http_answer(200, "directly")));
  const std::string proxy_url = proxy.url();
  REQUIRE(::setenv("http_proxy", proxy_url.c_str(), 1) == 0);
  const std::string body = backend_of(http.url())->get(name_of('a'), generous()).body;
  REQUIRE(::setenv("no_proxy", "*", 1) == 0);
  const std::string other =
      backend_of(http.url("http", "", "?proxy=" + proxy_url))->get(name_of('a'), generous()).body;
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
  CHECK(body == "directly");
  CHECK(other == "by proxy");
}

TEST_CASE("HTTP tier: a kept connection that has ended is replaced", "[remote]") {
  std::atomic<int> count = 0;
  const FakeHttp http([&](const Request&, int) {
    return ++count % 3 == 0 ? std::string() : http_answer(200, "x");
  });
  const auto backend = backend_of(http.url());
  for (int i = 0; i < 9; ++i) {
    CHECK(backend->get(name_of('a'), generous()).found());
  }
  CHECK(http.connections() >= 4);
}

TEST_CASE("HTTP tier: any number of threads may call", "[remote]") {
  const FakeHttp http([](const Request& request, int) { return http_answer(200, request.line); });
  const auto backend = backend_of(http.url());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (const char digit : std::string("0123456789abcdef")) {
    threads.emplace_back([&, digit] {
      const Name name = name_of(digit);
      const std::string full = name.request + "-" + name.part;
      for (int i = 0; i < 50; ++i) {
        const std::string body = backend->get(name, generous()).body;
        right += body == "GET /" + std::string(2, digit) + "/" + full ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == 16 * 50);
}

TEST_CASE("HTTP tier: a forked child leaves its parent's connections alone", "[remote]") {
  const FakeHttp http(
      [](const Request&, int connection) { return http_answer(200, std::to_string(connection)); });
  const auto backend = backend_of(http.url());
  REQUIRE(backend->get(name_of('a'), generous()).body == "0");
  CHECK(in_child([&] {
          return backend->get(name_of('a'), generous()).body == "1" &&
                         backend->get(name_of('a'), generous()).body == "2"
                     ? 0
                     : 1;
        }) == 0);
  CHECK(backend->get(name_of('a'), generous()).body == "0");
}

}  // namespace quantjit::remote
