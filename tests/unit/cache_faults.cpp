// SPDX-License-Identifier: Apache-2.0
#include "cache/store.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fault_file_system.hpp"

#include <cerrno>
#include <csignal>
#include <sys/mount.h>
#include <sys/resource.h>

namespace quantjit::cache {

using test::ContainsSubstring;

static constexpr int kErrors[] = {EEXIST, ENOENT, ESTALE, EBUSY, ENOSPC,
                                  EDQUOT, EROFS,  EACCES, EIO};

namespace {

/// A store on a file system that fails where a test wants it to.
struct FaultyStore {
  TemporaryDirectory directory;
  CaughtWarnings warnings;
  FaultFileSystem files;
  CubinStore store{options()};

  StoreOptions options() {
    StoreOptions made = options_for({directory / "root"}, warnings);
    made.file_system = &files;
    return made;
  }
};

/// Every error at every one of `ops`, for as many calls in a row as each of `counts` says.
template <typename Body>
void with_each_fault(std::initializer_list<FileOp> ops, std::initializer_list<int> counts,
                     Body body) {
  for (const FileOp op : ops) {
    for (const int error : kErrors) {
      for (const int count : counts) {
        INFO(error_name(error) << " at " << file_op_name(op) << ", " << count << " times");
        FaultyStore faulty;
        body(faulty, Fault{op, 1, count, error});
      }
    }
  }
}

/// After any fault: what is there is right, nothing half done is left, and without the fault all
/// works again, by the same store.
void check_recovered(CubinStore& store, const Entry& entry, const std::string& root) {
  const LookupResult found = store.lookup(entry.key, entry.key_text);
  CHECK(found.status != LookupStatus::kRejected);
  if (found.found()) {
    CHECK(same_entry(*found.entry, entry));
  }
  CHECK(leftovers_below(root).empty());
  CHECK(store.publish(entry).status == PublishStatus::kPublished);
  const LookupResult again = store.lookup(entry.key, entry.key_text);
  REQUIRE(again.found());
  CHECK(same_entry(*again.entry, entry));
}

}  // namespace

TEST_CASE("CubinStore: each error at each step of publishing is survived", "[cache]") {
  const Entry entry = make_entry(1, 3000);
  with_each_fault(
      {FileOp::kCreate, FileOp::kWriteAt, FileOp::kSync, FileOp::kClose, FileOp::kRename,
       FileOp::kSyncDirectory, FileOp::kMakeDirectory, FileOp::kStatus, FileOp::kList},
      {1, 1000}, [&](FaultyStore& faulty, const Fault& fault) {
        CubinStore& store = faulty.store;
        store.publish(make_entry(2));
        faulty.files.set(fault);
        const PublishOutcome outcome = store.publish(entry);
        CHECK(faulty.files.calls(fault.op) >= (fault.op == FileOp::kList ? 0 : 1));
        if (outcome.status != PublishStatus::kPublished) {
          // Where a look fails, it is the step that the look was for which is reported.
          CHECK((outcome.error == fault.error ||
                 (fault.op == FileOp::kStatus && outcome.error == EEXIST)));
          CHECK_FALSE(outcome.step.empty());
          CHECK(counter(store, Counter::kPublishFailed) == 1);
          CHECK(counter(store, counter_of_error(outcome.error)) >= 1);
          CHECK(faulty.warnings.count() == 1);
        }
        CHECK(faulty.warnings.count() <= 1);
        faulty.files.set(std::nullopt);
        check_recovered(store, entry, faulty.directory.path());
      });
}

TEST_CASE("CubinStore: an error that stays is warned of once and counted each time", "[cache]") {
  with_each_fault(
      {FileOp::kCreate, FileOp::kWriteAt, FileOp::kSync, FileOp::kClose}, {1000},
      [](FaultyStore& faulty, const Fault& fault) {
        CubinStore& store = faulty.store;
        store.publish(make_entry(100));
        faulty.files.set(fault);
        for (std::uint64_t i = 0; i < 5; ++i) {
          CHECK(store.publish(make_entry(i)).status != PublishStatus::kPublished);
        }
        CHECK(faulty.warnings.count() == 1);
        CHECK_THAT(faulty.warnings.all()[0], ContainsSubstring(error_name(fault.error)));
        CHECK(counter(store, Counter::kPublishFailed) + counter(store, Counter::kNoWritableRoot) ==
              5);
        CHECK(counter(store, counter_of_error(fault.error)) >= 5);
      });
}

TEST_CASE("CubinStore: short writes are continued", "[cache]") {
  FaultyStore faulty;
  const Entry entry = make_entry(1, 3000);
  faulty.files.set(Fault{FileOp::kWriteAt, 1, 1000, 0, false, true});
  CHECK(faulty.store.publish(entry).status == PublishStatus::kPublished);
  CHECK(faulty.files.calls(FileOp::kWriteAt) > 10);
  CHECK(faulty.store.lookup(entry.key, entry.key_text).found());
}

TEST_CASE("CubinStore: a rename that worked but reports an error counts as published", "[cache]") {
  FaultyStore faulty;
  faulty.files.set(Fault{FileOp::kRename, 1, 1, ENOENT, true});
  CHECK(faulty.store.publish(make_entry(1)).status == PublishStatus::kPublished);
  CHECK(faulty.files.calls(FileOp::kRename) == 1);
  CHECK(counter(faulty.store, Counter::kErrorEnoent) == 1);
  CHECK(faulty.warnings.count() == 0);
}

TEST_CASE("CubinStore: each error while reading is a miss, never a failure", "[cache]") {
  const Entry entry = make_entry(1);
  with_each_fault(
      {FileOp::kStatus, FileOp::kOpenRead, FileOp::kReadAt, FileOp::kClose, FileOp::kSetModified,
       FileOp::kList},
      {1, 1000}, [&](FaultyStore& faulty, const Fault& fault) {
        CubinStore& store = faulty.store;
        store.publish(entry);
        faulty.files.set(fault);
        const LookupResult found = store.lookup(entry.key, entry.key_text);
        CHECK(faulty.warnings.count() <= 1);
        if (found.found()) {
          CHECK(same_entry(*found.entry, entry));
        } else if (fault.error != ENOENT) {
          CHECK_THAT(found.reason, ContainsSubstring(error_name(fault.error)));
          CHECK(counter(store, Counter::kReadFailed) == 1);
          CHECK(faulty.warnings.count() == 1);
        }
        static_cast<void>(store.lookup_any_toolchain(entry.key.request, entry.key_text));
        static_cast<void>(store.list());
        static_cast<void>(store.verify());
        faulty.files.set(std::nullopt);
        CHECK(store.lookup(entry.key, entry.key_text).found());
      });
}

TEST_CASE("CubinStore: a stale handle is tried again at once", "[cache]") {
  FaultyStore faulty;
  const Entry entry = make_entry(1);
  faulty.store.publish(entry);
  for (const FileOp op : {FileOp::kOpenRead, FileOp::kReadAt}) {
    faulty.files.set(Fault{op, 1, 1, ESTALE});
    CHECK(faulty.store.lookup(entry.key, entry.key_text).found());
  }
  CHECK(counter(faulty.store, Counter::kErrorEstale) == 2);
  CHECK(faulty.warnings.count() == 0);
}

TEST_CASE("CubinStore: each error while moving damage aside still ends in a rebuilt entry",
          "[cache]") {
  const Entry entry = make_entry(1);
  with_each_fault(
      {FileOp::kRename, FileOp::kMakeDirectory, FileOp::kUnlink, FileOp::kList}, {1000},
      [&](FaultyStore& faulty, const Fault& fault) {
        CubinStore& store = faulty.store;
        write_file(store.publish(entry).path, "damage");
        faulty.files.set(fault);
        CHECK(store.lookup(entry.key, entry.key_text).status == LookupStatus::kRejected);
        faulty.files.set(std::nullopt);
        CHECK(store.publish(entry).status == PublishStatus::kPublished);
        CHECK(store.lookup(entry.key, entry.key_text).found());
      });
}

TEST_CASE("CubinStore: no error while leases are taken keeps a caller from its kernel", "[cache]") {
  const Entry entry = make_entry(1);
  with_each_fault({FileOp::kCreate, FileOp::kWriteAt, FileOp::kLink, FileOp::kUnlink,
                   FileOp::kStatus, FileOp::kMakeDirectory, FileOp::kOpenRead, FileOp::kReadAt,
                   FileOp::kSetModified, FileOp::kClose},
                  {1000}, [&](FaultyStore& faulty, const Fault& fault) {
                    StoreOptions options = faulty.options();
                    options.lease.limit = std::chrono::milliseconds(5);
                    options.lease.silence = std::chrono::milliseconds(2);
                    {
                      CubinStore store(options);
                      store.publish(make_entry(2));
                      faulty.files.set(fault);
                      {
                        const Turn turn = store.wait_for_entry_or_lease(entry.key, entry.key_text);
                        CHECK_FALSE(turn.found());
                        CHECK((turn.status == TurnStatus::kLease || !turn.reason.empty()));
                      }
                      faulty.files.set(std::nullopt);
                    }
                    // Whatever was left behind: the next one gets its turn.
                    options.lease.limit = std::chrono::seconds(20);
                    CubinStore later(options);
                    const Turn turn = later.wait_for_entry_or_lease(entry.key, entry.key_text);
                    CHECK(turn.status == TurnStatus::kLease);
                  });
}

TEST_CASE("CubinStore: file systems without hard links have leases too", "[cache]") {
  FaultyStore faulty;
  const EntryKey key = make_entry(1).key;
  faulty.store.publish(make_entry(2));
  faulty.files.set(Fault{FileOp::kLink, 1, 1000, EPERM});
  {
    const LeaseAttempt first = faulty.store.acquire_lease(key);
    CHECK(first.status == LeaseStatus::kAcquired);
    CHECK(faulty.store.acquire_lease(key).status == LeaseStatus::kHeld);
  }
  CHECK(faulty.store.acquire_lease(key).status == LeaseStatus::kAcquired);
  CHECK(leftovers_below(faulty.directory.path()).empty());
}

/// Fills what little room there is, then makes room and goes on.
static void check_full_disk(const std::string& root, int wanted_error,
                            const std::function<void()>& make_room) {
  CaughtWarnings warnings;
  CubinStore store(options_for({root}, warnings));
  std::uint64_t published = 0;
  PublishOutcome outcome;
  for (std::uint64_t i = 0; i < 100; ++i) {
    outcome = store.publish(make_entry(i, 5000 * (i % 4 + 1)));
    published += outcome.status == PublishStatus::kPublished ? 1 : 0;
  }
  CHECK(published < 100);
  CHECK(counter(store, Counter::kPublishFailed) == 100 - published);
  CHECK(counter(store, counter_of_error(wanted_error)) >= 100 - published);
  CHECK(warnings.count() == 1);
  CHECK(leftovers_below(root).empty());
  CHECK(store.verify().bad.empty());
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Entry entry = make_entry(i, 5000 * (i % 4 + 1));
    const LookupResult found = store.lookup(entry.key, entry.key_text);
    CHECK(found.status != LookupStatus::kRejected);
    hits += found.found() && same_entry(*found.entry, entry) ? 1 : 0;
  }
  CHECK(hits == published);
  make_room();
  CHECK(store.publish(make_entry(1000, 20000)).status == PublishStatus::kPublished);
}

TEST_CASE("CubinStore: a full disk fails no request and leaves no partial entry", "[cache]") {
  const TemporaryDirectory directory;
  if (::mount("quantjit-test", directory.path().c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) {
    QUANTJIT_SKIP("a tmpfs cannot be mounted here; the file-size limit test stands in for it");
  }
  check_full_disk(directory / "root", ENOSPC, [&] {
    CaughtWarnings warnings;
    CubinStore(options_for({directory / "root"}, warnings)).clear(Execution::kReal);
  });
  CHECK(::umount(directory.path().c_str()) == 0);
}

TEST_CASE("CubinStore: a file-size limit fails no request and leaves no partial entry", "[cache]") {
  const TemporaryDirectory directory;

  struct rlimit before {};

  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  // The limit says so by a signal first, then by EFBIG.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);

  const struct rlimit tight { 12000, before.rlim_max };

  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  check_full_disk(directory / "root", EFBIG, [&] { ::setrlimit(RLIMIT_FSIZE, &before); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

}  // namespace quantjit::cache
