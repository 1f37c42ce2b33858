// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "src/base/sha256.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace quantjit::cache {

static constexpr int kProcesses = 16;
static constexpr int kRounds = 10;

/// Lines of a file, counted.
static std::map<std::string, int> count_lines(const std::string& path) {
  std::istringstream text(read_all(path));
  std::map<std::string, int> counts;
  for (std::string line; std::getline(text, line);) {
    ++counts[line];
  }
  return counts;
}

/// Sixteen processes, let go together, on `keys` cold keys.
static void stampede(int keys) {
  for (int round = 0; round < kRounds; ++round) {
    INFO("round " << round << " on " << keys << " keys");
    const TemporaryDirectory directory;
    std::vector<ChildProcess> children;
    children.reserve(kProcesses);
    for (int i = 0; i < kProcesses; ++i) {
      children.emplace_back(std::vector<std::string>{
          "compete", directory / "root", std::to_string(i % keys), directory / "witness"});
    }
    for (ChildProcess& child : children) {
      REQUIRE(child.read_line() == "ready");
    }
    for (ChildProcess& child : children) {
      child.release();
    }
    for (int i = 0; i < kProcesses; ++i) {
      ChildProcess& child = children[static_cast<std::size_t>(i)];
      const Entry wanted = make_entry(static_cast<std::uint64_t>(i % keys), 20000);
      CHECK(child.read_line() == base::to_hex(base::sha256(wanted.code)));
      CHECK(child.wait() == 0);
    }
    const std::map<std::string, int> compiles = count_lines(directory / "witness");
    CHECK(compiles.size() == static_cast<std::size_t>(keys));
    for (const auto& [key, count] : compiles) {
      INFO("key " << key);
      CHECK(count == 1);
    }
    CHECK(leftovers_below(directory.path()).empty());
    CaughtWarnings warnings;
    CHECK(CubinStore(options_for({directory / "root"}, warnings)).list().size() ==
          static_cast<std::size_t>(keys));
  }
}

TEST_CASE("CubinStore: 16 processes on one cold key compile it once", "[cache]") {
  stampede(1);
}

TEST_CASE("CubinStore: 16 processes on 4 cold keys compile each once", "[cache]") {
  stampede(4);
}

TEST_CASE("CubinStore: different keys are compiled at the same time, by one process each",
          "[cache]") {
  constexpr int kKeys = 4;
  const TemporaryDirectory directory;
  const auto start = [&](int key) {
    return ChildProcess(
        {"compete-and-wait", directory / "root", std::to_string(key), directory / "witness"});
  };
  // Each says that it compiles before any of them may end: none waits for another key's.
  std::vector<ChildProcess> compilers;
  for (int key = 0; key < kKeys; ++key) {
    compilers.push_back(start(key));
    REQUIRE(compilers.back().read_line() == "compiling");
  }
  CHECK(files_below(directory / "root/v1/leases").size() == kKeys);
  std::vector<ChildProcess> waiters;
  for (int key = 0; key < kKeys; ++key) {
    waiters.push_back(start(key));
  }
  for (ChildProcess& compiler : compilers) {
    compiler.release();
  }
  for (std::vector<ChildProcess>* group : {&compilers, &waiters}) {
    for (int key = 0; key < kKeys; ++key) {
      ChildProcess& child = (*group)[static_cast<std::size_t>(key)];
      const Entry wanted = make_entry(static_cast<std::uint64_t>(key), 20000);
      CHECK(child.read_line() == base::to_hex(base::sha256(wanted.code)));
      CHECK(child.wait() == 0);
    }
  }
  for (const auto& [key, count] : count_lines(directory / "witness")) {
    INFO("key " << key);
    CHECK(count == 1);
  }
  CHECK(leftovers_below(directory.path()).empty());
}

}  // namespace quantjit::cache
