// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "cache/trust.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace quantjit::cache {

using test::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kStranger = 12345;

void set_mode(const std::string& path, mode_t mode) {
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

void give_to(const std::string& path, uid_t owner) {
  REQUIRE(::lchown(path.c_str(), owner, static_cast<gid_t>(-1)) == 0);
}

/// What a warm root that is changed by `spoil` looks like to a new store.
struct Refusal {
  std::string reason;
  std::string warning;
};

Refusal refuse(const std::function<void(const TemporaryDirectory&)>& spoil,
               const std::string& root = "outer/root") {
  const TemporaryDirectory directory;
  CaughtWarnings quiet;
  const Entry entry = make_entry(1);
  CubinStore(options_for({directory / "outer/root"}, quiet)).publish(entry);
  spoil(directory);
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / root}, warnings));
  const LookupResult found = store.lookup(entry.key, entry.key_text);
  CHECK_FALSE(found.found());
  CHECK(store.publish(make_entry(2)).status == PublishStatus::kNoWritableRoot);
  CHECK(store.list().empty());
  const StoreStats stats = store.stats();
  CHECK_FALSE(stats.roots[0].trusted);
  CHECK(warnings.count() == 1);
  return {stats.roots[0].reason, warnings.all().at(0)};
}

}  // namespace

TEST_CASE("Trust: roots that strangers can write are refused with the reason", "[cache]") {
  for (const mode_t mode : {mode_t{0777}, mode_t{0770}, mode_t{01777}, mode_t{0702}}) {
    INFO("mode " << mode);
    const Refusal refusal =
        refuse([&](const TemporaryDirectory& d) { set_mode(d / "outer/root", mode); });
    CHECK_THAT(refusal.reason, ContainsSubstring("writable by"));
    CHECK_THAT(refusal.reason, ContainsSubstring("outer/root"));
    CHECK_THAT(refusal.warning, ContainsSubstring(refusal.reason));
  }
  CHECK_THAT(refuse([](const TemporaryDirectory& d) { set_mode(d / "outer", 0777); }).reason,
             ContainsSubstring("outer is writable by others"));
  CHECK_THAT(
      refuse([](const TemporaryDirectory& d) { set_mode(d / "outer/root/v1", 0777); }).reason,
      ContainsSubstring("v1 is writable by others"));
}

TEST_CASE("Trust: an ancestor with the sticky bit is accepted, as /tmp is", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  fs::create_directory(directory / "outer");
  set_mode(directory / "outer", 01777);
  CubinStore store(options_for({directory / "outer/root"}, warnings));
  CHECK(store.publish(make_entry(1)).status == PublishStatus::kPublished);
  CHECK(warnings.count() == 0);
}

TEST_CASE("Trust: symbolic links at the end are refused, trusted ones on the way are followed",
          "[cache]") {
  CHECK_THAT(refuse(
                 [](const TemporaryDirectory& d) {
                   fs::create_directory_symlink(d / "outer/root", d / "link");
                 },
                 "link")
                 .reason,
             ContainsSubstring("symbolic link"));
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  fs::create_directories(directory / "real/deep");
  fs::create_directory_symlink("real", directory / "relative");
  fs::create_directory_symlink(directory / "relative/deep", directory / "absolute");
  CubinStore store(options_for({directory / "absolute/../deep/./root/"}, warnings));
  CHECK(store.publish(make_entry(1)).status == PublishStatus::kPublished);
  CHECK(store.lookup(make_entry(1).key, make_entry(1).key_text).found());
  CHECK(warnings.count() == 0);

  // What a link leads through counts, and so does a circle of them.
  set_mode(directory / "real", 0777);
  CHECK_FALSE(check_private_directory(posix_file_system(), directory / "absolute/root", ::geteuid())
                  .trusted);
  fs::create_symlink("circle", directory / "circle");
  const TrustVerdict circle =
      check_private_directory(posix_file_system(), directory / "circle/root", ::geteuid());
  CHECK_FALSE(circle.trusted);
  CHECK_THAT(circle.reason, ContainsSubstring("ELOOP"));
}

TEST_CASE("Trust: what other users own is refused", "[cache]") {
  if (::geteuid() != 0) {
    QUANTJIT_SKIP("only root can make files of other users");
  }
  CHECK_THAT(
      refuse([](const TemporaryDirectory& d) { give_to(d / "outer/root", kStranger); }).reason,
      ContainsSubstring("owned by user 12345"));
  CHECK_THAT(refuse([](const TemporaryDirectory& d) { give_to(d / "outer", kStranger); }).reason,
             ContainsSubstring("owned by user 12345"));
  CHECK_THAT(refuse(
                 [](const TemporaryDirectory& d) {
                   set_mode(d.path(), 01777);
                   fs::create_directory_symlink(d / "outer", d / "link");
                   give_to(d / "link", kStranger);
                 },
                 "link/root")
                 .reason,
             ContainsSubstring("owned by user 12345"));
}

TEST_CASE("Trust: root's files are good for all, and a user's are not for root's peers",
          "[cache]") {
  if (::geteuid() != 0) {
    QUANTJIT_SKIP("only root can act as another user");
  }
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Entry entry = make_entry(1);
  CubinStore(options_for({directory / "root"}, warnings)).publish(entry);
  // As a system administrator would install a warm cache for everyone.
  for (const auto& item : fs::recursive_directory_iterator(directory.path())) {
    fs::permissions(item.path(), fs::perms(item.is_directory() ? 0755 : 0644));
  }
  fs::permissions(directory / "root", fs::perms(0755));
  fs::permissions(directory.path(), fs::perms(0755));
  REQUIRE(::seteuid(kStranger) == 0);
  const bool found = CubinStore(options_for({directory / "root"}, warnings))
                         .lookup(entry.key, entry.key_text)
                         .found();
  REQUIRE(::seteuid(0) == 0);
  CHECK(found);
  CHECK(warnings.count() == 1);  // it cannot be written
}

TEST_CASE("Trust: an entry that a stranger planted or may write is not loaded", "[cache]") {
  const Entry entry = make_entry(1);
  const auto check = [&](const std::function<void(const std::string&)>& spoil) {
    const TemporaryDirectory directory;
    CaughtWarnings warnings;
    CubinStore store(options_for({directory / "root"}, warnings));
    const std::string path = store.publish(entry).path;
    spoil(path);
    const LookupResult found = store.lookup(entry.key, entry.key_text);
    CHECK(found.status == LookupStatus::kRejected);
    CHECK_THAT(found.reason, ContainsSubstring("owned by another user"));
    CHECK(warnings.count() == 1);
    CHECK(store.publish(entry).status == PublishStatus::kPublished);
    CHECK(store.lookup(entry.key, entry.key_text).found());
  };
  check([](const std::string& path) { set_mode(path, 0666); });
  check([](const std::string& path) { set_mode(path, 0620); });
  if (::geteuid() == 0) {
    check([](const std::string& path) { give_to(path, kStranger); });
  }
}

namespace {

/// A root that anyone may write, and a key that only the owner may read.
struct SharedRoot {
  TemporaryDirectory directory;
  CaughtWarnings warnings;

  SharedRoot() {
    fs::create_directory(directory / "root");
    set_mode(directory / "root", 0777);
    write_key("0123456789abcdef0123456789abcdef", 0600);
  }

  void write_key(const std::string& key, mode_t mode) const {
    write_file(directory / "key", key);
    set_mode(directory / "key", mode);
  }

  StoreOptions options() {
    StoreOptions made = options_for({}, warnings);
    made.roots = {{directory / "root", directory / "key"}};
    return made;
  }
};

}  // namespace

TEST_CASE("Trust: a shared root works with a MAC key, for those who have the key", "[cache]") {
  SharedRoot shared;
  const Entry entry = make_entry(1);
  const std::string path = CubinStore(shared.options()).publish(entry).path;
  CHECK(mode_of(path) == 0644);
  {
    CubinStore store(shared.options());
    CHECK(store.lookup(entry.key, entry.key_text).found());
    CHECK(store.stats().roots[0].trusted);
    CHECK(store.stats().roots[0].shared);
  }
  // A right checksum is not enough, wherever it comes from.
  write_file(path, serialize(entry));
  CubinStore store(shared.options());
  const LookupResult planted = store.lookup(entry.key, entry.key_text);
  CHECK(planted.status == LookupStatus::kRejected);
  CHECK_THAT(planted.reason, ContainsSubstring("not sealed the way"));
  store.publish(entry);
  shared.write_key("another key that is long enough", 0600);
  CubinStore other(shared.options());
  CHECK(other.lookup(entry.key, entry.key_text).status == LookupStatus::kRejected);
}

TEST_CASE("Trust: entries of strangers are loaded from a shared root only under the MAC",
          "[cache]") {
  if (::geteuid() != 0) {
    QUANTJIT_SKIP("only root can make files of other users");
  }
  SharedRoot shared;
  const Entry entry = make_entry(1);
  CubinStore store(shared.options());
  const std::string path = store.publish(entry).path;
  give_to(path, kStranger);
  CHECK(store.lookup(entry.key, entry.key_text).found());
  write_file(path, serialize(entry, "the stranger's own key"));
  CHECK(store.lookup(entry.key, entry.key_text).status == LookupStatus::kRejected);
}

TEST_CASE("Trust: a MAC key that others can know or change is refused", "[cache]") {
  const auto reason_with = [](const std::function<void(SharedRoot&)>& spoil) {
    SharedRoot shared;
    spoil(shared);
    CubinStore store(shared.options());
    CHECK(store.publish(make_entry(1)).status == PublishStatus::kNoWritableRoot);
    CHECK(shared.warnings.count() == 1);
    return store.stats().roots[0].reason;
  };
  const std::string good = "0123456789abcdef";
  CHECK_THAT(reason_with([&](SharedRoot& s) { s.write_key(good, 0644); }),
             ContainsSubstring("readable by others"));
  CHECK_THAT(reason_with([&](SharedRoot& s) { s.write_key(good, 0620); }),
             ContainsSubstring("writable by its group"));
  CHECK_THAT(reason_with([&](SharedRoot& s) { s.write_key("short", 0600); }),
             ContainsSubstring("less than 16 bytes"));
  CHECK_THAT(reason_with([&](SharedRoot& s) { fs::remove(s.directory / "key"); }),
             ContainsSubstring("does not exist"));
  CHECK_THAT(reason_with([&](SharedRoot& s) {
               fs::remove(s.directory / "key");
               fs::create_directory(s.directory / "key");
             }),
             ContainsSubstring("not a regular file"));
  if (::geteuid() == 0) {
    CHECK_THAT(reason_with([](SharedRoot& s) { give_to(s.directory / "key", kStranger); }),
               ContainsSubstring("owned by user 12345"));
  }
}

TEST_CASE("Trust: a MAC key behind links, as mounted secrets are, is accepted", "[cache]") {
  SharedRoot shared;
  fs::create_directory(shared.directory / "data");
  fs::rename(shared.directory / "key", shared.directory / "data/key");
  fs::create_directory_symlink("data", shared.directory / "current");
  fs::create_symlink("current/key", shared.directory / "key");
  CubinStore store(shared.options());
  CHECK(store.publish(make_entry(1)).status == PublishStatus::kPublished);
  CHECK(shared.warnings.count() == 0);
}

TEST_CASE("Trust: what comes from a shared root is sealed anew in a private one", "[cache]") {
  SharedRoot shared;
  const Entry entry = make_entry(1);
  CubinStore(shared.options()).publish(entry);
  StoreOptions both = shared.options();
  both.roots.insert(both.roots.begin(), {shared.directory / "private", {}});
  CHECK(CubinStore(both).lookup(entry.key, entry.key_text).found());
  CHECK(CubinStore(options_for({shared.directory / "private"}, shared.warnings))
            .lookup(entry.key, entry.key_text)
            .found());
}

}  // namespace quantjit::cache
