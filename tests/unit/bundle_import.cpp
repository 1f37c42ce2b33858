// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/import.hpp"
#include "src/bundle/writer.hpp"
#include "tests/support/bundle_fixture.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fault_file_system.hpp"

#include <quantjit/error.hpp>

#include <cerrno>
#include <filesystem>

namespace quantjit::bundle {

using cache::CaughtWarnings;
using cache::CubinStore;
using cache::options_for;
using cache::TemporaryDirectory;
using test::ContainsSubstring;

namespace {

constexpr std::uint64_t kNoLimit = 0;

Reader reader_of(const std::vector<cache::Entry>& entries) {
  std::vector<Part> parts;
  for (const cache::Entry& entry : entries) {
    parts.push_back(honest_part(entry));
  }
  return Reader(from_memory("kernels.qjb", assemble(parts)));
}

std::vector<std::string> entry_files(const std::string& root) {
  std::vector<std::string> files = cache::files_below(root);
  std::erase_if(files, [](const std::string& path) { return !path.ends_with(".qjc"); });
  return files;
}

}  // namespace

TEST_CASE("Import: every entry is published, and doing it again changes nothing", "[bundle]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::vector<cache::Entry> entries = kernel_entries(5);
  const Reader reader = reader_of(entries);
  CubinStore store(options_for({directory / "root"}, warnings));
  const ImportReport first = import_entries(reader, store, {}, kNoLimit);
  CHECK(first.root == directory / "root");
  CHECK(first.imported == 5);
  CHECK(first.already_there == 0);
  CHECK(first.failed.empty());
  const std::vector<std::string> files = entry_files(directory / "root");
  REQUIRE(files.size() == 5);
  for (const std::string& file : files) {
    CHECK(cache::mode_of(file) == 0600);
  }
  for (const cache::Entry& entry : entries) {
    const cache::LookupResult found = store.lookup(entry.key, entry.key_text);
    REQUIRE(found.found());
    CHECK(cache::same_entry(*found.entry, entry));
    CHECK(cache::read_all(found.path) == cache::serialize(entry));
  }
  const ImportReport second = import_entries(reader, store, {}, kNoLimit);
  CHECK(second.imported == 0);
  CHECK(second.already_there == 5);
  CHECK(entry_files(directory / "root") == files);
  CHECK(warnings.count() == 0);
}

TEST_CASE("Import: one bad entry, wherever it stands, and nothing is imported", "[bundle]") {
  const std::vector<cache::Entry> entries = kernel_entries(3);
  for (std::size_t bad = 0; bad < entries.size(); ++bad) {
    const TemporaryDirectory directory;
    CaughtWarnings warnings;
    CubinStore store(options_for({directory / "root"}, warnings));
    std::vector<Part> parts;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::string file = cache::serialize(entries[i]);
      file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ (i == bad ? 1 : 0));
      parts.push_back(part_of(describe(entries[i]).value(), file));
    }
    const Reader reader(from_memory("kernels.qjb", assemble(parts)));
    CHECK_THROWS_WITH(import_entries(reader, store, {}, kNoLimit),
                      ContainsSubstring("1 of its 3 entries are bad") &&
                          ContainsSubstring(parts[bad].stated.traits) &&
                          ContainsSubstring("its checksum does not match") &&
                          ContainsSubstring("nothing of it was taken"));
    // Also if only good ones are wanted.
    CHECK_THROWS_AS(import_entries(reader, store, {"sm_90a"}, kNoLimit), Error);
    CHECK(cache::files_below(directory.path()).empty());
    CHECK(verify_entries(reader, {}).size() == 1);
  }
}

TEST_CASE("Import: what the disk refuses is reported, and made good by the next import",
          "[bundle]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  cache::FaultFileSystem files;
  cache::StoreOptions options = options_for({directory / "root"}, warnings);
  options.file_system = &files;
  CubinStore store(std::move(options));
  const std::vector<cache::Entry> entries = kernel_entries(4);
  const Reader reader = reader_of(entries);
  // Two of the writes of entries fail; the root's tag is written first.
  files.set(cache::Fault{.op = cache::FileOp::kWriteAt, .from = 3, .count = 2, .error = ENOSPC});
  const ImportReport first = import_entries(reader, store, {}, kNoLimit);
  CHECK(first.imported == 2);
  REQUIRE(first.failed.size() == 2);
  CHECK_THAT(first.failed[0].reason, ContainsSubstring("ENOSPC"));
  CHECK(first.failed[0].entry.traits.starts_with("per_token_quant"));
  CHECK(entry_files(directory / "root").size() == 2);
  files.set(std::nullopt);
  const ImportReport second = import_entries(reader, store, {}, kNoLimit);
  CHECK(second.imported == 2);
  CHECK(second.already_there == 2);
  CHECK(second.failed.empty());
  CHECK(entry_files(directory / "root").size() == 4);
}

TEST_CASE("Import: into a shared root the entries get its MAC", "[bundle]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  cache::write_file(directory / "mac", "a secret of the users of this root");
  std::filesystem::permissions(directory / "mac", std::filesystem::perms(0600));
  std::filesystem::create_directory(directory / "root");
  const auto shared = [&] {
    cache::StoreOptions options = options_for({}, warnings);
    options.roots.push_back({directory / "root", directory / "mac"});
    return options;
  };
  const std::vector<cache::Entry> entries = kernel_entries(2);
  CubinStore store(shared());
  CHECK(import_entries(reader_of(entries), store, {}, kNoLimit).imported == 2);
  CHECK(store.lookup(entries[0].key, entries[0].key_text).found());
  const std::string bytes = cache::read_all(entry_files(directory / "root")[0]);
  CHECK_FALSE(cache::parse(bytes).entry);
  CHECK(cache::parse(bytes, "a secret of the users of this root").entry);
  CHECK(import_entries(reader_of(entries), store, {}, kNoLimit).already_there == 2);
}

TEST_CASE("Import: targets can be chosen, and one that is missing is named", "[bundle]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  CubinStore store(options_for({directory / "root"}, warnings));
  std::vector<cache::Entry> entries{kernel_entry(1, "sm_90a"), kernel_entry(2, "sm_100a"),
                                    kernel_entry(3, "sm_100a")};
  std::sort(entries.begin(), entries.end(),
            [](const cache::Entry& a, const cache::Entry& b) { return a.key < b.key; });
  const Reader reader = reader_of(entries);
  CHECK_THROWS_WITH(import_entries(reader, store, {"sm_90a", "sm_120a"}, kNoLimit),
                    ContainsSubstring("holds nothing for sm_120a, only for sm_100a, sm_90a"));
  CHECK(cache::files_below(directory.path()).empty());
  CHECK(import_entries(reader, store, {"sm_100a"}, kNoLimit).imported == 2);
  const ImportReport rest = import_entries(reader, store, {}, kNoLimit);
  CHECK(rest.imported == 1);
  CHECK(rest.already_there == 2);
}

TEST_CASE("Import: a cache that cannot hold it is refused before anything is written", "[bundle]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const Reader reader = reader_of(kernel_entries(4));
  CubinStore store(options_for({directory / "root"}, warnings));
  CHECK_THROWS_WITH(import_entries(reader, store, {}, 2000),
                    ContainsSubstring("more than half of the cache's limit of 2000"));
  CHECK(cache::files_below(directory.path()).empty());
  CubinStore nowhere(options_for({}, warnings));
  CHECK_THROWS_WITH(import_entries(reader, nowhere, {}, kNoLimit),
                    ContainsSubstring("no cache root can be written (there is none)"));
  cache::write_file(directory / "file", "");
  CubinStore blocked(options_for({directory / "file"}, warnings));
  CHECK_THROWS_WITH(import_entries(reader, blocked, {}, kNoLimit),
                    ContainsSubstring("is not a directory"));
}

TEST_CASE("Import: a damaged entry of the root is replaced, one of a lower layer is copied",
          "[bundle]") {
  const TemporaryDirectory directory;
  CaughtWarnings warnings;
  const std::vector<cache::Entry> entries = kernel_entries(3);
  CubinStore(options_for({directory / "lower"}, warnings)).publish(entries[1]);
  CubinStore store(options_for({directory / "upper", directory / "lower"}, warnings));
  cache::write_file(store.publish(entries[0]).path, "damage");
  const ImportReport report = import_entries(reader_of(entries), store, {}, kNoLimit);
  CHECK(report.imported == 3);
  CHECK(report.already_there == 0);
  CubinStore upper(options_for({directory / "upper"}, warnings));
  for (const cache::Entry& entry : entries) {
    CHECK(upper.lookup(entry.key, entry.key_text).found());
  }
}

}  // namespace quantjit::bundle
