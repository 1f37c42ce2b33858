// SPDX-License-Identifier: Apache-2.0
#include "src/io/manifest.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <fstream>
#include <string>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::TemporaryDirectory;

namespace {

/// A manifest of one item, to be damaged by other texts in its places.
std::string manifest_of(const std::string& items, const std::string& head = "") {
  return "{\n \"quantjit_manifest\": 1,\n" + head + " \"items\": [" + items + "]\n}\n";
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(io::parse_manifest(text, "manifest m.json"));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

const std::string kPlain = R"({"traits": "per_token_quant", "archs": ["sm_90a"]})";

}  // namespace

TEST_CASE("manifest: items are read in order, with archs and notes, in any form of the descriptor",
          "[io][manifest]") {
  const io::Manifest manifest = io::parse_manifest(
      manifest_of(kPlain + R"(, {"notes": "second", "archs": ["sm_100a", "sm_90a"],
                   "traits": "per_token_group_quant:layout=col,math=precise,group=64"},
                  {"traits": "per_token_quant:in=f16"})",
                  R"("notes": "all of them",)"),
      "m");
  CHECK(manifest.notes == "all of them");
  REQUIRE(manifest.items.size() == 3);
  CHECK(manifest.items[0].descriptor == parse_descriptor("per_token_quant"));
  CHECK(manifest.items[0].archs == std::vector{Arch::parse("sm_90a")});
  CHECK(manifest.items[1].descriptor ==
        parse_descriptor("per_token_group_quant:group=64,layout=col,math=precise"));
  CHECK(manifest.items[1].archs == std::vector{Arch::parse("sm_100a"), Arch::parse("sm_90a")});
  CHECK(manifest.items[1].notes == "second");
  CHECK(manifest.items[2].archs.empty());
}

TEST_CASE("manifest: writing and reading is the identity, for every descriptor and mode",
          "[io][manifest]") {
  io::Manifest manifest{.notes = "quotes \" and \\ and \xC3\xA9", .items = {}};
  for (const Traits& traits : enumerate_traits()) {
    manifest.items.push_back({{traits, MathMode::kAuto}, {Arch::parse("sm_103f")}, {}});
  }
  manifest.items.push_back({parse_descriptor("per_token_quant:math=fast"), {}, "note"});
  const io::Manifest read = io::parse_manifest(io::to_json(manifest), "m");
  CHECK(read.notes == manifest.notes);
  REQUIRE(read.items.size() == manifest.items.size());
  for (std::size_t i = 0; i < read.items.size(); ++i) {
    INFO(to_text(manifest.items[i].descriptor));
    REQUIRE(read.items[i].descriptor == manifest.items[i].descriptor);
    REQUIRE(read.items[i].archs == manifest.items[i].archs);
    REQUIRE(read.items[i].notes == manifest.items[i].notes);
  }
  CHECK(io::to_json(read) == io::to_json(manifest));
}

TEST_CASE("manifest: what does not fit is refused with the item or the line", "[io][manifest]") {
  CHECK_THAT(refusal("{\n \"items\": [\n"), ContainsSubstring("line 3"));
  CHECK_THAT(refusal("[]"), ContainsSubstring("object"));
  CHECK_THAT(refusal("{}"), ContainsSubstring("quantjit_manifest") && ContainsSubstring("missing"));
  CHECK_THAT(refusal(R"({"quantjit_manifest": 2, "items": []})"),
             ContainsSubstring("\"2\"") && ContainsSubstring("reads version 1"));
  CHECK_THAT(refusal(R"({"quantjit_manifest": "1", "items": []})"), ContainsSubstring("version"));
  CHECK_THAT(refusal(R"({"quantjit_manifest": 1})"), ContainsSubstring("items"));
  CHECK_THAT(refusal(R"({"quantjit_manifest": 1, "items": {}})"), ContainsSubstring("no list"));
  CHECK_THAT(refusal(manifest_of("", "\"item\": [],")), ContainsSubstring("\"item\""));
  CHECK_THAT(refusal(manifest_of("", "\"notes\": 1,")), ContainsSubstring("notes"));
  CHECK_THAT(refusal(manifest_of("", "\"notes\": \"a\", \"notes\": \"b\",")),
             ContainsSubstring("only once"));
  CHECK_THAT(refusal(std::string(1000, '[')), ContainsSubstring("nested"));
}

TEST_CASE("manifest: a bad item is named by its index", "[io][manifest]") {
  const auto [item, expected] = GENERATE(table<std::string, std::string>({
      {"3", "object"},
      {"{}", "traits"},
      {R"({"traits": 5})", "string"},
      {R"({"traits": "per_token_quant:group=64"})", "group"},
      {R"({"traits": "per_token_group_quant:group=77"})", "77"},
      {R"({"traits": "per_token_quant:in=f16", "arch": "sm_90a"})", "\"arch\""},
      {R"({"traits": "per_token_quant:in=f16", "archs": "sm_90a"})", "archs"},
      {R"({"traits": "per_token_quant:in=f16", "archs": []})", "left out"},
      {R"({"traits": "per_token_quant:in=f16", "archs": ["sm_80"]})", "sm_80"},
      {R"({"traits": "per_token_quant:in=f16", "archs": ["sm_90a", "sm_90a"]})", "only once"},
      {R"({"traits": "per_token_quant:in=f16", "traits": "per_token_quant"})", "only once"},
      // The same descriptor in another form.
      {R"({"traits": "per_token_quant:in=bf16,math=auto"})", "items[0] is the same"},
  }));
  INFO(item);
  const std::string message = refusal(manifest_of(kPlain + ", " + item));
  CHECK_THAT(message, ContainsSubstring("items[1]"));
  CHECK_THAT(message, ContainsSubstring(expected));
  CHECK(refusal(manifest_of(kPlain + R"(, {"traits": "per_token_quant:math=precise"})")).empty());
}

TEST_CASE("manifest: pairs of a file, with the caller's archs where an item has none",
          "[io][manifest]") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "m.json").string();
  std::ofstream(path) << manifest_of(kPlain + R"(, {"traits": "per_token_quant:in=f16"})");
  const std::vector<PrewarmItem> pairs =
      read_manifest(path, {Arch::parse("sm_100a"), Arch::parse("sm_120a")});
  CHECK(pairs == std::vector<PrewarmItem>{
                     {parse_descriptor("per_token_quant"), Arch::parse("sm_90a")},
                     {parse_descriptor("per_token_quant:in=f16"), Arch::parse("sm_100a")},
                     {parse_descriptor("per_token_quant:in=f16"), Arch::parse("sm_120a")}});
  CHECK_THROWS_WITH(read_manifest(path), ContainsSubstring("items[1]") && ContainsSubstring(path));
  CHECK_THROWS_AS(read_manifest(path + ".not-there"), InvalidArgument);

  const io::Manifest again = io::to_manifest(pairs);
  REQUIRE(again.items.size() == 2);
  CHECK(again.items[1].archs.size() == 2);
  io::write_manifest_file(path, again);
  CHECK(read_manifest(path) == pairs);
}
