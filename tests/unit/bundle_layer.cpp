// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/bundle_layer.hpp"

#include "cache/store.hpp"
#include "tests/support/bundle_fixture.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace quantjit::bundle {

using cache::CaughtWarnings;
using cache::Counter;
using cache::counter;
using cache::CubinStore;
using cache::LookupResult;
using cache::TemporaryDirectory;
using test::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A store of these roots, those of them that end in .qjb as bundles.
CubinStore store_of(const std::vector<std::string>& roots, CaughtWarnings& warnings) {
  cache::StoreOptions options = cache::options_for(roots, warnings);
  std::vector<std::string> bundles = roots;
  std::erase_if(bundles, [](const std::string& path) { return !is_bundle_path(path); });
  options.file_system_owner =
      std::make_shared<BundleLayers>(cache::posix_file_system(), std::move(bundles));
  options.file_system = options.file_system_owner.get();
  return CubinStore(std::move(options));
}

/// The reason why a bundle is not used, from the statistics of a store of it alone.
std::string refusal(const std::string& path) {
  CaughtWarnings warnings;
  CubinStore store = store_of({path}, warnings);
  const cache::Entry entry = kernel_entry(1);
  CHECK_FALSE(store.lookup(entry.key, entry.key_text).found());
  CHECK_FALSE(store.lookup_any_toolchain(entry.key.request, entry.key_text).found());
  CHECK(store.list().empty());
  const cache::StoreStats stats = store.stats();
  REQUIRE(stats.roots.size() == 1);
  CHECK_FALSE(stats.roots[0].trusted);
  CHECK_FALSE(stats.roots[0].writable);
  CHECK(warnings.count() == 1);
  return stats.roots[0].reason;
}

}  // namespace

TEST_CASE("Bundle layer: it serves its entries, and hits move up", "[bundle][cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::vector<cache::Entry> entries = kernel_entries(4);
  const std::string bundle = directory / "kernels.qjb";
  const std::string bytes = write_bundle(bundle, entries);
  CubinStore store = store_of({directory / "root", bundle}, warnings);
  const LookupResult first = store.lookup(entries[0].key, entries[0].key_text);
  REQUIRE(first.found());
  CHECK(cache::same_entry(*first.entry, entries[0]));
  CHECK(first.path ==
        bundle + "/v1/" + entries[0].key.request.substr(0, 2) + "/" + entries[0].key.file_name());
  CHECK(counter(store, Counter::kPromoted) == 1);
  const LookupResult second = store.lookup(entries[0].key, entries[0].key_text);
  REQUIRE(second.found());
  CHECK(second.path.starts_with(directory / "root"));
  CHECK(store.lookup_any_toolchain(entries[1].key.request, entries[1].key_text).found());
  CHECK(store.peek(entries[2].key).found());
  CHECK_FALSE(store.lookup(kernel_entry(99).key, kernel_entry(99).key_text).found());
  CHECK(store.lookup(entries[3].key, "another key text").status == cache::LookupStatus::kRejected);
  const cache::StoreStats stats = store.stats();
  REQUIRE(stats.roots.size() == 2);
  CHECK(stats.roots[0].writable);
  CHECK(stats.roots[1].exists);
  CHECK(stats.roots[1].trusted);
  CHECK_FALSE(stats.roots[1].writable);
  CHECK_THAT(stats.roots[1].reason, ContainsSubstring("EROFS"));
  CHECK(stats.entries == 6);
  CHECK(store.list().size() == 6);
  CHECK(store.list_heads().size() == 6);
  CHECK(store.verify().checked == 6);
  CHECK(store.verify().bad.empty());
  CHECK(cache::read_all(bundle) == bytes);
}

TEST_CASE("Bundle layer: nothing that maintains a cache changes it", "[bundle][cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::vector<cache::Entry> entries = kernel_entries(2);
  const std::string bundle = directory / "kernels.qjb";
  const std::string bytes = write_bundle(bundle, entries);
  // Searched before the root that takes writes.
  CubinStore store = store_of({bundle, directory / "root"}, warnings);
  CHECK(store.publish(kernel_entry(7)).path.starts_with(directory / "root"));
  CHECK(store.lookup(entries[0].key, entries[0].key_text).path.starts_with(bundle));
  CHECK(counter(store, Counter::kPromoted) == 0);
  CHECK_FALSE(store.remove(entries[0].key));
  CHECK(store.pin(entries[0].key));
  CHECK(store.evict(0, cache::Execution::kReal).entries == 1);
  CHECK(store.clear(cache::Execution::kReal).entries == 0);
  CHECK(store.verify(cache::VerifyAction::kQuarantine).bad.empty());
  CHECK(store.list().size() == 2);
  CHECK(store.acquire_lease(kernel_entry(8).key).status == cache::LeaseStatus::kAcquired);
  CHECK(cache::read_all(bundle) == bytes);
  CubinStore alone = store_of({bundle}, warnings);
  CHECK(alone.publish(kernel_entry(7)).status == cache::PublishStatus::kNoWritableRoot);
  CHECK(alone.lookup(entries[1].key, entries[1].key_text).found());
  CHECK(alone.wait_for_entry_or_lease(kernel_entry(9).key, kernel_entry(9).key_text).status ==
        cache::TurnStatus::kCompile);
  CHECK(alone.clear(cache::Execution::kReal).entries == 0);
  CHECK(cache::read_all(bundle) == bytes);
}

TEST_CASE("Bundle layer: a damaged entry is a miss, the others are served", "[bundle][cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::vector<cache::Entry> entries = kernel_entries(3);
  const std::string bundle = directory / "kernels.qjb";
  std::string bytes = write_bundle(bundle, entries);
  const Reader reader(from_memory("b", bytes));
  const std::size_t in_second = static_cast<std::size_t>(reader.entries()[1].at) + 20;
  bytes[in_second] = static_cast<char>(bytes[in_second] ^ 1);
  cache::write_file(bundle, bytes);
  CubinStore store = store_of({bundle, directory / "root"}, warnings);
  for (int i = 0; i < 2; ++i) {
    const LookupResult damaged = store.lookup(entries[1].key, entries[1].key_text);
    CHECK(damaged.status == cache::LookupStatus::kRejected);
    CHECK(damaged.reason == "its checksum does not match");
  }
  CHECK(warnings.count() == 1);
  CHECK(store.lookup(entries[0].key, entries[0].key_text).found());
  CHECK(store.lookup(entries[2].key, entries[2].key_text).found());
  const cache::VerifyReport report = store.verify(cache::VerifyAction::kQuarantine);
  CHECK(report.checked == 3);
  REQUIRE(report.bad.size() == 1);
  CHECK_THAT(report.bad[0].path, ContainsSubstring(entries[1].key.name()));
  // It is compiled again, and then served from the root.
  CHECK(store.publish(entries[1]).path.starts_with(directory / "root"));
  CHECK(store.lookup(entries[1].key, entries[1].key_text).path.starts_with(directory / "root"));
  CHECK(cache::read_all(bundle) == bytes);
}

TEST_CASE("Bundle layer: what cannot be relied on or is no bundle is refused with the reason",
          "[bundle][cache]") {
  const TemporaryDirectory directory;
  const std::string good = directory / "good.qjb";
  const std::string bytes = write_bundle(good, kernel_entries(1));
  CHECK_THAT(refusal(directory / "none.qjb"), ContainsSubstring("there is no bundle"));
  CHECK_FALSE(fs::exists(directory / "none.qjb"));
  const std::string bad = directory / "bad.qjb";
  cache::write_file(bad, "text");
  CHECK_THAT(refusal(bad), ContainsSubstring("does not begin like a bundle"));
  cache::write_file(bad, bytes.substr(0, bytes.size() - 1));
  CHECK_THAT(refusal(bad), ContainsSubstring("it is cut off"));
  std::string newer = bytes;
  newer[8] = 9;
  cache::write_file(bad, newer);
  CHECK_THAT(refusal(bad), ContainsSubstring("format version 9, which is newer"));
  cache::write_file(bad, bytes);
  fs::permissions(bad, fs::perms(0664));
  CHECK_THAT(refusal(bad), ContainsSubstring("writable by its group"));
  fs::permissions(bad, fs::perms(0646));
  CHECK_THAT(refusal(bad), ContainsSubstring("writable by others"));
  fs::create_symlink(good, directory / "link.qjb");
  CHECK_THAT(refusal(directory / "link.qjb"), ContainsSubstring("symbolic link"));
  fs::create_directory(directory / "open");
  write_bundle(directory / "open/kernels.qjb", kernel_entries(1));
  fs::permissions(directory / "open", fs::perms(0777));
  CHECK_THAT(refusal(directory / "open/kernels.qjb"), ContainsSubstring("writable by others"));
  if (::geteuid() == 0) {
    fs::permissions(bad, fs::perms(0644));
    REQUIRE(::chown(bad.c_str(), 12345, 12345) == 0);
    CHECK_THAT(refusal(bad), ContainsSubstring("is owned by user 12345"));
  }
}

TEST_CASE("Bundle layer: a directory named like a bundle is a root like any other",
          "[bundle][cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::string root = directory / "old.qjb";
  fs::create_directory(root);
  fs::permissions(root, fs::perms(0700));
  CubinStore store = store_of({root}, warnings);
  const cache::Entry entry = kernel_entry(1);
  CHECK(store.publish(entry).path.starts_with(root));
  CHECK(store.lookup(entry.key, entry.key_text).found());
  CHECK(warnings.count() == 0);
}

TEST_CASE("Bundle layer: one that is replaced while it is in use goes on serving what it had",
          "[bundle][cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::string bundle = directory / "kernels.qjb";
  const std::vector<cache::Entry> entries = kernel_entries(2);
  write_bundle(bundle, entries);
  CubinStore store = store_of({bundle}, warnings);
  CHECK(store.lookup(entries[0].key, entries[0].key_text).found());
  write_bundle(bundle, {kernel_entry(50)});
  CHECK(store.lookup(entries[1].key, entries[1].key_text).found());
  CHECK_FALSE(store.lookup(kernel_entry(50).key, kernel_entry(50).key_text).found());
  fs::remove(bundle);
  CHECK(store.lookup(entries[0].key, entries[0].key_text).found());
}

TEST_CASE("Bundle layer: many threads read it at once", "[bundle][cache]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::string bundle = directory / "kernels.qjb";
  const std::vector<cache::Entry> entries = kernel_entries(20);
  write_bundle(bundle, entries);
  CubinStore store = store_of({bundle}, warnings);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const cache::Entry& entry = entries[(i + thread * 3) % entries.size()];
        const LookupResult found = store.lookup(entry.key, entry.key_text);
        good += found.found() && cache::same_entry(*found.entry, entry) ? 1 : 0;
        good += store.lookup_any_toolchain(entry.key.request, entry.key_text).found() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(good == 8 * 20 * 2);
}

TEST_CASE("Bundle layer: calls that it does not answer reach the file system below",
          "[bundle][cache]") {
  const TemporaryDirectory directory;
  write_bundle(directory / "kernels.qjb", kernel_entries(1));
  BundleLayers files(cache::posix_file_system(), {directory / "kernels.qjb"});
  const std::string inside = directory / "kernels.qjb/v1/x";
  const std::string beside = directory / "kernels.qjb.txt";
  const cache::IoResult<int> file = files.create(beside, 0600);
  REQUIRE(file.ok());
  CHECK(files.write_at(file.value, 0, "text").value == 4);
  CHECK(files.sync(file.value) == 0);
  CHECK(files.close(file.value) == 0);
  CHECK(files.status(beside).value.bytes == 4);
  CHECK(files.list(directory.path()).value.size() == 2);
  CHECK(files.create(inside, 0600).error == EROFS);
  CHECK(files.make_directory(inside, 0700) == EROFS);
  CHECK(files.rename(beside, inside) == EROFS);
  CHECK(files.rename(inside, beside) == EROFS);
  CHECK(files.link(beside, inside) == EROFS);
  CHECK(files.unlink(inside) == EROFS);
  CHECK(files.unlink(directory / "kernels.qjb") == EROFS);
  CHECK(files.remove_directory(directory / "kernels.qjb") == EROFS);
  CHECK(files.set_modified(inside, std::chrono::nanoseconds(1)) == EROFS);
  CHECK(files.sync_directory(directory / "kernels.qjb/v1") == EROFS);
  CHECK(files.may_write(directory / "kernels.qjb") == EROFS);
  CHECK(files.may_write(directory.path()) == 0);
  CHECK(files.open_read(inside).error == ENOENT);
  CHECK(files.status(directory / "kernels.qjb/v1/../../x").error == ENOENT);
  CHECK(files.list(directory / "kernels.qjb/v1/leases").error == ENOENT);
  CHECK(files.close((1 << 30) + 5) == EBADF);
  CHECK(files.unlink(beside) == 0);
}

}  // namespace quantjit::bundle
