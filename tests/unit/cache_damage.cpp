// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

namespace quantjit::cache {

using test::ContainsSubstring;

namespace fs = std::filesystem;

/// Publishes, damages, and follows the whole way back to a hit.
static void check_healing(const std::string& what, const std::string& reason,
                          const std::function<void(const std::string& path)>& damage) {
  INFO("damage: " << what);
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1);
  const std::string path = store.publish(entry).path;
  fs::remove(path);
  damage(path);
  const LookupResult broken = store.lookup(entry.key, entry.key_text);
  CHECK(broken.status == LookupStatus::kRejected);
  CHECK_FALSE(broken.entry.has_value());
  CHECK_THAT(broken.reason, ContainsSubstring(reason));
  REQUIRE(warnings.count() == 1);
  CHECK_THAT(warnings.all()[0], ContainsSubstring(broken.path));
  CHECK_THAT(warnings.all()[0], ContainsSubstring(reason));
  CHECK(counter(store, Counter::kRejected) == 1);
  CHECK(counter(store, Counter::kQuarantined) == 1);
  // It is out of the way: the next one is a plain miss, the rebuilt one a hit.
  CHECK(store.lookup(entry.key, entry.key_text).status == LookupStatus::kAbsent);
  CHECK(store.publish(entry).status == PublishStatus::kPublished);
  const LookupResult healed = store.lookup(entry.key, entry.key_text);
  REQUIRE(healed.found());
  CHECK(same_entry(*healed.entry, entry));
  CHECK(warnings.count() == 1);
}

TEST_CASE("CubinStore: damaged bytes are a miss, one warning, and heal", "[cache]") {
  const std::string good = serialize(make_entry(1));
  const auto writes = [](std::string bytes) {
    return [bytes = std::move(bytes)](const std::string& path) {
      write_file(path, bytes);
      fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    };
  };
  const auto flipped = [&](std::size_t at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    return bytes;
  };
  check_healing("empty", "shorter", writes(""));
  check_healing("one byte", "shorter", writes(good.substr(0, 1)));
  check_healing("half", "shorter", writes(good.substr(0, good.size() / 2)));
  check_healing("last byte missing", "shorter", writes(good.substr(0, good.size() - 1)));
  check_healing("one byte more", "size", writes(good + "x"));
  check_healing("flip in the magic", "begin", writes(flipped(0)));
  check_healing("flip in the rank", "checksum", writes(flipped(24)));
  check_healing("flip in the key text", "checksum", writes(flipped(140)));
  check_healing("flip in the code", "checksum", writes(flipped(good.size() - 500)));
  check_healing("flip in the checksum", "checksum", writes(flipped(good.size() - 1)));
  check_healing("zeros", "begin", writes(std::string(good.size(), '\0')));
  check_healing("another key's entry", "another key", writes(serialize(make_entry(2))));
  std::string version = good;
  version[8] = 2;
  check_healing("a later format", "format version", writes(version));
  version[8] = 0;
  check_healing("an earlier format", "format version", writes(version));
}

TEST_CASE("CubinStore: what is no file at an entry's path is a miss and heals", "[cache]") {
  check_healing("directory", "regular file",
                [](const std::string& path) { fs::create_directory(path); });
  check_healing("directory with content", "regular file", [](const std::string& path) {
    fs::create_directories(path + "/deep/deeper");
    write_file(path + "/deep/file", "content");
  });
  check_healing("FIFO", "regular file",
                [](const std::string& path) { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); });
  check_healing("symbolic link to a good entry", "regular file", [](const std::string& path) {
    write_file(path + ".good", serialize(make_entry(1)));
    fs::create_symlink(path + ".good", path);
  });
  check_healing("dangling link", "regular file",
                [](const std::string& path) { fs::create_symlink("/nowhere", path); });
  check_healing("socket", "regular file", [](const std::string& path) {
    // A socket's name must be short, so it is made elsewhere and moved.
    const std::string name = path.substr(0, path.rfind("/root/")) + "/s";
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address {};
    address.sun_family = AF_UNIX;
    REQUIRE(name.size() < sizeof(address.sun_path));
    name.copy(address.sun_path, name.size());
    REQUIRE(::bind(file, reinterpret_cast<const struct sockaddr*>(&address), sizeof address) == 0);
    ::close(file);
    fs::rename(name, path);
  });
}

TEST_CASE("CubinStore: a device at an entry's path is not opened, and heals", "[cache]") {
  const TemporaryDirectory probe;
  if (::mknod((probe / "device").c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) {
    QUANTJIT_SKIP("device files need privileges that are not given here");
  }
  check_healing("endless zeros", "regular file", [](const std::string& path) {
    REQUIRE(::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0);
  });
}

TEST_CASE("CubinStore: a file where a shard should be is moved aside", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1);
  store.publish(make_entry(2));
  const std::string shard = (directory / "root/v1/") + entry.key.request.substr(0, 2);
  REQUIRE(shard != (directory / "root/v1/") + make_entry(2).key.request.substr(0, 2));
  SECTION("found by a lookup") {
    write_file(shard, "not a directory");
    const LookupResult broken = store.lookup(entry.key, entry.key_text);
    CHECK(broken.status == LookupStatus::kRejected);
    CHECK(broken.path == shard);
  }
  SECTION("found by publishing") {
    write_file(shard, "not a directory");
  }
  CHECK(store.publish(entry).status == PublishStatus::kPublished);
  CHECK(store.lookup(entry.key, entry.key_text).found());
}

TEST_CASE("CubinStore: publishing replaces damage without a lookup before it", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  const Entry entry = make_entry(1);
  const std::string path = store.publish(entry).path;
  fs::remove(path);
  SECTION("directory") {
    fs::create_directories(path + "/with/content");
  }
  SECTION("FIFO") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  SECTION("garbage") {
    write_file(path, "garbage");
  }
  CHECK(store.publish(entry).status == PublishStatus::kPublished);
  CHECK(store.lookup(entry.key, entry.key_text).found());
  CHECK(leftovers_below(directory.path()).empty());
}

TEST_CASE("CubinStore: the quarantine is bounded in files and bytes", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory / "root"}, warnings);
  options.max_bytes = 4000000;
  CubinStore store(options);
  for (std::uint64_t i = 0; i < 60; ++i) {
    const Entry entry = make_entry(i, 20000);
    const std::string path = store.publish(entry).path;
    write_file(path, serialize(entry).substr(0, 20000));
    CHECK(store.lookup(entry.key, entry.key_text).status == LookupStatus::kRejected);
  }
  const std::vector<std::string> kept = files_below(directory / "root/v1/quarantine");
  CHECK(kept.size() == 10);  // a twentieth of the limit
  CHECK(counter(store, Counter::kQuarantined) == 60);
  CHECK(warnings.count() == 60);
}

TEST_CASE("CubinStore: verify names every bad file and can move them aside", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < 10; ++i) {
    paths.push_back(store.publish(make_entry(i)).path);
  }
  write_file(paths[3], "garbage");
  fs::remove(paths[5]);
  fs::create_directory(paths[5]);
  const VerifyReport report = store.verify();
  CHECK(report.checked == 10);
  REQUIRE(report.bad.size() == 2);
  for (const BadEntry& bad : report.bad) {
    CHECK((bad.path == paths[3] || bad.path == paths[5]));
    CHECK_FALSE(bad.reason.empty());
  }
  CHECK(store.verify(VerifyAction::kQuarantine).bad.size() == 2);
  CHECK(store.verify().checked == 8);
  CHECK(store.verify().bad.empty());
}

}  // namespace quantjit::cache
