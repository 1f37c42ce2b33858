// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/remote_fixture.hpp"

#include <atomic>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace quantjit::remote {

TEST_CASE("File tier: what is put is got, kept, replaced and removed", "[remote]") {
  const cache::TemporaryDirectory directory;
  const auto backend = backend_of("file://" + directory.path());
  const Name name = name_of('a');
  CHECK(backend->get(name, generous()).outcome == Outcome::kAbsent);
  CHECK(backend->head(name, generous()).outcome == Outcome::kAbsent);
  CHECK(backend->remove(name, generous()).outcome == Outcome::kAbsent);
  const std::string bytes("a\0b\n\xff", 5);
  CHECK(backend->put(name, bytes, Overwrite::kKeep, generous()).found());
  CHECK(backend->get(name, generous()).body == bytes);
  CHECK(backend->head(name, generous()).found());
  CHECK(backend->put(name, "other", Overwrite::kKeep, generous()).outcome == Outcome::kKept);
  CHECK(backend->get(name, generous()).body == bytes);
  CHECK(backend->put(name, "other", Overwrite::kReplace, generous()).found());
  CHECK(backend->get(name, generous()).body == "other");
  CHECK(backend->get(name_of('b'), generous()).outcome == Outcome::kAbsent);
  const std::string path = directory / ("aa/" + name.request + "-" + name.part);
  CHECK(cache::files_below(directory.path()) == std::vector<std::string>{path});
  CHECK(backend->remove(name, generous()).found());
  CHECK(cache::files_below(directory.path()).empty());
  CHECK_FALSE(backend->has_leases());
  CHECK_FALSE(backend->compiles());
}

TEST_CASE("File tier: a file longer than the limit is not read", "[remote]") {
  const cache::TemporaryDirectory directory;
  const auto backend = backend_of("file://" + directory.path());
  REQUIRE(
      backend->put(name_of('a'), std::string(1000, 'x'), Overwrite::kReplace, generous()).found());
  Limits limits = generous();
  limits.max_bytes = 1000;
  CHECK(backend->get(name_of('a'), limits).body.size() == 1000);
  limits.max_bytes = 999;
  const Reply reply = backend->get(name_of('a'), limits);
  CHECK(reply.outcome == Outcome::kFailed);
  CHECK(reply.body.empty());
}

TEST_CASE("File tier: links, pipes and directories are no entries, and hang nobody", "[remote]") {
  const cache::TemporaryDirectory directory;
  const auto backend = backend_of("file://" + directory.path());
  const auto path_of = [&](char digit) {
    const Name name = name_of(digit);
    ::mkdir((directory / std::string(2, digit)).c_str(), 0777);
    return directory / (std::string(2, digit) + "/" + name.request + "-" + name.part);
  };
  cache::write_file(directory / "target", "secret");
  REQUIRE(::symlink((directory / "target").c_str(), path_of('a').c_str()) == 0);
  REQUIRE(::mkfifo(path_of('b').c_str(), 0666) == 0);
  REQUIRE(::mkdir(path_of('c').c_str(), 0777) == 0);
  cache::write_file(directory / "dd", "no directory");
  for (const char digit : {'a', 'b', 'c', 'd'}) {
    INFO(digit);
    const Reply reply = in_time([&] { return backend->get(name_of(digit), generous()); });
    CHECK(reply.outcome == Outcome::kFailed);
    CHECK(reply.body.empty());
    CHECK_FALSE(reply.error.empty());
    CHECK(backend->head(name_of(digit), generous()).outcome == Outcome::kFailed);
  }
  // A put replaces the link, and does not write through it.
  CHECK(backend->put(name_of('a'), "new", Overwrite::kReplace, generous()).found());
  CHECK(cache::read_all(directory / "target") == "secret");
  CHECK(backend->get(name_of('a'), generous()).body == "new");
  CHECK(backend->put(name_of('c'), "new", Overwrite::kReplace, generous()).outcome ==
        Outcome::kFailed);
  CHECK(backend->put(name_of('d'), "new", Overwrite::kReplace, generous()).outcome ==
        Outcome::kFailed);
}

TEST_CASE("File tier: a mount that is not there is not made up for", "[remote]") {
  const cache::TemporaryDirectory directory;
  const auto backend = backend_of("file://" + directory / "mount");
  CHECK(backend->get(name_of('a'), generous()).outcome == Outcome::kAbsent);
  CHECK(backend->put(name_of('a'), "x", Overwrite::kReplace, generous()).outcome ==
        Outcome::kFailed);
  CHECK(::access((directory / "mount").c_str(), F_OK) != 0);
}

TEST_CASE("File tier: rights follow the umask", "[remote]") {
  const cache::TemporaryDirectory directory;
  const auto backend = backend_of("file://" + directory.path());
  const mode_t before = ::umask(027);
  const Reply reply = backend->put(name_of('a'), "x", Overwrite::kReplace, generous());
  ::umask(before);
  CHECK(reply.found());
  CHECK(cache::mode_of(cache::files_below(directory.path()).at(0)) == 0640);
  CHECK(cache::mode_of(directory / "aa") == 0750);
}

TEST_CASE("File tier: a time limit that has passed leaves nothing behind", "[remote]") {
  const cache::TemporaryDirectory directory;
  const auto backend = backend_of("file://" + directory.path());
  Limits limits = generous();
  limits.timeout = std::chrono::milliseconds(0);
  CHECK(backend->put(name_of('a'), "x", Overwrite::kReplace, limits).outcome == Outcome::kFailed);
  CHECK(cache::files_below(directory.path()).empty());
  REQUIRE(backend->put(name_of('a'), "x", Overwrite::kReplace, generous()).found());
  CHECK(backend->get(name_of('a'), limits).outcome == Outcome::kFailed);
}

TEST_CASE("File tier: a reader sees whole files only, and one of several keepers wins",
          "[remote]") {
  const cache::TemporaryDirectory directory;
  const std::string url = "file://" + directory.path();
  constexpr int kRounds = 50;
  std::atomic<int> kept = 0;
  std::atomic<int> made = 0;
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto backend = backend_of(url);
      const std::string bytes(200'000, static_cast<char>('a' + i));
      for (int round = 0; round < kRounds; ++round) {
        backend->put(name_of('a'), bytes, Overwrite::kReplace, generous());
        const Reply reply = backend->get(name_of('a'), generous());
        const bool whole = reply.body.size() == bytes.size() &&
                           reply.body.find_first_not_of(reply.body.front()) == std::string::npos;
        torn += whole ? 0 : 1;
        const Name own = name_of('b', std::to_string(round));
        const Outcome outcome = backend->put(own, bytes, Overwrite::kKeep, generous()).outcome;
        kept += outcome == Outcome::kKept ? 1 : 0;
        made += outcome == Outcome::kFound ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(torn == 0);
  CHECK(made == kRounds);
  CHECK(kept == 3 * kRounds);
  CHECK(cache::files_below(directory.path()).size() == kRounds + 1);
}

}  // namespace quantjit::remote
