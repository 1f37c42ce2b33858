// SPDX-License-Identifier: Apache-2.0
#include "src/models/ignore.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/models_fixture.hpp"

#include <nlohmann/json.hpp>

using namespace quantjit;
using models::IgnoreList;
using models::Pattern;
using nlohmann::json;

namespace {

IgnoreList list_of(const std::vector<std::string>& entries) {
  std::vector<std::string> warnings;
  IgnoreList list(entries, warnings);
  CHECK(warnings.empty());
  return list;
}

bool matches(const std::string& pattern, const std::string& text) {
  const auto compiled = Pattern::compile(pattern);
  INFO(pattern);
  REQUIRE(compiled.has_value());
  return compiled->matches(text);
}

/// Qwen3-8B (36 layers) with an ignore list.
models::Derivation derive_ignoring(const json& entries) {
  json config = json::parse(test::model_file("qwen3-8b-fp8.json"));
  config["quantization_config"]["modules_to_not_convert"] = entries;
  return models::derive(config.dump(), std::nullopt, test::sglang("sm_90a", 1));
}

json in_every_layer(const std::vector<std::string>& modules, int layers = 36) {
  json entries = json::array();
  for (int i = 0; i < layers; ++i) {
    for (const std::string& module : modules) {
      entries.push_back("model.layers." + std::to_string(i) + "." + module);
    }
  }
  return entries;
}

}  // namespace

TEST_CASE("IgnoreList: entries match whole dotted components", "[models]") {
  const IgnoreList list = list_of({"mlp.gate", "lm_head", "model.layers.3.self_attn"});
  CHECK(list.matches("model.layers.7.mlp.gate"));
  CHECK(list.matches("layers.7.mlp.gate"));
  CHECK_FALSE(list.matches("model.layers.7.mlp.gate_up_proj"));
  CHECK_FALSE(list.matches("model.layers.7.mlp.gate_proj"));
  CHECK_FALSE(list.matches("model.layers.7.other_mlp.gate"));
  CHECK(list.matches("model.layers.3.self_attn.q_proj"));
  CHECK(list.matches("layers.3.self_attn.q_proj"));
  CHECK_FALSE(list.matches("model.layers.13.self_attn.q_proj"));
  CHECK_FALSE(list.matches("model.layers.30.self_attn.q_proj"));
  CHECK(list.matches("lm_head"));
  CHECK_FALSE(list_of({}).matches("anything"));
}

TEST_CASE("IgnoreList: wildcards and regular expressions", "[models]") {
  const IgnoreList list = list_of({"model.layers.*.self_attn", "re:.*\\.mlp\\.(up|down)_proj$"});
  CHECK(list.matches("model.layers.12.self_attn.q_proj"));
  CHECK_FALSE(list.matches("model.layers.12.self_attention.q_proj"));
  CHECK(list.matches("model.layers.12.mlp.up_proj"));
  CHECK(list.matches("model.layers.12.mlp.down_proj"));
  CHECK_FALSE(list.matches("model.layers.12.mlp.gate_proj"));
  CHECK_FALSE(list.matches("model.layers.12.mlp.down_proj.weight"));
}

TEST_CASE("IgnoreList: an expression beyond the dialect is named and matches nothing", "[models]") {
  for (const char* const entry :
       {"re:(?=x)", "re:a{3}", "re:\\bgate", "re:(", "re:[", "re:*", "re:a\\", "re:)"}) {
    std::vector<std::string> warnings;
    const IgnoreList list({entry}, warnings);
    INFO(entry);
    CHECK(warnings.size() == 1);
    CHECK(list.empty());
  }
}

TEST_CASE("Pattern: the dialect", "[models]") {
  CHECK(matches("abc", "abcdef"));
  CHECK_FALSE(matches("abc$", "abcdef"));
  CHECK_FALSE(matches("bc", "abc"));
  CHECK(matches(".*bc", "abc"));
  CHECK(matches("^a.c$", "abc"));
  CHECK(matches("a|b|c", "c"));
  CHECK_FALSE(matches("(a|b)c", "ab"));
  CHECK(matches("layers\\.(0|1|2)\\.", "layers.2.x"));
  CHECK_FALSE(matches("layers\\.(0|1|2)\\.", "layers.12.x"));
  CHECK(matches("layers\\.\\d+\\.x", "layers.123.x"));
  CHECK_FALSE(matches("layers\\.\\d+\\.x", "layers..x"));
  CHECK(matches("[a-c_]+$", "ab_c"));
  CHECK_FALSE(matches("[^a-c]+$", "xya"));
  CHECK(matches("[]x]+$", "]x"));
  CHECK(matches("(?:ab)?c", "c"));
  CHECK(matches("(ab)*?c", "ababc"));
  CHECK(matches("", ""));
  CHECK(matches("(a*)*b", "aab"));
}

TEST_CASE("Pattern: what stalls a backtracking matcher is answered at once", "[models]") {
  CHECK_FALSE(matches("(a*)*(a|a)*(a+)+b", std::string(5000, 'a')));
  CHECK_FALSE(Pattern::compile(std::string(513, 'a')).has_value());
  CHECK_FALSE(Pattern::compile(std::string(500, '(')).has_value());
}

TEST_CASE("models: a router in the ignore list leaves the MLP in the set", "[models]") {
  const models::Derivation derived = derive_ignoring({"mlp.gate", "lm_head"});
  CHECK(test::has_site(derived, "mlp.gate_up_proj"));
  CHECK(derived.sites.size() == 4);
}

TEST_CASE("models: a site leaves the set only if it is ignored in every layer", "[models]") {
  const std::vector<std::string> all{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
  const models::Derivation gone = derive_ignoring(in_every_layer(all));
  CHECK_FALSE(test::has_site(gone, "qkv_proj"));
  CHECK(test::has_site(gone, "o_proj"));
  CHECK(test::has_site(derive_ignoring(in_every_layer(all, 35)), "qkv_proj"));
  CHECK_FALSE(test::has_site(derive_ignoring({"self_attn"}), "o_proj"));
}

TEST_CASE("models: parts of one linear that disagree are refused", "[models]") {
  const models::Derivation derived = derive_ignoring({"model.layers.4.mlp.gate_proj"});
  REQUIRE(derived.refusal.has_value());
  CHECK(derived.refusal->find("layer 4") != std::string::npos);
  CHECK(derived.refusal->find("up_proj") != std::string::npos);
}

TEST_CASE("models: ignored experts need nothing", "[models]") {
  json config = json::parse(test::model_file("qwen3-235b-a22b-fp8.json"));
  config["quantization_config"]["modules_to_not_convert"] = {"re:.*mlp\\.experts"};
  const models::Derivation derived =
      models::derive(config.dump(), std::nullopt, test::sglang("sm_90a", 8));
  CHECK_FALSE(derived.refusal.has_value());
  CHECK(test::texts(derived) == test::texts({"T1"}));
  CHECK(derived.moe_runner.empty());
}

TEST_CASE("models: an ignore list beside the config counts too", "[models]") {
  const std::string sidecar = R"({"quantization": {"exclude_modules": ["*self_attn*"]}})";
  const models::Derivation derived =
      models::derive(test::model_file("qwen3-8b-fp8.json"), sidecar, test::sglang("sm_90a", 1));
  CHECK(derived.sites.size() == 2);
  CHECK_FALSE(test::has_site(derived, "o_proj"));
}
