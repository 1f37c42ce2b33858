// SPDX-License-Identifier: Apache-2.0
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>
#include <quantjit/traits.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

namespace {

std::string canonical(std::string_view text) {
  return to_text(parse_descriptor(text).traits);
}

/// The message of the InvalidArgument that `text` gives; empty if it parses.
std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse_descriptor(text));
  } catch (const InvalidArgument& failure) {
    return failure.what();
  }
  return {};
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

TEST_CASE("Traits: text to struct to text is the identity over the whole space", "[traits]") {
  const std::vector<Traits> all = enumerate_traits();
  std::set<std::string> texts;
  std::set<std::uint64_t> packed;
  std::size_t differing = 0;
  for (const Traits& traits : all) {
    const std::string text = to_text(traits);
    const Descriptor parsed = parse_descriptor(text);
    differing +=
        parsed.traits == traits && to_text(parsed.traits) == text && parsed.math == MathMode::kAuto
            ? 0
            : 1;
    texts.insert(text);
    packed.insert(pack(traits));
  }
  CHECK(differing == 0);
  CHECK(texts.size() == all.size());
  CHECK(packed.size() == all.size());
}

TEST_CASE("Traits: the space has the size that the rules of the contract give", "[traits]") {
  const std::size_t pdl = 2;
  // sglang: input and SiLU 5, scale and output 4, layout, group, schedule.
  const std::size_t sglang = 5 * 4 * 2 * 5 * 2 * pdl;
  // sglang_v2: input, output and scale 6, layout, group 4, SiLU, schedule.
  const std::size_t sglang_v2 = 2 * 6 * 2 * 4 * 2 * 2 * pdl;
  const std::size_t vllm = 2 * 2 * 2 * pdl;               // input, output, fill
  const std::size_t exact = 3 * 6 * 2 * 5 * 2 * 2 * pdl;  // as sglang_v2 with all groups and f32
  const std::size_t mxfp8 = 3 * 2 * 2 * 2 * pdl;          // input, layout, SiLU, schedule
  const std::size_t per_token = 3 * 3 * pdl;              // input; legacy, zero, exact
  CHECK(enumerate_traits().size() == sglang + sglang_v2 + vllm + exact + mxfp8 + per_token);
}

TEST_CASE("Traits: missing keys take their defaults, in any order", "[traits]") {
  const std::string defaults =
      "per_token_group_quant:in=bf16,out=e4m3,group=128,scale=f32,layout=row,silu=false,"
      "schedule=flat,numerics=sglang,fill=none,pdl=true";
  CHECK(canonical("per_token_group_quant") == defaults);
  CHECK(canonical(defaults) == defaults);
  CHECK(canonical("per_token_quant") ==
        "per_token_quant:in=bf16,out=e4m3,zero_rows=legacy,numerics=sglang,pdl=true");
  CHECK(canonical("per_token_group_quant:pdl=false,layout=col,in=f16,scale=ue8m0") ==
        canonical("per_token_group_quant:in=f16,scale=ue8m0,layout=col,pdl=false"));
}

TEST_CASE("Traits: fill and zero_rows take the default of their numerics", "[traits]") {
  const std::string vllm = "per_token_group_quant:scale=ue8m0,layout=col,numerics=vllm";
  CHECK_THAT(canonical(vllm), ContainsSubstring(",fill=zero,"));
  CHECK_THAT(canonical(vllm + ",fill=none"), ContainsSubstring(",fill=none,"));
  CHECK_THAT(canonical("per_token_quant:numerics=exact"), ContainsSubstring("zero_rows=zero"));
  CHECK_THAT(canonical("per_token_quant:zero_rows=zero"), ContainsSubstring("zero_rows=zero"));
}

TEST_CASE("Traits: math may stand anywhere and is kept beside the text", "[traits]") {
  const Descriptor first = parse_descriptor("per_token_quant:math=fast,in=f16");
  const Descriptor last = parse_descriptor("per_token_quant:in=f16,math=fast");
  CHECK(first.math == MathMode::kFast);
  CHECK(first == last);
  CHECK(to_text(first.traits) ==
        "per_token_quant:in=f16,out=e4m3,zero_rows=legacy,numerics=sglang,pdl=true");
  CHECK_THAT(refusal("per_token_quant:math=quick"), ContainsSubstring("auto|fast|precise"));
  CHECK_THAT(refusal("per_token_quant:math=fast,math=fast"), ContainsSubstring("once"));
}

TEST_CASE("Traits: malformed text is refused with what is allowed", "[traits]") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "per_token_group_quant|per_token_quant"},
      {"per_tensor_quant:in=bf16", "per_token_group_quant|per_token_quant"},
      {"Per_token_quant", "per_token_group_quant|per_token_quant"},
      {"per_token_quant:", "key=value"},
      {"per_token_quant:in", "key=value"},
      {"per_token_quant:in=bf16,", "key=value"},
      {"per_token_quant:,in=bf16", "key=value"},
      {"per_token_quant:group=128", "in, out, zero_rows, numerics, pdl, math"},
      {"per_token_group_quant:size=128", "in, out, group, scale, layout, silu, schedule"},
      {"per_token_group_quant:IN=bf16", "in, out, group"},
      {"per_token_group_quant:in=BF16", "in=bf16|f16|f32"},
      {"per_token_group_quant:in=", "in=bf16|f16|f32"},
      {"per_token_group_quant:in=e4m3", "in=bf16|f16|f32"},
      {"per_token_group_quant:in=bf16=f16", "in=bf16|f16|f32"},
      {"per_token_group_quant:group=48", "group=128|16|32|64|256"},
      {"per_token_group_quant:group=0128", "group=128|16|32|64|256"},
      {"per_token_quant:out=int8", "out=e4m3"},
      {"per_token_quant:numerics=vllm", "numerics=sglang|exact"},
      {"per_token_group_quant:in=bf16,in=bf16", "given once"},
      {"per_token_group_quant:in=bf16,out=int8,in=f16", "given once"},
      {" per_token_quant", "blanks"},
      {"per_token_quant:in=bf16, out=e4m3", "blanks"},
      {"per_token_quant:in=bf16\n", "blanks"},
      {"per_token_quant:in=bf16\tpdl=true", "blanks"},
  };
  for (const auto& [text, allowed] : table) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), ContainsSubstring(allowed));
  }
}

TEST_CASE("Traits: messages quote hostile text escaped and cut", "[traits]") {
  const std::string nul("per_token_quant:in=bf16\0,pdl=true", 33);
  CHECK_THAT(refusal(nul), ContainsSubstring("\"bf16\\x00\""));
  CHECK_THAT(refusal("per_token_quant:in=\x1b[31m"), ContainsSubstring("\\x1b[31m"));
  const std::vector<std::string> huge{std::string(1U << 22U, 'x'),
                                      "per_token_quant:in=" + std::string(1U << 22U, '\0'),
                                      "per_token_quant:" + std::string(1U << 22U, ','),
                                      "per_token_quant:" + std::string(1U << 22U, '='),
                                      "per_token_quant:in=" + std::string(1U << 22U, '"')};
  for (const std::string& text : huge) {
    const std::string message = refusal(text);
    CHECK(message.size() > 20);
    CHECK(message.size() < 500);
    CHECK(is_printable(message));
  }
}

TEST_CASE("Traits: random text parses to a canonical form or is refused in one line", "[traits]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<Traits> all = enumerate_traits();
  std::size_t bad = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = to_text(all[random() % all.size()]);
    for (unsigned edits = random() % 4 + 1; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const auto byte = static_cast<char>(random() % 256);
      switch (random() % 3) {
        case 0: text[at] = byte; break;
        case 1: text.insert(at, 1, byte); break;
        default: text.erase(at, random() % 12 + 1); break;
      }
      text += text.empty() ? "x" : "";
    }
    const std::string message = refusal(text);
    if (message.empty()) {
      bad += canonical(canonical(text)) == canonical(text) ? 0 : 1;
    } else {
      bad += message.size() < 500 && is_printable(message) ? 0 : 1;
    }
  }
  CHECK(bad == 0);
}

TEST_CASE("Traits: the description lists every key in canonical order, default first", "[traits]") {
  const std::vector<OpInfo> ops = describe_ops();
  REQUIRE(ops.size() == 2);
  for (const OpInfo& op : ops) {
    std::string text(op.op);
    char separator = ':';
    for (const KeyInfo& key : op.keys) {
      REQUIRE_FALSE(key.values.empty());
      text += separator + std::string(key.key) + "=" + std::string(key.values.front());
      separator = ',';
    }
    CHECK(text == canonical(op.op));
    CHECK_FALSE(op.summary.empty());
  }
  CHECK(ops[0].keys.size() == 10);
  CHECK(ops[1].keys.size() == 5);
  CHECK(ops[0].keys[3].values == std::vector<std::string_view>{"f32", "ue8m0", "f32_pow2", "e8m0"});
}

TEST_CASE("Traits: every listed value of every key occurs in the space", "[traits]") {
  const std::vector<Traits> all = enumerate_traits();
  for (const OpInfo& op : describe_ops()) {
    for (const KeyInfo& key : op.keys) {
      for (const std::string_view value : key.values) {
        const std::string item = std::string(key.key) + "=" + std::string(value);
        CAPTURE(op.op, item);
        CHECK(std::any_of(all.begin(), all.end(), [&](const Traits& traits) {
          const std::string text = to_text(traits) + ",";
          return op_name(traits) == op.op && (text.find("," + item + ",") != std::string::npos ||
                                              text.find(":" + item + ",") != std::string::npos);
        }));
      }
    }
  }
}
