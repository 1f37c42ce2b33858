// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile configs: a typed error that names the key, never a crash.
#include "tests/support/catch.hpp"
#include "tests/unit/models_fixture.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <functional>
#include <random>

using namespace quantjit;
using nlohmann::json;
using test::sglang;

namespace {

/// The parameter that the error names; empty where nothing was thrown.
std::string error_of(const std::string& text, const models::Request& request) {
  try {
    static_cast<void>(models::derive(text, std::nullopt, request));
  } catch (const InvalidArgument& error) {
    return error.parameter();
  }
  return {};
}

std::string error_of(const std::string& model, const std::function<void(json&)>& damage) {
  json config = json::parse(test::model_file(model + ".json"));
  damage(config);
  return error_of(config.dump(), sglang("sm_90a", 1));
}

}  // namespace

TEST_CASE("models: what is no JSON object is refused", "[models]") {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("7"),
        std::string("{\"a\": 1e999}"), std::string("{\"a\": \xff}"), std::string("{} {}"),
        std::string("{\"a\": NaN}"), std::string(1, '\0'), std::string("\"text\"")}) {
    INFO(text);
    CHECK(error_of(text, sglang("sm_90a", 1)) == "config");
  }
  CHECK_THROWS_AS(models::derive("{}", "{", sglang("sm_90a", 1)), InvalidArgument);
  CHECK_THROWS_AS(models::derive("{}", "[]", sglang("sm_90a", 1)), InvalidArgument);
  CHECK(models::derive("{}", std::nullopt, sglang("sm_90a", 1)).scheme == "none");
}

TEST_CASE("models: deep nesting is refused before it costs a stack", "[models]") {
  for (const std::size_t depth : {std::size_t{40}, std::size_t{1000000}}) {
    std::string lists = "{\"a\": " + std::string(depth, '[');
    CHECK(error_of(lists, sglang("sm_90a", 1)) == "config");
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) {
      objects += "{\"a\":";
    }
    CHECK(error_of(objects, sglang("sm_90a", 1)) == "config");
  }
}

TEST_CASE("models: wrong types and sizes name the key", "[models]") {
  const std::vector<json> wrong{"7168",
                                7168.5,
                                -1,
                                0,
                                true,
                                json::array(),
                                json::object(),
                                18446744073709551615U,
                                1e300,
                                std::int64_t{1} << 40};
  for (const char* const key : {"hidden_size", "num_attention_heads", "kv_lora_rank",
                                "qk_nope_head_dim", "moe_intermediate_size"}) {
    for (const json& value : wrong) {
      INFO(key << " = " << value.dump());
      const bool zero_is_absence = value == 0 && (std::string(key) == "kv_lora_rank" ||
                                                  std::string(key) == "moe_intermediate_size");
      const std::string error = error_of("deepseek-v3", [&](json& config) { config[key] = value; });
      if (!zero_is_absence) {
        CHECK(error == std::string("config.") + key);
      }
    }
    const bool may_be_missing =
        std::string(key) == "kv_lora_rank" || std::string(key) == "moe_intermediate_size";
    if (!may_be_missing) {
      CHECK(error_of("deepseek-v3", [&](json& config) { config.erase(key); }) ==
            std::string("config.") + key);
    }
  }
  const auto quant = [](const char* key, const json& value) {
    return error_of("deepseek-v3",
                    [&](json& config) { config["quantization_config"][key] = value; });
  };
  CHECK(quant("weight_block_size", {128}) == "config.quantization_config.weight_block_size");
  CHECK(quant("weight_block_size", {0, 128}) == "config.quantization_config.weight_block_size");
  CHECK(quant("weight_block_size", "128") == "config.quantization_config.weight_block_size");
  CHECK(quant("weight_block_size", {128, "128"}) == "config.quantization_config.weight_block_size");
  CHECK(quant("quant_method", 8) == "config.quantization_config.quant_method");
  CHECK(quant("activation_scheme", true) == "config.quantization_config.activation_scheme");
  CHECK(quant("modules_to_not_convert", {1}) ==
        "config.quantization_config.modules_to_not_convert");
  CHECK(quant("modules_to_not_convert", "x") ==
        "config.quantization_config.modules_to_not_convert");
  const auto top = [](const char* key, const json& value) {
    return error_of("deepseek-v3", [&](json& config) { config[key] = value; });
  };
  CHECK(top("architectures", "DeepseekV3ForCausalLM") == "config.architectures");
  CHECK(top("quantization_config", json::array()) == "config.quantization_config");
  CHECK(top("text_config", 1) == "config.text_config");
  CHECK(top("torch_dtype", 16) == "config.torch_dtype");
  CHECK(top("torch_dtype", "float7") == "config.dtype");
  CHECK(top("num_hidden_layers", 1000000) == "config.num_hidden_layers");
  CHECK(top("num_hidden_layers", 0) == "config.num_hidden_layers");
  CHECK(top("moe_layer_freq", {1, -1}) == "config.moe_layer_freq");
}

TEST_CASE("models: requests that no engine accepts are refused by flag", "[models]") {
  const std::string config = test::model_file("deepseek-v3.json");
  const auto flag_of = [&](const std::function<void(models::Request&)>& change) {
    models::Request request = sglang("sm_90a", 8);
    change(request);
    return error_of(config, request);
  };
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    CHECK(flag_of([&](auto& request) { request.tp = value; }) == "--tp");
    CHECK(flag_of([&](auto& request) { request.ep = value; }) == "--ep");
    CHECK(flag_of([&](auto& request) { request.moe_dp = value; }) == "--moe-dp");
  }
  CHECK(flag_of([](auto& request) { request.attn_tp = 3; }) == "--attn-tp");
  CHECK(flag_of([](auto& request) { request.attn_tp = -1; }) == "--attn-tp");
  CHECK(flag_of([](auto& request) { request.a2a = "carrier pigeon"; }) == "--a2a");
  CHECK(flag_of([](auto& request) { request.moe_runner = "fast"; }) == "--moe-runner");
  CHECK(flag_of([](auto& request) { request.fp8_gemm_backend = ""; }) == "--fp8-gemm-backend");
  CHECK(flag_of([](auto& request) { request.dtype = "fp8"; }) == "--dtype");
  CHECK_THROWS_AS(models::parse_engine("tensorrt"), InvalidArgument);
  CHECK(models::parse_engine("vllm") == models::Engine::kVllm);
}

TEST_CASE("models: ignore lists of patterns are bounded", "[models]") {
  json config = json::parse(test::model_file("deepseek-v3.json"));
  config["quantization_config"]["ignore"] = json(2000, "re:x*y");
  CHECK(error_of(config.dump(), sglang("sm_90a", 1)) == "ignored modules");
}

TEST_CASE("models: damaged bytes never do more than throw", "[models]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> sources{test::model_file("deepseek-v3.json"),
                                         test::model_file("qwen3.5-397b-a17b-bf16.json"),
                                         test::model_file("llama-3.1-8b-fp8-dynamic.json"),
                                         test::model_file("deepseek-v4-flash.json")};
  const std::string alphabet = "{}[]\":,0123456789.-+eEntf \\x";
  int answered = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = sources[random() % sources.size()];
    for (unsigned i = 0, count = 1 + random() % 4; i < count; ++i) {
      const std::size_t where = random() % text.size();
      switch (random() % 3) {
        case 0: text[where] = alphabet[random() % alphabet.size()]; break;
        case 1: text.erase(where, 1 + random() % 8); break;
        default: text.insert(where, 1, alphabet[random() % alphabet.size()]); break;
      }
    }
    try {
      static_cast<void>(models::derive(
          text, std::nullopt, round % 2 == 0 ? sglang("sm_90a", 8) : test::vllm("sm_100a", 4)));
      ++answered;
    } catch (const InvalidArgument&) {
    }
  }
  CHECK(answered > 0);
}
