// SPDX-License-Identifier: Apache-2.0
// The key: each ingredient alone changes it, nothing else does.
#include "kernels/embedded.hpp"
#include "src/service/explain.hpp"
#include "src/service/request.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <set>
#include <string>

using namespace quantjit;
using namespace quantjit::service;

namespace {

std::map<std::string, std::string> embedded_texts() {
  std::map<std::string, std::string> texts;
  for (const auto& source : kernels::embedded_sources()) {
    texts.emplace(source.path, source.text);
  }
  return texts;
}

struct Ingredients {
  std::string traits = "per_token_group_quant:group=64";
  std::string arch = "sm_90a";
  MathMode math = MathMode::kAuto;
  CodeKind code = CodeKind::kCubin;
  std::map<std::string, std::string> texts = embedded_texts();
};

Request request_of(const Ingredients& in) {
  const auto sources = std::make_shared<const KernelSources>("test", in.texts);
  return make_request(parse_descriptor(in.traits), Arch::parse(in.arch), in.math, in.code, sources);
}

}  // namespace

TEST_CASE("request key: it is a pure function of its ingredients", "[service][key]") {
  const Request a = request_of({});
  const Request b = request_of({});
  CHECK(a.key_text == b.key_text);
  CHECK(a.id == b.id);
  CHECK(a.id.size() == 64);
}

TEST_CASE("request key: every ingredient alone gives another key, and putting it back the old one",
          "[service][key]") {
  const Request base = request_of({});
  std::set<std::string> keys{base.id};
  const auto expect_new = [&](const Ingredients& changed, const char* what) {
    INFO(what);
    CHECK(keys.insert(request_of(changed).id).second);
  };
  expect_new({.traits = "per_token_group_quant:group=32"}, "group");
  expect_new({.traits = "per_token_group_quant:group=64,pdl=false"}, "pdl");
  expect_new({.traits = "per_token_quant"}, "operation");
  expect_new({.traits = "per_token_group_quant:group=64,math=precise"}, "math in the text");
  expect_new({.arch = "sm_90"}, "arch suffix");
  expect_new({.arch = "sm_100a"}, "arch");
  expect_new({.arch = "sm_100f"}, "arch family");
  expect_new({.code = CodeKind::kPtx}, "code kind");

  Ingredients deep;
  const KernelSources sources("test", embedded_texts());
  const std::string file = sources.closure("per_token_group_quant.cuh").back()->path;
  deep.texts.at(file) += "\n";
  expect_new(deep, "one byte in an included file");
  deep.texts.at(file).pop_back();
  CHECK(request_of(deep).id == base.id);

  Ingredients unreachable;
  unreachable.texts["unreachable.cuh"] = "int x;\n";
  CHECK(request_of(unreachable).id == base.id);
}

TEST_CASE("request key: the math preference shows only where the numerics leave a choice",
          "[service][key]") {
  const Request base = request_of({});
  CHECK(request_of({.math = MathMode::kFast}).id == base.id);
  CHECK(request_of({.math = MathMode::kPrecise}).id != base.id);
  const std::string exact = "per_token_group_quant:group=64,numerics=exact";
  CHECK(request_of({.traits = exact, .math = MathMode::kFast}).id ==
        request_of({.traits = exact}).id);
}

TEST_CASE("key text: lengths keep neighbouring fields apart, and it parses back",
          "[service][key]") {
  std::string a;
  append_key_field(a, "option", "ab");
  append_key_field(a, "option", "c");
  std::string b;
  append_key_field(b, "option", "a");
  append_key_field(b, "option", "bc");
  std::string c;
  append_key_field(c, "option", "ab\noption 1:c");
  CHECK(a != b);
  CHECK(a != c);
  CHECK(parse_key_text(a) == std::vector<KeyField>{{"option", "ab"}, {"option", "c"}});
  CHECK(parse_key_text(c) == std::vector<KeyField>{{"option", "ab\noption 1:c"}});
  for (const char* const broken :
       {"option", "option 1", "option 2:a", "option x:a\n", "option 99:a\n", "option 1:ab"}) {
    INFO(broken);
    CHECK(parse_key_text(broken).empty());
  }
}

TEST_CASE("key text: comparable fields name single traits, numbered options and source files",
          "[service][key]") {
  const auto fields = comparable_fields(request_of({}).key_text);
  CHECK(fields.at("op") == "per_token_group_quant");
  CHECK(fields.at("traits.group") == "64");
  CHECK(fields.at("math") == "fast");
  CHECK(fields.at("arch") == "sm_90a");
  CHECK(fields.at("source per_token_group_quant.cuh").starts_with("sha256="));
  CHECK(fields.contains("name[0]"));
}

TEST_CASE("request key: all descriptors of an arch have different keys", "[service][key]") {
  const auto sources = KernelSources::embedded();
  std::set<std::string> keys;
  std::size_t count = 0;
  for (const Traits& traits : enumerate_traits()) {
    keys.insert(make_request({traits, MathMode::kAuto}, Arch::parse("sm_90a"), MathMode::kAuto,
                             CodeKind::kCubin, sources)
                    .id);
    ++count;
  }
  CHECK(keys.size() == count);
}
