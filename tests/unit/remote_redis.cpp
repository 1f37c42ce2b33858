// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/remote_fixture.hpp"

#include <atomic>
#include <thread>

namespace quantjit::remote {
namespace {

using namespace std::chrono_literals;
using Command = FakeRedis::Command;

const std::string kRequest(64, 'a');
const std::string kEntry = "quantjit:1:{" + kRequest + "}:0123456789abcdef";
const std::string kLease = "quantjit:1:{" + kRequest + "}:lease-0123456789abcdef";
const std::string kFence = "quantjit:1:{" + kRequest + "}:fence";

std::string bulk(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

FakeRedis::Answer always(const std::string& answer) {
  return [answer](const Command&, int) { return answer; };
}

}  // namespace

TEST_CASE("Redis tier: commands and keys are the documented ones", "[remote]") {
  const FakeRedis redis([](const Command& command, int) -> std::string {
    if (command[0] == "GETRANGE") {
      return bulk("some\r\nbytes");
    }
    if (command[0] == "INCR") {
      return ":41\r\n";
    }
    return command[0] == "SET" ? "+OK\r\n" : ":1\r\n";
  });
  const auto backend = backend_of(redis.url("", "?ttl=1h"));
  const Name name = name_of('a');
  Limits limits = generous();
  limits.max_bytes = 5000;
  const Reply got = backend->get(name, limits);
  CHECK(got.found());
  CHECK(got.body == "some\r\nbytes");
  const std::string bytes("\0\r\n$5", 5);
  CHECK(backend->put(name, bytes, Overwrite::kReplace, limits).found());
  CHECK(backend->put(name, bytes, Overwrite::kKeep, limits).found());
  CHECK(backend->head(name, limits).found());
  CHECK(backend->remove(name, limits).found());
  std::string token;
  REQUIRE(backend->has_leases());
  CHECK(backend->acquire(name, 1500ms, token, limits) == LeaseReply::kAcquired);
  CHECK(token == "41");
  CHECK(backend->renew(name, 2s, token, limits) == LeaseReply::kAcquired);
  backend->release(name, token, limits);
  const std::vector<Command> sent = redis.commands();
  REQUIRE(sent.size() == 10);
  CHECK(sent[0] == Command{"GETRANGE", kEntry, "0", "5000"});
  CHECK(sent[1] == Command{"SET", kEntry, bytes, "EX", "3600"});
  CHECK(sent[2] == Command{"SET", kEntry, bytes, "EX", "3600", "NX"});
  CHECK(sent[3] == Command{"EXISTS", kEntry});
  CHECK(sent[4] == Command{"DEL", kEntry});
  CHECK(sent[5] == Command{"INCR", kFence});
  CHECK(sent[6] == Command{"SET", kLease, "41", "NX", "PX", "1500"});
  CHECK(sent[7] == Command{"EXPIRE", kFence, "604800"});
  REQUIRE(sent[8].size() == 6);
  CHECK(Command(sent[8].begin() + 2, sent[8].end()) == Command{"1", kLease, "41", "2000"});
  REQUIRE(sent[9].size() == 5);
  CHECK(Command(sent[9].begin() + 2, sent[9].end()) == Command{"1", kLease, "41"});
  CHECK(redis.connections() == 1);
}

TEST_CASE("Redis tier: what is not there, kept or held is told apart from failures", "[remote]") {
  const FakeRedis redis([](const Command& command, int) -> std::string {
    if (command[0] == "GETRANGE") {
      return "$0\r\n\r\n";
    }
    return command[0] == "SET" ? "$-1\r\n" : ":0\r\n";
  });
  const auto backend = backend_of(redis.url());
  const Name name = name_of('a');
  CHECK(backend->get(name, generous()).outcome == Outcome::kAbsent);
  CHECK(backend->head(name, generous()).outcome == Outcome::kAbsent);
  CHECK(backend->remove(name, generous()).outcome == Outcome::kAbsent);
  CHECK(backend->put(name, "x", Overwrite::kKeep, generous()).outcome == Outcome::kKept);
  CHECK(backend->put(name, "x", Overwrite::kReplace, generous()).outcome == Outcome::kFailed);
  std::string token;
  CHECK(backend->acquire(name, 1s, token, generous()) == LeaseReply::kHeld);
  CHECK(backend->renew(name, 1s, "7", generous()) == LeaseReply::kHeld);
}

TEST_CASE("Redis tier: each connection says who it is and which database it wants, once",
          "[remote]") {
  const FakeRedis redis([](const Command& command, int) -> std::string {
    return command[0] == "GETRANGE" ? bulk("x") : "+OK\r\n";
  });
  const auto backend = backend_of(redis.url("me:p%20w@", "/7?prefix=team"));
  for (int i = 0; i < 3; ++i) {
    CHECK(backend->get(name_of('a'), generous()).found());
  }
  const std::vector<Command> sent = redis.commands();
  REQUIRE(sent.size() == 5);
  CHECK(sent[0] == Command{"AUTH", "me", "p w"});
  CHECK(sent[1] == Command{"SELECT", "7"});
  CHECK(sent[2][1] == "team:1:{" + kRequest + "}:0123456789abcdef");
  CHECK(redis.connections() == 1);
}

TEST_CASE("Redis tier: errors that stay are refusals, errors that pass are failures", "[remote]") {
  struct Row {
    std::string error;
    Outcome outcome;
  };

  for (const Row& row : std::vector<Row>{
           {"OOM command not allowed when used memory > 'maxmemory'.", Outcome::kRefused},
           {"READONLY You can't write against a read only replica.", Outcome::kRefused},
           {"NOAUTH Authentication required.", Outcome::kRefused},
           {"WRONGPASS invalid username-password pair", Outcome::kRefused},
           {"NOPERM this user has no permissions", Outcome::kRefused},
           {"MISCONF Redis is configured to save RDB snapshots", Outcome::kRefused},
           {"MOVED 3999 127.0.0.1:6381", Outcome::kRefused},
           {"WRONGTYPE Operation against a key holding the wrong kind", Outcome::kRefused},
           {"ERR unknown command `X`, with args beginning with: `h4nter2`", Outcome::kRefused},
           {"h4nter2", Outcome::kRefused},
           {"LOADING Redis is loading the dataset in memory", Outcome::kFailed},
           {"BUSY Redis is busy running a script", Outcome::kFailed},
           {"CLUSTERDOWN Hash slot not served", Outcome::kFailed},
           {"ERR max number of clients reached", Outcome::kFailed}}) {
    INFO(row.error);
    for (const bool in_auth : {false, true}) {
      const FakeRedis redis([&](const Command& command, int) -> std::string {
        return command[0] == "AUTH" && !in_auth ? "+OK\r\n" : "-" + row.error + "\r\n";
      });
      const auto backend = backend_of(redis.url(":h4nter2@"));
      const Name name = name_of('a');
      for (const Reply& reply :
           {backend->get(name, generous()),
            backend->put(name, "x", Overwrite::kReplace, generous()),
            backend->head(name, generous()), backend->remove(name, generous())}) {
        CHECK(to_string(reply.outcome) == to_string(row.outcome));
        CHECK_FALSE(reply.error.empty());
        CHECK(reply.error.find("h4nter2") == std::string::npos);
      }
      std::string token;
      const LeaseReply none =
          row.outcome == Outcome::kRefused ? LeaseReply::kRefused : LeaseReply::kFailed;
      CHECK(backend->acquire(name, 1s, token, generous()) == none);
      CHECK(backend->renew(name, 1s, "1", generous()) == none);
      backend->release(name, "1", generous());
    }
  }
}

TEST_CASE("Redis tier: an answer that makes no sense is a failure, and ends the connection",
          "[remote]") {
  for (const std::string& answer : std::vector<std::string>{
           "HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000000\r\n", "*1\r\n*1\r\n*1\r\n", "$-7\r\n",
           "$99999999999999999999\r\n", "$abc\r\n", ":12x\r\n", "%1\r\n+a\r\n+b\r\n", "\r\n",
           ":5\r\n", "+OK\r\n", "$-1\r\n", bulk("a") + bulk("b"), std::string(3, '\0')}) {
    INFO(answer);
    const FakeRedis redis(always(answer));
    const auto backend = backend_of(redis.url());
    const Reply reply = in_time([&] { return backend->get(name_of('a'), brief()); });
    CHECK(to_string(reply.outcome) == "failed");
    CHECK(reply.body.empty());
    CHECK_FALSE(reply.error.empty());
  }
  // An answer to AUTH is none to what comes after it.
  const FakeRedis redis(always(bulk("x")));
  CHECK(backend_of(redis.url(":p@"))->get(name_of('a'), generous()).outcome == Outcome::kFailed);
}

TEST_CASE("Redis tier: the time limit holds whatever the server does", "[remote]") {
  using Serve = test::LoopbackServer::Serve;
  using Connection = test::LoopbackConnection;
  const std::vector<std::pair<std::string, Serve>> servers{
      {"never answers", [](Connection& to, int) { to.wait_for_close(); }},
      {"closes at once", [](Connection&, int) {}},
      {"resets", [](Connection& to, int) { to.reset_at_close(); }},
      {"closes in the middle of a body",
       [](Connection& to, int) {
         to.read_until("5\r\n");
         to.write("$5000\r\nhello");
       }},
      {"drips a body", [](Connection& to, int) { to.drip("$5000\r\nxxxxxxxxxxxxxxxx"); }},
      {"drips a line", [](Connection& to, int) { to.drip("+++++++++++"); }},
      {"sends a gigabyte",
       [](Connection& to, int) {
         const std::string chunk(std::size_t{1} << 16, 'x');
         bool more = to.write("$1073741824\r\n");
         for (int i = 0; more && i < 16384; ++i) {
           more = to.write(chunk);
         }
       }},
      {"sends a line without an end",
       [](Connection& to, int) {
         const std::string chunk(std::size_t{1} << 16, '+');
         while (to.write(chunk)) {
         }
       }},
  };
  for (const auto& [what, serve] : servers) {
    INFO(what);
    const test::LoopbackServer server(serve);
    for (const std::string start : {"", ":secret@"}) {
      const auto backend =
          backend_of("redis://" + start + "127.0.0.1:" + std::to_string(server.port()));
      const Name name = name_of('a');
      const Reply got = in_time([&] { return backend->get(name, brief()); });
      CHECK(to_string(got.outcome) == "failed");
      CHECK_FALSE(got.error.empty());
      const Reply put = in_time([&] {
        // More than socket buffers hold.
        return backend->put(name, std::string(std::size_t{16} << 20, 'x'), Overwrite::kReplace,
                            brief());
      });
      CHECK(put.outcome != Outcome::kFound);
      std::string token;
      CHECK(backend->acquire(name, 1s, token, brief()) != LeaseReply::kAcquired);
    }
  }
}

TEST_CASE("Redis tier: no connection is no more than a failure", "[remote]") {
  const test::BlackHole hole;
  for (const std::string& host :
       {"127.0.0.1:" + std::to_string(hole.port()),
        "127.0.0.1:" + std::to_string(test::closed_port()), std::string("host.invalid")}) {
    INFO(host);
    const auto backend = backend_of("redis://" + host + "?connect_timeout=100ms");
    const Reply reply = in_time([&] { return backend->get(name_of('a'), generous()); });
    CHECK(reply.outcome == Outcome::kFailed);
    CHECK_FALSE(reply.error.empty());
  }
}

TEST_CASE("Redis tier: a host is looked up by name", "[remote]") {
  const FakeRedis redis(always(bulk("x")));
  std::string url = redis.url();
  url.replace(url.find("127.0.0.1"), 9, "localhost");
  const auto backend = backend_of(url + "?connect_timeout=30s");
  CHECK(backend->get(name_of('a'), generous()).found());
}

TEST_CASE("Redis tier: a kept connection that has ended is replaced", "[remote]") {
  // Each connection answers twice, and ends without an answer at the third command.
  std::atomic<int> count = 0;
  const FakeRedis redis(
      [&](const Command&, int) -> std::string { return ++count % 3 == 0 ? "" : bulk("x"); });
  const auto backend = backend_of(redis.url());
  for (int i = 0; i < 9; ++i) {
    CHECK(backend->get(name_of('a'), generous()).found());
  }
  CHECK(redis.connections() >= 4);
}

TEST_CASE("Redis tier: a password file is read again when the server refuses", "[remote]") {
  const cache::TemporaryDirectory directory;
  const std::string path = directory / "password";
  const FakeRedis redis([&](const Command& command, int) -> std::string {
    if (command[0] != "AUTH") {
      return bulk("x");
    }
    if (command[1] == "old") {
      cache::write_file(path, "new\n");  // of the same length, perhaps within one tick
    }
    return command[1] == "new" ? "+OK\r\n" : "-WRONGPASS invalid\r\n";
  });
  const auto backend = backend_of(redis.url("", "?password_file=" + path));
  const Reply missing = backend->get(name_of('a'), generous());
  CHECK(missing.outcome == Outcome::kRefused);
  CHECK(redis.commands().empty());
  cache::write_file(path, "old\n");
  CHECK(backend->get(name_of('a'), generous()).found());
  REQUIRE(redis.commands().size() == 3);
  CHECK(redis.commands()[1] == Command{"AUTH", "new"});
}

TEST_CASE("Redis tier: any number of threads may call", "[remote]") {
  const FakeRedis redis([](const Command& command, int) { return bulk(command[1]); });
  const auto backend = backend_of(redis.url());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (const char digit : std::string("0123456789abcdef")) {
    threads.emplace_back([&, digit] {
      const Name name = name_of(digit);
      for (int i = 0; i < 50; ++i) {
        const Reply reply = backend->get(name, generous());
        right += reply.body == "quantjit:1:{" + name.request + "}:" + name.part ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == 16 * 50);
}

TEST_CASE("Redis tier: a forked child leaves its parent's connections alone", "[remote]") {
  const FakeRedis redis(
      [](const Command&, int connection) { return bulk(std::to_string(connection)); });
  const auto backend = backend_of(redis.url());
  REQUIRE(backend->get(name_of('a'), generous()).body == "0");
  CHECK(in_child([&] {
          return backend->get(name_of('a'), generous()).body == "1" &&
                         backend->get(name_of('a'), generous()).body == "2"
                     ? 0
                     : 1;
        }) == 0);
  CHECK(backend->get(name_of('a'), generous()).body == "0");
}

TEST_CASE("Redis tier over TLS: a server without TLS is a failure within the time limit",
          "[remote]") {
  if (redis_tls_version().empty()) {
    QUANTJIT_SKIP("this build has no OpenSSL");
  }
  using Connection = test::LoopbackConnection;
  const std::vector<std::pair<std::string, test::LoopbackServer::Serve>> servers{
      {"never answers", [](Connection& to, int) { to.wait_for_close(); }},
      {"closes", [](Connection& to, int) { to.read_bytes(1); }},
      {"drips", [](Connection& to, int) { to.drip(std::string("\x16\x03\x03\x40\x00\x02", 6)); }},
      {"speaks plain Redis", [](Connection& to, int) {
         to.write("-ERR Protocol error: expected '$'\r\n");
         to.wait_for_close();
       }}};
  for (const auto& [what, serve] : servers) {
    INFO(what);
    const test::LoopbackServer server(serve);
    const auto backend = backend_of("rediss://:secret@127.0.0.1:" + std::to_string(server.port()));
    const Reply reply = in_time([&] { return backend->get(name_of('a'), brief()); });
    CHECK(reply.outcome == Outcome::kFailed);
    CHECK_FALSE(reply.error.empty());
  }
}

}  // namespace quantjit::remote
