// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fault_file_system.hpp"

#include <filesystem>
#include <sys/mount.h>
#include <unistd.h>

namespace quantjit::cache {

using test::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("Layers: the first writable root takes writes, all are read, hits move up", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Entry entry = make_entry(1);
  {
    CubinStore lower(options_for({directory / "lower"}, warnings));
    lower.publish(entry);
  }
  CubinStore store(options_for({directory / "upper", directory / "lower"}, warnings));
  const LookupResult first = store.lookup(entry.key, entry.key_text);
  REQUIRE(first.found());
  CHECK(first.path.starts_with(directory / "lower"));
  CHECK(counter(store, Counter::kPromoted) == 1);
  const LookupResult second = store.lookup(entry.key, entry.key_text);
  REQUIRE(second.found());
  CHECK(second.path.starts_with(directory / "upper"));
  CHECK(same_entry(*second.entry, entry));
  CHECK(store.publish(make_entry(2)).path.starts_with(directory / "upper"));
  CHECK(store.list().size() == 3);
  const StoreStats stats = store.stats();
  REQUIRE(stats.roots.size() == 2);
  CHECK(stats.roots[0].writable);
  CHECK(stats.roots[1].trusted);
  CHECK(warnings.count() == 0);
}

TEST_CASE("Layers: damage in the upper root is healed from the lower one", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Entry entry = make_entry(1);
  CubinStore(options_for({directory / "lower"}, warnings)).publish(entry);
  CubinStore store(options_for({directory / "upper", directory / "lower"}, warnings));
  write_file(store.publish(entry).path, "damage");
  const LookupResult found = store.lookup(entry.key, entry.key_text);
  REQUIRE(found.found());
  CHECK(found.path.starts_with(directory / "lower"));
  CHECK(store.lookup(entry.key, entry.key_text).path.starts_with(directory / "upper"));
  CHECK(warnings.count() == 1);
}

/// A file system on which nothing below one directory can be written.
class ReadOnlyBelow {
 public:
  explicit ReadOnlyBelow(const std::string& path) : path_(path) {
    mounted_ = ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (mounted_ &&
        ::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
      ::umount(path.c_str());
      mounted_ = false;
    }
  }

  ReadOnlyBelow(const ReadOnlyBelow&) = delete;
  ReadOnlyBelow& operator=(const ReadOnlyBelow&) = delete;

  ~ReadOnlyBelow() {
    if (mounted_) {
      ::umount(path_.c_str());
    }
  }

  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST_CASE("Layers: a warm read-only root serves alone, with one warning", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings quiet;
  const Entry entry = make_entry(1);
  const std::string bad_path = [&] {
    CubinStore store(options_for({directory / "image"}, quiet));
    store.publish(entry);
    return store.publish(make_entry(2)).path;
  }();
  write_file(bad_path, "damage");
  const ReadOnlyBelow image(directory / "image");
  if (!image.mounted()) {
    QUANTJIT_SKIP("a read-only mount cannot be made here");
  }
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "image"}, warnings));
  CHECK(store.lookup(entry.key, entry.key_text).found());
  CHECK(store.lookup(make_entry(3).key, make_entry(3).key_text).status == LookupStatus::kAbsent);
  const Turn turn = store.wait_for_entry_or_lease(make_entry(3).key, make_entry(3).key_text);
  CHECK(turn.status == TurnStatus::kCompile);
  CHECK(store.publish(make_entry(3)).status == PublishStatus::kNoWritableRoot);
  REQUIRE(warnings.count() == 1);
  CHECK_THAT(warnings.all()[0], ContainsSubstring("EROFS"));
  CHECK_THAT(warnings.all()[0], ContainsSubstring("still read"));
  CHECK_FALSE(store.pin(entry.key));
  CHECK(store.clear(Execution::kReal).entries == 0);
  // Damage there cannot be moved aside: still a miss each time, and one warning for that file.
  for (int i = 0; i < 3; ++i) {
    CHECK(store.lookup(make_entry(2).key, make_entry(2).key_text).status ==
          LookupStatus::kRejected);
  }
  CHECK(warnings.count() == 2);
}

TEST_CASE("Layers: below a writable root a read-only one is promoted from, with no warning",
          "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Entry entry = make_entry(1);
  CubinStore(options_for({directory / "image"}, warnings)).publish(entry);
  const ReadOnlyBelow image(directory / "image");
  if (!image.mounted()) {
    QUANTJIT_SKIP("a read-only mount cannot be made here");
  }
  for (const bool image_first : {false, true}) {
    std::vector<std::string> roots{directory / "writable", directory / "image"};
    if (image_first) {
      std::swap(roots[0], roots[1]);
    }
    CubinStore store(options_for(roots, warnings));
    CHECK(store.lookup(entry.key, entry.key_text).found());
    CHECK(store.publish(make_entry(2)).path.starts_with(directory / "writable"));
  }
  CHECK(warnings.count() == 0);
}

TEST_CASE("Layers: no root, a file as root and missing parents give one warning at most",
          "[cache]") {
  const TemporaryDirectory directory;
  write_file(directory / "file", "not a directory");
  const Entry entry = make_entry(1);
  const auto use = [&](const std::vector<std::string>& roots, PublishStatus wanted,
                       std::size_t wanted_warnings) {
    CaughtWarnings warnings;
    CubinStore store(options_for(roots, warnings));
    CHECK(store.lookup(entry.key, entry.key_text).status == LookupStatus::kAbsent);
    CHECK_FALSE(store.wait_for_entry_or_lease(entry.key, entry.key_text).found());
    CHECK(store.publish(entry).status == wanted);
    CHECK(store.publish(entry).status == wanted);
    CHECK(warnings.count() == wanted_warnings);
    return warnings.all().empty() ? std::string() : warnings.all()[0];
  };
  CHECK(use({}, PublishStatus::kNoWritableRoot, 0).empty());
  CHECK_THAT(use({directory / "file"}, PublishStatus::kNoWritableRoot, 1),
             ContainsSubstring("not a directory"));
  CHECK_THAT(use({directory / "file/below"}, PublishStatus::kNoWritableRoot, 1),
             ContainsSubstring("not a directory"));
  CHECK_THAT(use({"relative/root"}, PublishStatus::kNoWritableRoot, 1),
             ContainsSubstring("absolute"));
  use({directory / "one/two/three/root"}, PublishStatus::kPublished, 0);
  use({directory / "with blank/\"quotes'/\xe7\xbc\x93\xe5\xad\x98"}, PublishStatus::kPublished, 0);
}

TEST_CASE("Layers: a user without the right to write gets one warning and memory", "[cache]") {
  if (::geteuid() != 0) {
    QUANTJIT_SKIP("only root can act as another user");
  }
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms(0755));
  CaughtWarnings warnings;
  REQUIRE(::seteuid(12345) == 0);  // a uid that the user database does not know
  {
    CubinStore store(options_for({directory / "home/.cache/quantjit"}, warnings));
    CHECK(store.publish(make_entry(1)).status == PublishStatus::kNoWritableRoot);
    CHECK(store.lookup(make_entry(1).key, make_entry(1).key_text).status == LookupStatus::kAbsent);
  }
  const std::optional<std::string> home = default_root(std::nullopt, std::nullopt);
  REQUIRE(::seteuid(0) == 0);
  CHECK_FALSE(home.has_value());
  REQUIRE(warnings.count() == 1);
  CHECK_THAT(warnings.all()[0], ContainsSubstring("EACCES"));
}

TEST_CASE("Layers: a root that turns out not to take writes is passed over", "[cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  FaultFileSystem files;
  StoreOptions options = options_for({directory / "first", directory / "second"}, warnings);
  options.file_system = &files;
  CubinStore store(options);
  store.publish(make_entry(2));
  files.set(Fault{FileOp::kCreate, 1, 1, EROFS});
  CHECK(store.publish(make_entry(1)).path.starts_with(directory / "second"));
  files.set(std::nullopt);
  CHECK(store.lookup(make_entry(1).key, make_entry(1).key_text).found());
  CHECK(warnings.count() == 1);
}

}  // namespace quantjit::cache
