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

std::string record(const std::string& traits, const std::string& arch = "sm_90a") {
  return R"({"quantjit_trace":1,"arch":")" + arch + R"(","traits":")" + traits + "\"}";
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(io::parse_trace(text, "trace t"));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("trace: distinct pairs in order of appearance", "[io][trace]") {
  const io::Trace trace = io::parse_trace(
      record("per_token_quant") + "\n" + record("per_token_quant:in=f16") + "\n\n" +
          record("per_token_quant:in=bf16") + "\n" + record("per_token_quant", "sm_100a") + "\n" +
          record("per_token_quant:math=precise") + "\n",
      "t");
  CHECK(trace.torn == 0);
  CHECK(trace.records ==
        std::vector<PrewarmItem>{
            {parse_descriptor("per_token_quant"), Arch::parse("sm_90a")},
            {parse_descriptor("per_token_quant:in=f16"), Arch::parse("sm_90a")},
            {parse_descriptor("per_token_quant"), Arch::parse("sm_100a")},
            {parse_descriptor("per_token_quant:math=precise"), Arch::parse("sm_90a")}});
}

TEST_CASE("trace: a record that was cut off anywhere is skipped, and the others count",
          "[io][trace]") {
  const std::string first = record("per_token_quant:in=f16");
  const std::string last = record("per_token_quant:in=f32,pdl=false");
  for (std::size_t kept = 1; kept < last.size(); ++kept) {
    INFO(last.substr(0, kept));
    const io::Trace at_end = io::parse_trace(first + "\n" + last.substr(0, kept), "t");
    CHECK(at_end.records.size() == 1);
    CHECK(at_end.torn == 1);
    // Another process appended behind it.
    const io::Trace inside = io::parse_trace(last.substr(0, kept) + first + "\n", "t");
    REQUIRE(inside.records.size() == 1);
    CHECK(inside.records[0].descriptor == parse_descriptor("per_token_quant:in=f16"));
    CHECK(inside.torn == 1);
    const io::Trace own_line = io::parse_trace(last.substr(0, kept) + "\n" + first + "\n", "t");
    CHECK(own_line.records.size() == 1);
    CHECK(own_line.torn == 1);
  }
}

TEST_CASE("trace: what is no record, or one that does not fit, is refused with its line",
          "[io][trace]") {
  const auto [line, expected] = GENERATE(table<std::string, std::string>({
      {"per_token_quant sm_90a", "JSON"},
      {R"({"quantjit_manifest":1,"items":[{"traits":"per_token_quant"}]})", "JSON"},
      {R"({"arch":"sm_90a","traits":"per_token_quant"})", "no version"},
      {R"({"quantjit_trace":2,"arch":"sm_90a","traits":"per_token_quant"})", "version"},
      {R"({"quantjit_trace":1,"traits":"per_token_quant"})", "arch"},
      {R"({"quantjit_trace":1,"arch":9,"traits":"per_token_quant"})", "arch"},
      {R"({"quantjit_trace":1,"arch":"sm_90a","traits":"per_token_quant","pid":1})", "4 keys"},
      {record("per_token_quant:in=int8"), "int8"},
      {record("per_token_quant", "sm_80"), "sm_80"},
  }));
  INFO(line);
  const std::string message = refusal(record("per_token_quant") + "\n" + line + "\n");
  CHECK_THAT(message, ContainsSubstring("line 2"));
  CHECK_THAT(message, ContainsSubstring(expected));
}

TEST_CASE("trace: of a file, for the archs recorded or for others", "[io][trace]") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "trace").string();
  std::ofstream(path) << record("per_token_quant") << '\n'
                      << record("per_token_quant", "sm_100a") << '\n'
                      << record("per_token_quant:in=f16") << '\n';
  CHECK(read_trace(path).size() == 3);
  CHECK(read_trace(path, {Arch::parse("sm_120a")}) ==
        std::vector<PrewarmItem>{
            {parse_descriptor("per_token_quant"), Arch::parse("sm_120a")},
            {parse_descriptor("per_token_quant:in=f16"), Arch::parse("sm_120a")}});
  CHECK_THROWS_AS(read_trace(path + ".not-there"), InvalidArgument);
  std::ofstream(directory.path() / "empty");
  CHECK(read_trace((directory.path() / "empty").string()).empty());
}
