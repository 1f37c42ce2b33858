// SPDX-License-Identifier: Apache-2.0
// Operations of the program: what may be registered, and what their descriptors become.
#include "src/service/request.hpp"
#include "src/traits/custom.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

namespace {

Source good() {
  return {.op = "scale_rows",
          .path = "engine/scale_rows.cuh",
          .text = "#include \"device/types.cuh\"\n",
          .includes = {{"engine/params.h", "#pragma once\n"}},
          .keys = {{"in", {{"bf16", "engine::kBF16"}, {"f16", "kF16"}}},
                   {"width", {{"4"}, {"8"}, {"1.5", "-3"}}},
                   {"round", {{"true"}, {"false"}}}},
          .entries = {{"engine::scale_rows", {"in", "width", "16", "pdl", "math"}},
                      {"engine::tail", {}}},
          .parameter_bytes = 40};
}

Descriptor parse(const Source& source, std::string_view items) {
  return traits::parse_custom(traits::make_operation(source), items);
}

struct WrongSource {
  std::string what;
  std::function<void(Source&)> spoil;
};

}  // namespace

TEST_CASE("Custom operations: text and descriptor are one", "[traits]") {
  const CustomOperation& operation = traits::make_operation(good());
  const std::string defaults = "scale_rows:in=bf16,width=4,round=true,pdl=true";
  REQUIRE(to_text(traits::parse_custom(operation, "").traits) == defaults);
  const Descriptor other =
      traits::parse_custom(operation, "pdl=false,round=false,width=1.5,in=f16,math=precise");
  REQUIRE(to_text(other) == "scale_rows:in=f16,width=1.5,round=false,pdl=false,math=precise");
  REQUIRE(op_name(other.traits) == "scale_rows");
  REQUIRE(traits::parse_custom(operation, to_text(other).substr(11)) == other);
  validate(other.traits);
}

TEST_CASE("Custom operations: descriptor texts that are wrong are refused", "[traits]") {
  for (const char* const items : {"in=f32", "depth=1", "in", "in=bf16,in=f16", "in=bf16,", ",",
                                  "pdl=1", "math=slow", "in=", " in=bf16", "width=4 "}) {
    CAPTURE(items);
    REQUIRE_THROWS_AS(parse(good(), items), InvalidArgument);
  }
  REQUIRE_THROWS_WITH(parse(good(), "width=5"), ContainsSubstring("width=4|8|1.5"));
  REQUIRE_THROWS_WITH(parse(good(), "depth=1"), ContainsSubstring("in, width, round, pdl, math"));
}

TEST_CASE("Custom operations: values become template arguments", "[traits]") {
  const Descriptor descriptor = parse(good(), "in=f16,width=1.5,pdl=false");
  const Specialization made =
      specialize(descriptor.traits, MathMode::kPrecise, Arch::parse("sm_90a"));
  REQUIRE(made.source == "engine/scale_rows.cuh");
  REQUIRE(made.name_expressions ==
          std::vector<std::string>{"engine::scale_rows<kF16, -3, 16, false, 2>", "engine::tail"});
  REQUIRE(made.options == std::vector<std::string>{"--std=c++17", "--fmad=false"});
  Source contracted = good();
  contracted.fmad = true;
  REQUIRE(specialize(parse(contracted, "").traits, MathMode::kFast, Arch{}).options.back() ==
          "--fmad=true");
}

TEST_CASE("Custom operations: every descriptor packs into a number of its own", "[traits]") {
  std::set<std::uint64_t> packed;
  Source changed = good();
  changed.text += "\n";
  const CustomOperation* const first = &traits::make_operation(good());
  const CustomOperation* const second = &traits::make_operation(changed);
  REQUIRE(&traits::make_operation(good()) == first);
  for (const CustomOperation* const operation : {first, second}) {
    for (const char* const width : {"4", "8", "1.5"}) {
      for (const char* const in : {"bf16", "f16"}) {
        for (const char* const pdl : {"true", "false"}) {
          const std::string items =
              "in=" + std::string(in) + ",width=" + width + ",pdl=" + std::string(pdl);
          packed.insert(pack(traits::parse_custom(*operation, items).traits));
        }
      }
    }
  }
  REQUIRE(packed.size() == 24);
  for (const Traits& traits : enumerate_traits()) {
    REQUIRE_FALSE(packed.contains(pack(traits)));
  }
  REQUIRE_FALSE(packed.contains(pack(CustomTraits{})));
}

TEST_CASE("Custom operations: what is no descriptor is refused, not read", "[traits]") {
  REQUIRE_THROWS_AS(validate(CustomTraits{}), InvalidArgument);
  CustomTraits traits = std::get<CustomTraits>(parse(good(), "").traits);
  const std::uint64_t before = pack(traits);
  traits.values[1] = 3;
  REQUIRE_THROWS_AS(validate(traits), InvalidArgument);
  REQUIRE(pack(traits) != before);
  REQUIRE_THROWS_AS(input_dtype(traits), InvalidArgument);
}

TEST_CASE("Custom operations: nothing but names, integers and booleans reaches the compiler",
          "[traits]") {
  const std::vector<WrongSource> wrong = {
      {"no op", [](Source& s) { s.op.clear(); }},
      {"an op in capitals", [](Source& s) { s.op = "Scale"; }},
      {"a built-in op", [](Source& s) { s.op = "per_token_quant"; }},
      {"an absolute path", [](Source& s) { s.path = "/etc/x.cuh"; }},
      {"a path that leaves", [](Source& s) { s.path = "../x.cuh"; }},
      {"a path with a quote", [](Source& s) { s.path = "a\".cuh"; }},
      {"a path with another ending", [](Source& s) { s.path = "x.cpp"; }},
      {"no text", [](Source& s) { s.text.clear(); }},
      {"text and file", [](Source& s) { s.file = "x.cuh"; }},
      {"a file that is not there",
       [](Source& s) {
         s.text.clear();
         s.file = "/nonexistent/x.cuh";
       }},
      {"too much text", [](Source& s) { s.text.assign(traits::kMaxSourceBytes + 1, ' '); }},
      {"an include twice", [](Source& s) { s.includes.push_back(s.includes[0]); }},
      {"an include over the source", [](Source& s) { s.includes[0].path = s.path; }},
      {"a key twice", [](Source& s) { s.keys[1].key = "in"; }},
      {"a key named pdl", [](Source& s) { s.keys[1].key = "pdl"; }},
      {"a key named math", [](Source& s) { s.keys[1].key = "math"; }},
      {"a key named true", [](Source& s) { s.keys[1].key = "true"; }},
      {"a key without values", [](Source& s) { s.keys[1].values.clear(); }},
      {"a value twice", [](Source& s) { s.keys[1].values[1] = s.keys[1].values[0]; }},
      {"an empty value", [](Source& s) { s.keys[1].values[0].value.clear(); }},
      {"a value with a comma", [](Source& s) { s.keys[1].values[0].value = "4,5"; }},
      {"a value that is no argument", [](Source& s) { s.keys[1].values[0].value = "4.5"; }},
      {"an octal argument", [](Source& s) { s.keys[1].values[0].argument = "010"; }},
      {"an expression", [](Source& s) { s.keys[1].values[0].argument = "4+4"; }},
      {"a template", [](Source& s) { s.keys[1].values[0].argument = "a<b>"; }},
      {"a statement", [](Source& s) { s.keys[1].values[0].argument = "4>(); } int x"; }},
      {"half a qualified name", [](Source& s) { s.keys[1].values[0].argument = "a::"; }},
      {"a string", [](Source& s) { s.keys[1].values[0].argument = "\"a\""; }},
      {"a long number", [](Source& s) { s.keys[1].values[0].argument = std::string(19, '1'); }},
      {"no entry", [](Source& s) { s.entries.clear(); }},
      {"four entries", [](Source& s) { s.entries.resize(4, s.entries[0]); }},
      {"a function with arguments", [](Source& s) { s.entries[0].function = "f<4>"; }},
      {"a function with a blank", [](Source& s) { s.entries[0].function = "void f"; }},
      {"an argument that is no key", [](Source& s) { s.entries[0].arguments[0] = "depth"; }},
      {"no parameters", [](Source& s) { s.parameter_bytes = 0; }},
      {"too many parameters", [](Source& s) { s.parameter_bytes = 4097; }},
      {"17 keys",
       [](Source& s) {
         s.keys.assign(17, {"a", {{"1"}}});
         for (std::size_t i = 0; i < s.keys.size(); ++i) {
           s.keys[i].key += std::to_string(i);
         }
       }},
      {"too many combinations",
       [](Source& s) {
         SourceKey key{"a", {}};
         for (int i = 0; i < 64; ++i) {
           key.values.push_back({std::to_string(i)});
         }
         for (int i = 0; i < 6; ++i) {
           key.key += "a";
           s.keys.push_back(key);
         }
       }},
  };
  for (const WrongSource& one : wrong) {
    CAPTURE(one.what);
    Source source = good();
    one.spoil(source);
    REQUIRE_THROWS_AS(traits::make_operation(source), InvalidArgument);
  }
  REQUIRE_NOTHROW(traits::make_operation(good()));
}

TEST_CASE("Custom operations: the key covers the source and what it includes", "[traits]") {
  const auto id = [](const Source& source, std::string_view items = {}) {
    return service::make_request(parse(source, items), Arch::parse("sm_90a"), MathMode::kAuto,
                                 CodeKind::kCubin, service::KernelSources::embedded())
        .id;
  };
  Source source = good();
  source.text = "#include \"engine/params.h\"\n#include \"device/types.cuh\"\n";
  const std::string before = id(source);
  REQUIRE(id(source) == before);
  REQUIRE(id(source, "width=8") != before);
  Source other = source;
  other.text += "\n";
  REQUIRE(id(other) != before);
  other = source;
  other.includes[0].text += "\n";
  REQUIRE(id(other) != before);
  other = source;
  other.fmad = true;
  REQUIRE(id(other) != before);
  other = source;
  other.path = "device/types.cuh";
  REQUIRE_THROWS_WITH(id(other), ContainsSubstring("have a file of this name"));
  other = source;
  other.text = "#include \"engine/other.h\"\n";
  REQUIRE_THROWS_AS(id(other), CompileError);
}
