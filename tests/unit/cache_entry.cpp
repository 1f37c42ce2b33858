// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.hpp"
#include "src/base/sha256.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <bit>
#include <random>

namespace quantjit::cache {

/// The entry of the golden file, which is also what cache/README.md shows byte for byte.
static Entry golden_entry() {
  Entry entry;
  entry.key.request = base::to_hex(base::sha256("golden"));
  entry.key.toolchain = "0123456789abcdef";
  entry.toolchain_rank = 13000;
  entry.key_text = "golden";
  entry.metadata = R"({"arch":"sm_90a"})";
  entry.code = std::string(
      "\x7f"
      "ELF\0code",
      9);
  return entry;
}

/// Puts a right checksum under bytes that were changed.
// Not inlined: g++ 12 would take the inline buffer of a string for all of it, and warn.
[[gnu::noinline]] static std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - kSealBytes);
  for (const std::uint8_t byte : base::sha256(bytes)) {
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

[[gnu::noinline]] static std::string with_integer(std::string bytes, std::size_t at,
                                                  std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) {
    bytes.at(at + static_cast<std::size_t>(i)) = static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
  return bytes;
}

TEST_CASE("Entry: what is written is what is read, whatever the texts hold", "[cache]") {
  for (const std::size_t code_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
    Entry entry = make_entry(7, code_bytes);
    entry.key_text += std::string("\0\n\xff", 3);
    entry.metadata = code_bytes == 0 ? "" : entry.metadata;
    const ParsedEntry parsed = parse(serialize(entry));
    REQUIRE(parsed.rejection == Rejection::kNone);
    REQUIRE(parsed.entry.has_value());
    CHECK(same_entry(*parsed.entry, entry));
  }
}

TEST_CASE("Entry: format version 1 is the golden file, byte for byte", "[cache]") {
  const std::string golden = read_all(cache_test_data() + "/entry_v1.qjc");
  REQUIRE(golden.size() == 32 + 4 * 16 + 81 + 6 + 17 + 9 + 32);
  CHECK(serialize(golden_entry()) == golden);
  const ParsedEntry parsed = parse(golden);
  REQUIRE(parsed.entry.has_value());
  CHECK(same_entry(*parsed.entry, golden_entry()));
}

TEST_CASE("Entry: cut at any byte it is rejected", "[cache]") {
  const std::string whole = serialize(golden_entry());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ParsedEntry parsed = parse(std::string_view(whole).substr(0, size));
    INFO("cut to " << size << " bytes");
    CHECK_FALSE(parsed.entry.has_value());
    CHECK(parsed.rejection == Rejection::kTruncated);
  }
  CHECK(parse(whole + '\0').rejection == Rejection::kSize);
}

TEST_CASE("Entry: any flipped bit is noticed", "[cache]") {
  const std::string whole = serialize(golden_entry());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const ParsedEntry parsed = parse(flipped);
    if (parsed.entry.has_value() || parsed.rejection == Rejection::kNone) {
      FAIL("bit " << bit << " can be flipped unseen");
    }
  }
  SUCCEED("all " << whole.size() * 8 << " bits are covered");
}

TEST_CASE("Entry: flipped bits of a large entry are noticed", "[cache]") {
  const std::uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string whole = serialize(make_entry(3, 50000));
  for (int i = 0; i < 300; ++i) {
    std::string flipped = whole;
    const std::size_t at = random() % flipped.size();
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (random() % 8)));
    if (parse(flipped).entry.has_value()) {
      FAIL("a flip in byte " << at << " is not noticed, seed " << seed);
    }
  }
}

TEST_CASE("Entry: other versions, foreign bytes and zeros are told apart", "[cache]") {
  const std::string whole = serialize(golden_entry());
  CHECK(parse(with_integer(whole, 8, 0, 4)).rejection == Rejection::kVersion);
  CHECK(parse(with_integer(whole, 8, 2, 4)).rejection == Rejection::kVersion);
  CHECK(parse(resealed(with_integer(whole, 8, 2, 4))).rejection == Rejection::kVersion);
  CHECK(parse(std::string(whole.size(), '\0')).rejection == Rejection::kNotAnEntry);
  CHECK(parse("\x7f"
              "ELF, a bare cubin as other programs would store it")
            .rejection == Rejection::kNotAnEntry);
  CHECK(parse({}).rejection == Rejection::kTruncated);
}

TEST_CASE("Entry: lengths that lie are rejected even under a right checksum", "[cache]") {
  const std::string whole = serialize(golden_entry());
  constexpr std::size_t kFirstLength = kPreludeBytes + 8;
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{80}, std::uint64_t{82}, std::uint64_t{1} << 40,
        ~std::uint64_t{0}, ~std::uint64_t{0} - 15}) {
    INFO("length " << length);
    CHECK(parse(resealed(with_integer(whole, kFirstLength, length, 8))).rejection ==
          Rejection::kStructure);
  }
  CHECK(parse(with_integer(whole, 16, whole.size() + 1, 8)).rejection == Rejection::kTruncated);
  CHECK(parse(with_integer(whole, 16, whole.size() - 1, 8)).rejection == Rejection::kSize);
  CHECK(parse(with_integer(whole, 16, ~std::uint64_t{0}, 8)).rejection == Rejection::kSize);
  for (const std::uint64_t sections : {0U, 3U, 5U, 65U, ~0U}) {
    INFO("sections " << sections);
    CHECK(parse(resealed(with_integer(whole, 28, sections, 4))).rejection == Rejection::kStructure);
  }
}

/// Adds a section before the seal and counts it.
static std::string with_section(const std::string& whole, const std::string& tag,
                                const std::string& payload) {
  std::string bytes = whole.substr(0, whole.size() - kSealBytes) + tag +
                      with_integer(std::string(12, '\0'), 4, payload.size(), 8) + payload +
                      std::string(kSealBytes, '\0');
  bytes = with_integer(std::move(bytes), 16, whole.size() + 16 + payload.size(), 8);
  return resealed(with_integer(std::move(bytes), 28, 5, 4));
}

TEST_CASE("Entry: unknown optional sections are passed over, other unknown ones are not",
          "[cache]") {
  const std::string whole = serialize(golden_entry());
  const ParsedEntry later = parse(with_section(whole, "note", "from a later version"));
  REQUIRE(later.entry.has_value());
  CHECK(same_entry(*later.entry, golden_entry()));
  CHECK(parse(with_section(whole, "NOTE", "must be understood")).rejection ==
        Rejection::kStructure);
  CHECK(parse(with_section(whole, "CODE", "a second one")).rejection == Rejection::kStructure);
}

TEST_CASE("Entry: a MAC seal needs its key, and a checksum is no MAC", "[cache]") {
  const Entry entry = make_entry(5);
  const std::string sealed = serialize(entry, "a key of sixteen");
  CHECK(parse(sealed, "a key of sixteen").entry.has_value());
  CHECK(parse(sealed, "another key, wrong").rejection == Rejection::kChecksum);
  CHECK(parse(sealed).rejection == Rejection::kSeal);
  CHECK(parse(serialize(entry), "a key of sixteen").rejection == Rejection::kSeal);
  // A forger who may not know the key can still name the MAC and put a plain checksum there.
  CHECK(parse(resealed(sealed), "a key of sixteen").rejection == Rejection::kChecksum);
}

TEST_CASE("Entry: the head can be read from the beginning alone", "[cache]") {
  Entry entry = make_entry(11, 5000);
  entry.key_text.append(6000, 'k');
  const std::string whole = serialize(entry);
  const auto needed = head_bytes(std::string_view(whole).substr(0, 200));
  REQUIRE(needed.has_value());
  REQUIRE(*needed < whole.size());
  const auto head = parse_head(std::string_view(whole).substr(0, *needed));
  REQUIRE(head.has_value());
  CHECK(head->key == entry.key);
  CHECK(head->toolchain_rank == entry.toolchain_rank);
  CHECK(head->key_text == entry.key_text);
  CHECK_FALSE(parse_head(std::string_view(whole).substr(0, *needed - 1)).has_value());
  CHECK_FALSE(head_bytes("too short").has_value());
}

TEST_CASE("EntryKey: only well-formed names are keys", "[cache]") {
  const EntryKey key = golden_entry().key;
  CHECK(EntryKey::parse(key.file_name()) == key);
  CHECK(EntryKey::parse(key.name()) == key);
  CHECK_FALSE(EntryKey::parse("").has_value());
  CHECK_FALSE(EntryKey::parse(key.name() + "0").has_value());
  CHECK_FALSE(EntryKey::parse(key.request).has_value());
  std::string upper = key.name();
  upper[0] = 'A';
  CHECK_FALSE(EntryKey::parse(upper).has_value());
  upper[0] = '/';
  CHECK_FALSE(EntryKey::parse(upper).has_value());
  Entry entry = golden_entry();
  CHECK(serializable(entry));
  entry.key.toolchain = "../../../../etc/";
  CHECK_FALSE(serializable(entry));
}

}  // namespace quantjit::cache
