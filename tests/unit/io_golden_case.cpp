// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"
#include "src/io/base64.hpp"
#include "src/io/golden_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <random>

using namespace quantjit;
using nlohmann::json;
using quantjit::test::ContainsSubstring;

namespace {

/// A valid line of a masked case, to be damaged.
json valid_line() {
  return {{"name", "case"},
          {"reference", "sglang_unified"},
          {"in_dtype", "bf16"},
          {"out_dtype", "e4m3"},
          {"layout", "f32_col"},
          {"group", 32},
          {"silu", true},
          {"tokens", 6},
          {"hidden", 64},
          {"experts", 2},
          {"masked_m", {3, 6}},
          {"mask_dtype", "int64"},
          {"pad_rows", 1},
          {"input", "uniform"},
          {"seed", 18446744073709551615U},
          {"q_sha256", std::string(64, '0')},
          {"s_sha256", std::string(64, 'f')},
          {"q_b64", nullptr},
          {"s_b64", "AAEC"}};
}

std::string refusal(const std::string& line) {
  try {
    static_cast<void>(io::parse_golden_case(line, 17));
  } catch (const InvalidArgument& failure) {
    return failure.what();
  }
  return {};
}

std::string refusal(const std::function<void(json&)>& damage) {
  json line = valid_line();
  damage(line);
  return refusal(line.dump());
}

}  // namespace

TEST_CASE("GoldenCase: a line becomes traits, shape and buffers", "[io]") {
  const io::GoldenCase recorded = io::parse_golden_case(valid_line().dump(), 1);
  CHECK(to_text(recorded.problem.traits) ==
        "per_token_group_quant:in=bf16,out=e4m3,group=32,scale=f32,layout=col,silu=true,"
        "schedule=masked,numerics=sglang,fill=none,pdl=true");
  CHECK(recorded.math == MathMode::kFast);
  CHECK(recorded.problem.seed == 18446744073709551615U);
  CHECK_FALSE(recorded.q_bytes.has_value());
  REQUIRE(recorded.s_bytes.has_value());
  CHECK(*recorded.s_bytes == std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{2}});
  const io::ProblemBuffers buffers = io::make_buffers(recorded.problem);
  CHECK(buffers.input.size() == 2 * 6 * 128 * 2);
  CHECK(buffers.q.size() == 2 * 7 * 64);
  CHECK(buffers.s.size() == 2 * 2 * 8 * 4);
  CHECK(buffers.mask.size() == 16);
  CHECK(buffers.s_view.stride(0) == 16);
  CHECK(buffers.s_view.stride(1) == 1);
  CHECK(buffers.s_view.stride(2) == 8);
  CHECK(buffers.q.front() == std::byte{0xA5});
  CHECK(buffers.s[2] == std::byte{0xC0});
  CHECK(buffers.s[3] == std::byte{0x7F});
}

TEST_CASE("GoldenCase: originals map to their numerics", "[io]") {
  json line = valid_line();
  line["reference"] = "vllm_packed";
  line["layout"] = "ue8m0_col";
  line["group"] = 128;
  line["hidden"] = 128;
  line["silu"] = false;
  line["experts"] = nullptr;
  const io::GoldenCase vllm = io::parse_golden_case(line.dump(), 1);
  CHECK(vllm.math == MathMode::kPrecise);
  CHECK_THAT(to_text(vllm.problem.traits), ContainsSubstring("numerics=vllm,fill=zero"));
  line["reference"] = "sglang_per_token_aot";
  line["layout"] = "per_token";
  const io::GoldenCase token = io::parse_golden_case(line.dump(), 1);
  CHECK(to_text(token.problem.traits) ==
        "per_token_quant:in=bf16,out=e4m3,zero_rows=legacy,numerics=sglang,pdl=true");
  CHECK(io::make_buffers(token.problem).s.size() == 7 * 4);
}

TEST_CASE("GoldenCase: malformed lines are refused with line and key", "[io]") {
  const json valid = valid_line();
  for (const auto& [key, value] : valid.items()) {
    if (key == "q_b64" || key == "s_b64") {
      continue;  // recorded for small cases only
    }
    CAPTURE(key);
    const std::string missing = refusal([name = key](json& line) { line.erase(name); });
    CHECK_THAT(missing, ContainsSubstring("golden line 17"));
    CHECK_THAT(missing, ContainsSubstring(key));
    const std::string wrong = refusal([name = key](json& line) {
      line[name] = json::object({{"a", 1}});
    });
    CHECK_THAT(wrong, ContainsSubstring("golden line 17"));
    CHECK_THAT(wrong, ContainsSubstring(key));
  }
}

TEST_CASE("GoldenCase: impossible values are refused", "[io]") {
  const std::vector<std::pair<std::string, std::function<void(json&)>>> table{
      {"reference", [](json& line) { line["reference"] = "deepgemm"; }},
      {"layout", [](json& line) { line["layout"] = "per_token"; }},
      {"group", [](json& line) { line["group"] = 48; }},
      {"group", [](json& line) { line["group"] = 1048576 + 128; }},
      {"tokens", [](json& line) { line["tokens"] = -1; }},
      {"tokens", [](json& line) { line["tokens"] = 18446744073709551615U; }},
      {"tokens", [](json& line) { line["tokens"] = 1.5; }},
      {"tokens", [](json& line) { line["tokens"] = std::int64_t{1} << 36U; }},
      {"hidden", [](json& line) { line["hidden"] = 65; }},
      {"hidden", [](json& line) { line["hidden"] = std::int64_t{1} << 62U; }},
      {"pad_rows", [](json& line) { line["pad_rows"] = std::int64_t{1} << 50U; }},
      {"experts", [](json& line) { line["experts"] = std::int64_t{1} << 40U; }},
      {"masked_m",
       [](json& line) {
         line["masked_m"] = {1, 2, 3};
       }},
      {"masked_m",
       [](json& line) {
         line["masked_m"] = {1, "2"};
       }},
      {"masked_m",
       [](json& line) {
         line["masked_m"] = {1, std::int64_t{1} << 33U};
         line["mask_dtype"] = "int32";
       }},
      {"mask_dtype", [](json& line) { line["mask_dtype"] = "int16"; }},
      {"input kind", [](json& line) { line["input"] = "gauss"; }},
      {"seed", [](json& line) { line["seed"] = -1; }},
      {"q_sha256", [](json& line) { line["q_sha256"] = "00"; }},
      {"s_sha256", [](json& line) { line["s_sha256"] = std::string(64, 'F'); }},
      {"q_b64", [](json& line) { line["q_b64"] = "AAE"; }},
      {"silu", [](json& line) { line["in_dtype"] = "f32"; }},
  };
  for (const auto& [key, damage] : table) {
    const std::string message = refusal(damage);
    CAPTURE(key, message);
    CHECK_THAT(message, ContainsSubstring("golden line 17"));
    CHECK_THAT(message, ContainsSubstring(key));
  }
}

TEST_CASE("GoldenCase: what is no JSON object is refused", "[io]") {
  for (const std::string& line :
       {std::string("{"), std::string("[]"), std::string("17"), std::string("\xff\xfe"),
        std::string("{\"a\": 1} trailing"), std::string(1U << 20U, '['),
        std::string("{\"a\":") + std::string(1U << 20U, '['), std::string("\0", 1)}) {
    const std::string message = refusal(line);
    CHECK_THAT(message, ContainsSubstring("golden line 17"));
    CHECK(message.size() < 500);
  }
}

TEST_CASE("GoldenCase: random damage never gives anything but InvalidArgument", "[io]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string valid = valid_line().dump();
  std::size_t refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string line = valid;
    line[random() % line.size()] = static_cast<char>(random() % 256);
    line.erase(random() % line.size(), random() % 3);
    refused += refusal(line).empty() ? 0 : 1;
  }
  CHECK(refused > 2500);
}

TEST_CASE("GoldenCase: files skip empty lines and count them", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "cases.jsonl";
  std::ofstream(path) << valid_line().dump() << "\n\n" << valid_line().dump();
  CHECK(io::read_golden_cases(path).size() == 2);
  std::ofstream(path) << valid_line().dump() << "\n\nnull\n";
  CHECK_THROWS_WITH(io::read_golden_cases(path), ContainsSubstring("golden line 3"));
  CHECK_THROWS_WITH(io::read_golden_cases(directory.path() / "none"), ContainsSubstring("none"));
}

TEST_CASE("GoldenCase: a mismatch names buffer, count and first byte", "[io]") {
  io::GoldenCase recorded = io::parse_golden_case(valid_line().dump(), 1);
  const std::vector<std::byte> q{std::byte{1}, std::byte{2}};
  const std::vector<std::byte> s{std::byte{0}, std::byte{1}, std::byte{2}};
  recorded.q_sha256 = base::to_hex(base::sha256(q));
  recorded.s_sha256 = base::to_hex(base::sha256(s));
  CHECK_FALSE(io::golden_mismatch(recorded, q, s).has_value());
  std::vector<std::byte> wrong = s;
  wrong[1] = std::byte{9};
  CHECK(io::golden_mismatch(recorded, q, wrong).value() ==
        "scales: 1 bytes differ, the first at 1 (9, recorded 1)");
  CHECK_THAT(io::golden_mismatch(recorded, s, s).value(), ContainsSubstring("codes: SHA-256"));
}

TEST_CASE("Base64: the standard alphabet with padding and nothing else", "[io]") {
  const auto text_of = [](std::string_view encoded) {
    const auto bytes = io::decode_base64(encoded);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                 : std::string("refused");
  };
  CHECK(text_of("").empty());
  CHECK(text_of("Zg==") == "f");
  CHECK(text_of("Zm8=") == "fo");
  CHECK(text_of("Zm9v") == "foo");
  CHECK(text_of("Zm9vYmFy") == "foobar");
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm-v", "Z=g=", "====", "Zm9v\n", "Zm 9"}) {
    CAPTURE(bad);
    CHECK(text_of(bad) == "refused");
  }
}
