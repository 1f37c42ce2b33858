// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/compression.hpp"
#include "src/bundle/writer.hpp"
#include "tests/support/bundle_fixture.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fault_file_system.hpp"

#include <quantjit/error.hpp>

#include <cerrno>
#include <filesystem>

namespace quantjit::bundle {

using cache::TemporaryDirectory;
using test::ContainsSubstring;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

/// Puts a right header digest on changed header bytes.
std::string resealed(std::string bytes) {
  const base::Sha256Digest digest = base::sha256(std::string_view(bytes).substr(0, 224));
  for (std::size_t i = 0; i < digest.size(); ++i) {
    bytes[224 + i] = static_cast<char>(digest[i]);
  }
  return bytes;
}

}  // namespace

TEST_CASE("Bundle: what is read is what was written, in any order", "[bundle]") {
  const TemporaryDirectory directory;
  const std::vector<cache::Entry> entries = kernel_entries(3);
  const std::string bytes = write_bundle(directory / "a.qjb", entries);
  CHECK(write_bundle(directory / "b.qjb", {entries[2], entries[0], entries[1]}) == bytes);
  const Reader reader(open_file(cache::posix_file_system(), directory / "a.qjb").source);
  REQUIRE(reader.entries().size() == 3);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const IndexEntry& stated = reader.entries()[i];
    CHECK(stated.key == entries[i].key);
    CHECK(stated.arch == "sm_90a");
    CHECK(stated.math == "fast");
    CHECK(stated.code_kind == "cubin");
    CHECK(stated.traits.starts_with("per_token_quant:seed="));
    CHECK(reader.read_bytes(stated).bytes == cache::serialize(entries[i]));
    const ReadEntry read = reader.read(stated);
    REQUIRE(read.entry);
    CHECK(cache::same_entry(*read.entry, entries[i]));
  }
  CHECK(reader.archs() == std::vector<std::string>{"sm_90a"});
  CHECK(reader.check_signature(std::nullopt) == SignatureStatus::kNone);
  CHECK(cache::mode_of(directory / "a.qjb") == 0644);
  CHECK(bytes ==
        assemble({honest_part(entries[0]), honest_part(entries[1]), honest_part(entries[2])}));
}

TEST_CASE("Bundle: a changed bit in any place is found", "[bundle]") {
  const TemporaryDirectory directory;
  const std::string bytes = write_bundle(directory / "a.qjb", kernel_entries(2));
  REQUIRE(problem_of(bytes).empty());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      INFO("byte " << i << ", bit " << bit);
      REQUIRE_FALSE(problem_of(changed).empty());
    }
  }
}

TEST_CASE("Bundle: one that is cut off in any place, or goes on, is refused", "[bundle]") {
  const TemporaryDirectory directory;
  const std::string bytes = write_bundle(directory / "a.qjb", kernel_entries(2));
  CHECK_THAT(problem_of(""), ContainsSubstring("it is empty"));
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    INFO("the first " << size << " bytes");
    REQUIRE_THAT(problem_of(bytes.substr(0, size)), ContainsSubstring("it is cut off"));
  }
  CHECK_THAT(problem_of(bytes + "x"), ContainsSubstring("something follows it"));
}

TEST_CASE("Bundle: other files and other format versions are named as what they are", "[bundle]") {
  const TemporaryDirectory directory;
  const std::string bytes = write_bundle(directory / "a.qjb", kernel_entries(1));
  CHECK_THAT(problem_of(std::string(1000, 'x')), ContainsSubstring("does not begin like a bundle"));
  CHECK_THAT(problem_of(cache::serialize(kernel_entry(1))),
             ContainsSubstring("does not begin like a bundle"));
  for (const auto& [version, word] : {std::pair{0, "older"}, std::pair{2, "newer"}}) {
    std::string other = bytes;
    other[8] = static_cast<char>(version);
    const std::string expected = "it has format version " + std::to_string(version) +
                                 ", which is " + word + " than the one that is read here, 1";
    CHECK_THAT(problem_of(other), ContainsSubstring(expected));
    CHECK_THAT(problem_of(resealed(other)), ContainsSubstring(expected));
  }
  std::string unknown = bytes;
  unknown[210] = 1;  // an unused byte of the header
  CHECK_THAT(problem_of(unknown), ContainsSubstring("its header was changed"));
  CHECK_THAT(problem_of(resealed(unknown)), ContainsSubstring("what is not known here"));
  unknown = bytes;
  unknown[96] = 7;  // the kind of signature
  CHECK_THAT(problem_of(resealed(unknown)), ContainsSubstring("signed in a way"));
}

TEST_CASE("Bundle: a header that leads out of the file is refused", "[bundle]") {
  const TemporaryDirectory directory;
  const std::string bytes = write_bundle(directory / "a.qjb", kernel_entries(1));
  const auto with = [&](std::size_t at, std::uint64_t value) {
    std::string changed = bytes;
    for (std::size_t i = 0; i < 8; ++i) {
      changed[at + i] = static_cast<char>((value >> (8 * i)) & 0xFFU);
    }
    return problem_of(resealed(changed));
  };
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{255}, bytes.size() + 1, ~std::uint64_t{0}}) {
    INFO(value);
    CHECK_THAT(with(24, value), ContainsSubstring("its index lies outside of it"));
    CHECK_THAT(with(32, value), ContainsSubstring("its index lies outside of it"));
  }
  CHECK_THAT(with(40, kMaxIndexBytes + 1), ContainsSubstring("larger than a bundle's may be"));
  CHECK_THAT(with(40, 1), ContainsSubstring("its index cannot be unpacked"));
  CHECK_THAT(with(48, kMaxEntries + 1), ContainsSubstring("larger than a bundle's may be"));
  CHECK_THAT(with(48, 0), ContainsSubstring("other lines than it should"));
  CHECK_THAT(with(48, 2), ContainsSubstring("does not cover all of it"));
}

TEST_CASE("Bundle: an index that states what is not so is refused, under right digests too",
          "[bundle]") {
  const Part a = honest_part(kernel_entries(2)[0]);
  const Part b = honest_part(kernel_entries(2)[1]);
  const std::string frames = a.frame + b.frame;
  const std::string first = write_index({a.stated});
  const std::string second = write_index({b.stated});
  REQUIRE(problem_of(assemble(first + second, frames, 2)).empty());
  const auto refused = [&](const std::string& line) {
    return problem_of(assemble(line + second, frames, 2));
  };
  const std::string no_entry = "line 1 of its index does not describe an entry";
  const std::string key = a.stated.key.name();
  CHECK(refused(replaced(first, "{", R"({"later":[1,{"x":2}],)")).empty());
  for (const std::string& line :
       {replaced(first, key, key + ".qjc"),
        replaced(first, key, "../../../../etc/passwd"),
        replaced(first, key, "/" + key.substr(1)),
        replaced(first, key.substr(0, 8), "ABCDEF01"),
        replaced(first, R"("key")", R"("kex")"),
        replaced(first, R"("fast")", "1"),
        replaced(first, R"("fast")", R"("fa\u001bst")"),
        replaced(first, R"("fast")", R"("fä")"),
        replaced(first, a.stated.sha256, a.stated.sha256.substr(1)),
        replaced(first, a.stated.packed_sha256, std::string(64, 'g')),
        replaced(first, "\"bytes\":", "\"bytes\":-"),
        replaced(first, "\"bytes\":", "\"bytes\":0,\"b\":"),
        replaced(first, "\"bytes\":", "\"bytes\":99999999999,\"b\":"),
        replaced(first, "\"bytes\":", "\"bytes\":1.5,\"b\":"),
        replaced(first, "\"packed_bytes\":", "\"packed_bytes\":18446744073709551615,\"p\":"),
        std::string("[]\n"),
        std::string("null\n"),
        std::string("\n"),
        std::string("{\n"),
        std::string(10000, '[') + "\n"}) {
    INFO(line);
    CHECK_THAT(refused(line), ContainsSubstring(no_entry));
  }
  const std::string repeats = "line 2 of its index repeats a key or is out of order";
  CHECK_THAT(problem_of(assemble(second + first, b.frame + a.frame, 2)),
             ContainsSubstring(repeats));
  CHECK_THAT(problem_of(assemble(first + first, a.frame + a.frame, 2)), ContainsSubstring(repeats));
  CHECK_THAT(problem_of(assemble(first, frames, 1)), ContainsSubstring("does not cover all of it"));
  CHECK_THAT(problem_of(assemble(first + second, a.frame, 2)),
             ContainsSubstring("goes beyond what the bundle can hold"));
  CHECK_THAT(problem_of(assemble(first + second + second, frames, 2)),
             ContainsSubstring("other lines than it should"));
  const std::string unended = (first + second).substr(0, first.size() + second.size() - 1);
  CHECK_THAT(problem_of(assemble(unended, frames, 2)),
             ContainsSubstring("other lines than it should"));
  CHECK_THAT(refused(replaced(first, "{", "{\"x\":\"" + std::string(70000, 'x') + "\",")),
             ContainsSubstring("other lines than it should"));
}

TEST_CASE("Bundle: an entry that is not what the index states is bad", "[bundle]") {
  const cache::Entry entry = kernel_entry(1);
  const IndexEntry stated = describe(entry).value();
  const auto problem = [&](const IndexEntry& said, const std::string& file) {
    return problem_of(assemble({part_of(said, file)}));
  };
  std::string file = cache::serialize(entry);
  REQUIRE(problem(stated, file).empty());
  CHECK_THAT(problem(stated, "not an entry"), ContainsSubstring("does not begin like an entry"));
  CHECK_THAT(problem(stated, file.substr(0, file.size() - 1)), ContainsSubstring("shorter"));
  CHECK_THAT(problem(stated, cache::serialize(entry, "a key of a shared root")),
             ContainsSubstring("not sealed"));
  CHECK_THAT(problem(stated, cache::serialize(kernel_entry(2))),
             ContainsSubstring("the entry of another key"));
  cache::Entry poisoned = kernel_entry(2);
  poisoned.key = entry.key;
  CHECK_THAT(problem(stated, cache::serialize(poisoned)),
             ContainsSubstring("not the one of its key text"));
  for (std::string IndexEntry::*const member :
       {&IndexEntry::traits, &IndexEntry::arch, &IndexEntry::math, &IndexEntry::code_kind}) {
    IndexEntry other = stated;
    other.*member += "x";
    CHECK_THAT(problem(other, file), ContainsSubstring("another descriptor or target"));
  }
  file.back() = static_cast<char>(file.back() ^ 1);
  CHECK_THAT(problem(stated, file), ContainsSubstring("its checksum does not match"));
  CHECK_FALSE(describe(poisoned));
  cache::Entry foreign = cache::make_entry(1);
  CHECK_FALSE(describe(foreign));
}

TEST_CASE("Bundle: a frame never unpacks to more than is stated", "[bundle]") {
  const std::string zeros(std::size_t{64} << 20, '\0');
  const std::string bomb = compress(zeros);
  CHECK(bomb.size() < 10000);
  CHECK(decompress(bomb, zeros.size()) == zeros);
  CHECK_FALSE(decompress(bomb, zeros.size() - 1));
  CHECK_FALSE(decompress(bomb, 1000));
  CHECK_FALSE(decompress(bomb + bomb, 2 * zeros.size()));
  CHECK_FALSE(decompress(bomb + "x", zeros.size()));
  CHECK_FALSE(decompress(bomb.substr(0, bomb.size() - 1), zeros.size()));
  CHECK_FALSE(decompress("", 0));
  // A frame that does not state its size: header, and one empty last block.
  CHECK_FALSE(decompress(std::string("\x28\xB5\x2F\xFD\x00\x00\x01\x00\x00", 9), 0));
  Part part = honest_part(kernel_entry(1));
  part.frame = bomb;
  part.stated.packed_bytes = bomb.size();
  part.stated.packed_sha256 = base::to_hex(base::sha256(bomb));
  CHECK_THAT(problem_of(assemble({part})), ContainsSubstring("cannot be unpacked to the size"));
}

TEST_CASE("Bundle: what all entries take together is limited before any is unpacked", "[bundle]") {
  std::string index;
  std::vector<IndexEntry> entries;
  for (const cache::Entry& entry : kernel_entries(60)) {
    IndexEntry stated = honest_part(entry).stated;
    stated.bytes = cache::kMaxFileBytes;
    stated.packed_bytes = 1;
    entries.push_back(stated);
  }
  CHECK_THAT(parse_index(write_index(entries), 60, 0, 60).problem,
             ContainsSubstring("goes beyond what the bundle can hold"));
  entries.resize(50);
  CHECK(parse_index(write_index(entries), 50, 0, 50).problem.empty());
}

TEST_CASE("Bundle: a write that fails leaves the old file and nothing else", "[bundle]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.qjb";
  const std::string old = write_bundle(path, kernel_entries(1));
  cache::FaultFileSystem files;
  using cache::FileOp;
  for (const FileOp op :
       {FileOp::kCreate, FileOp::kWriteAt, FileOp::kSync, FileOp::kClose, FileOp::kRename}) {
    for (int from = 1; from <= (op == FileOp::kWriteAt ? 4 : 1); ++from) {
      INFO(cache::file_op_name(op) << " " << from);
      files.set(cache::Fault{.op = op, .from = from, .count = 1, .error = ENOSPC});
      const auto write = [&] {
        Writer writer(files, path);
        for (const cache::Entry& entry : kernel_entries(2)) {
          writer.add(entry);
        }
        writer.finish({});
      };
      CHECK_THROWS_WITH(write(), ContainsSubstring(path) && ContainsSubstring("ENOSPC"));
      CHECK(cache::files_below(directory.path()) == std::vector<std::string>{path});
      CHECK(cache::read_all(path) == old);
    }
  }
  {
    Writer unfinished(cache::posix_file_system(), path);
    unfinished.add(kernel_entry(5));
  }
  CHECK(cache::files_below(directory.path()) == std::vector<std::string>{path});
}

TEST_CASE("Bundle: what no reader would take is not written", "[bundle]") {
  const TemporaryDirectory directory;
  Writer writer(cache::posix_file_system(), directory / "a.qjb");
  CHECK_THROWS_WITH(writer.add(cache::make_entry(1)), ContainsSubstring("key text"));
  CHECK_THROWS_WITH(Writer(cache::posix_file_system(), directory / "none/a.qjb"),
                    ContainsSubstring("ENOENT"));
  CHECK_THROWS_WITH(open_file(cache::posix_file_system(), directory / "none.qjb"),
                    ContainsSubstring("ENOENT"));
  CHECK_THROWS_WITH(open_file(cache::posix_file_system(), directory.path()),
                    ContainsSubstring("not a regular file"));
  std::filesystem::create_symlink(directory / "a.qjb", directory / "link.qjb");
  CHECK_THROWS_WITH(open_file(cache::posix_file_system(), directory / "link.qjb"),
                    ContainsSubstring("symbolic link"));
}

}  // namespace quantjit::bundle
