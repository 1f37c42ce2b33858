// SPDX-License-Identifier: Apache-2.0
// The store on a file system that behaves as network file systems do on bad days. A library that is
// preloaded into the worker program makes system calls lie; see tests/support/nfs_shim.cpp.
#include "cache/store.hpp"
#include "src/base/dynamic_library.hpp"
#include "src/base/sha256.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"

namespace quantjit::cache {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static constexpr bool kSanitized = true;
#elif defined(__has_feature)
static constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
static constexpr bool kSanitized = false;
#endif

static std::vector<std::string> shim(int seed) {
  const std::string path = (base::executable_directory() / "quantjit_nfs_shim.so").string();
  return {"LD_PRELOAD=" + path, "QUANTJIT_NFS_SHIM_SEED=" + std::to_string(seed)};
}

TEST_CASE("Network: on a lying file system every process gets its kernel", "[cache]") {
  if (kSanitized) {
    QUANTJIT_SKIP("sanitizers must be the first library that is loaded");
  }
  for (int seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    const TemporaryDirectory directory;
    std::vector<ChildProcess> children;
    children.reserve(6);
    for (int i = 0; i < 6; ++i) {
      children.emplace_back(
          std::vector<std::string>{"compete", directory / "root", "1", directory / "witness"},
          shim(seed * 100 + i));
    }
    for (ChildProcess& child : children) {
      REQUIRE(child.read_line() == "ready");
    }
    for (ChildProcess& child : children) {
      child.release();
    }
    const Entry wanted = make_entry(1, 20000);
    for (ChildProcess& child : children) {
      CHECK(child.read_line() == base::to_hex(base::sha256(wanted.code)));
      CHECK(child.wait() == 0);
    }
    // Nothing wrong is there, and on a good day all works.
    CaughtWarnings warnings;
    CubinStore store(options_for({directory / "root"}, warnings));
    CHECK(store.verify().bad.empty());
    CHECK(store.lookup(wanted.key, wanted.key_text).status != LookupStatus::kRejected);
    CHECK(store.publish(wanted).status == PublishStatus::kPublished);
    CHECK(store.lookup(wanted.key, wanted.key_text).found());
  }
}

TEST_CASE("Network: writers on a lying file system leave only whole entries", "[cache]") {
  if (kSanitized) {
    QUANTJIT_SKIP("sanitizers must be the first library that is loaded");
  }
  const TemporaryDirectory directory;
  std::vector<ChildProcess> children;
  children.reserve(3);
  for (int i = 0; i < 3; ++i) {
    children.emplace_back(
        std::vector<std::string>{"publish", directory / "root", "0", "100", "5000", "0"},
        shim(1000 + i));
  }
  int stood = 0;
  for (ChildProcess& child : children) {
    stood += std::stoi(child.read_line());
    CHECK(child.wait() == 0);
  }
  CHECK(stood > 100);
  CHECK(stood < 300);  // else the shim did nothing
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  CHECK(store.list().size() >= 95);
  CHECK(store.verify().bad.empty());
}

}  // namespace quantjit::cache
