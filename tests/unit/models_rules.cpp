// SPDX-License-Identifier: Apache-2.0
// Rules that no stored config exercises: configs are built from a stored one by changing keys.
#include "tests/support/catch.hpp"
#include "tests/unit/models_fixture.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <functional>

using namespace quantjit;
using nlohmann::json;
using test::derive_model;
using test::sglang;
using test::texts;

namespace {

models::Derivation derive_changed(const std::string& model,
                                  const std::function<void(json&)>& change,
                                  const models::Request& request) {
  json config = json::parse(test::model_file(model + ".json"));
  change(config);
  return models::derive(config.dump(), std::nullopt, request);
}

std::string refusal(const models::Derivation& derived) {
  CHECK(derived.descriptors.empty());
  CHECK(derived.sites.empty());
  return derived.refusal.value_or("(none)");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

json compressed(const json& input, const json& weights) {
  return {{"quant_method", "compressed-tensors"},
          {"config_groups", {{"group_0", {{"input_activations", input}, {"weights", weights}}}}},
          {"ignore", {"lm_head"}}};
}

}  // namespace

TEST_CASE("models: compressed-tensors groups of both kinds", "[models]") {
  const json blocks = compressed(
      {{"type", "float"}, {"num_bits", 8}, {"dynamic", true}, {"strategy", "group"}},
      {{"type", "float"}, {"num_bits", 8}, {"strategy", "block"}, {"block_structure", {128, 128}}});
  const auto with = [](const json& quant) {
    return derive_changed(
        "qwen3-8b-fp8", [&](json& config) { config["quantization_config"] = quant; },
        sglang("sm_90a", 1));
  };
  CHECK(texts(with(blocks)) == texts({"T1"}));
  const auto input = [&](const json& activations) {
    return with(compressed(activations, {{"strategy", "channel"}}));
  };
  const json token{{"type", "float"}, {"num_bits", 8}, {"dynamic", true}, {"strategy", "token"}};
  CHECK(texts(input(token)) == texts({"PT"}));
  json other = token;
  other["dynamic"] = false;
  CHECK(input(other).scheme == "none");
  other = token;
  other["dynamic"] = "local";
  CHECK(input(other).scheme == "none");
  other = token;
  other["strategy"] = "tensor";
  CHECK(input(other).scheme == "none");
  other = token;
  other["num_bits"] = 4;
  CHECK(test::mentions(input(other).not_covered, "float4"));
  CHECK(input(nullptr).scheme == "none");
}

TEST_CASE("models: groups of a split config stand in the other object", "[models]") {
  const models::Derivation derived = derive_changed(
      "llama-3.1-8b-fp8-dynamic",
      [](json& config) {
        config["compression_config"] = config["quantization_config"];
        config["quantization_config"] = {{"quant_method", "compressed-tensors"}};
      },
      sglang("sm_90a", 1));
  CHECK(texts(derived) == texts({"PT"}));
}

TEST_CASE("models: fp8 schemes by activation_scheme and block", "[models]") {
  const auto with = [](const char* scheme, const json& block) {
    return derive_changed(
        "qwen3-8b-fp8",
        [&](json& config) {
          config["quantization_config"]["activation_scheme"] = scheme;
          config["quantization_config"]["weight_block_size"] = block;
        },
        sglang("sm_90a", 1));
  };
  CHECK(texts(with("dynamic", {128, 128})) == texts({"T1"}));
  CHECK(texts(with("dynamic", nullptr)) == texts({"PT"}));
  CHECK(with("static", nullptr).scheme == "none");
  CHECK(contains(refusal(with("static", {128, 128})), "activation_scheme dynamic"));
  CHECK(contains(refusal(with("sometimes", nullptr)), "sometimes"));
  // Blocks that DeepGEMM does not take, and groups that no kernel has.
  const models::Derivation small = with("dynamic", {64, 64});
  REQUIRE(small.descriptors.size() == 1);
  CHECK(contains(to_text(small.descriptors.front().traits), "group=64,scale=f32,layout=row"));
  CHECK(contains(refusal(with("dynamic", {128, 512})), "group"));
}

TEST_CASE("models: a typed quantization is followed or refused", "[models]") {
  models::Request typed = sglang("sm_90a", 8);
  typed.quantization = "fp8";
  const models::Derivation derived = derive_model("llama-3.1-70b-bf16", typed);
  CHECK(texts(derived) == texts({"PT"}));
  CHECK(contains(test::site(derived, "qkv_proj").note, "at load"));
  CHECK(texts(derive_model("qwen3-8b-fp8", typed)) == texts({"T1"}));
  const models::Derivation experts = derive_model("qwen3-235b-a22b-bf16", typed);
  CHECK(texts(experts) == texts({"PT"}));
  CHECK(test::mentions(experts.not_covered, "experts"));
  typed.quantization = "awq";
  CHECK(contains(refusal(derive_model("qwen3-8b-fp8", typed)), "awq"));
  CHECK(derive_model("llama-3.1-70b-bf16", typed).scheme == "none");
  typed.quantization = "w8a8_fp8";
  CHECK(texts(derive_model("llama-3.1-8b-fp8-dynamic", typed)) == texts({"PT"}));
}

TEST_CASE("models: int8 blocks quantize experts alone", "[models]") {
  const models::Derivation derived = derive_changed(
      "qwen3-235b-a22b-fp8",
      [](json& config) { config["quantization_config"]["quant_method"] = "blockwise_int8"; },
      sglang("sm_100a", 4));
  REQUIRE(derived.descriptors.size() == 1);
  CHECK(contains(to_text(derived.descriptors.front().traits),
                 "out=int8,group=128,scale=f32,layout=row"));
  CHECK(derived.sites.size() == 2);
  CHECK(test::mentions(derived.not_covered, "int8 block linears"));
}

TEST_CASE("models: DeepGEMM's gates send a linear to Triton", "[models]") {
  // 1536 + 512 + 32 = 2080 columns are no multiple of 64.
  const models::Derivation narrow = derive_changed(
      "deepseek-v3", [](json& config) { config["qk_rope_head_dim"] = 32; }, sglang("sm_100a", 8));
  CHECK(test::site(narrow, "fused_qkv_a_proj_with_mqa").traits ==
        std::vector<std::string>{*texts({"T2"}).begin()});
  CHECK(test::site(narrow, "q_b_proj").traits == std::vector<std::string>{*texts({"P"}).begin()});

  models::Request off = sglang("sm_90a", 8);
  off.deepgemm = false;
  CHECK(texts(derive_model("qwen3-8b-fp8", off)) == texts({"T2"}));
  off.arch = Arch::parse("sm_100a");
  CHECK(texts(derive_model("qwen3-8b-fp8", off)) == texts({"T1", "T2"}));
  CHECK(texts(derive_model("qwen3-8b-fp8", sglang("sm_120a", 8))) == texts({"T1"}));
  models::Request backend = sglang("sm_100a", 8);
  backend.fp8_gemm_backend = "triton";
  CHECK(texts(derive_model("qwen3-8b-fp8", backend)) == texts({"T2"}));
  backend.fp8_gemm_backend = "flashinfer_deepgemm";
  CHECK(contains(refusal(derive_model("qwen3-8b-fp8", backend)), "sm_90"));
  backend.arch = Arch::parse("sm_90a");
  CHECK(texts(derive_model("qwen3-8b-fp8", backend)) == texts({"T1"}));
}

TEST_CASE("models: a row of one group goes to the per-token kernel", "[models]") {
  models::Request off = sglang("sm_90a", 32);
  off.deepgemm = false;
  // o_proj has 32 * 128 / 32 = 128 columns a rank; the down projection 12288 / 32 = 384.
  const models::Derivation derived = derive_model("qwen3-8b-fp8", off);
  CHECK(test::site(derived, "o_proj").traits == std::vector<std::string>{*texts({"PT"}).begin()});
  CHECK(texts(derived) == texts({"T2", "PT"}));
}

TEST_CASE("models: shared experts are fused as the engine fuses them", "[models]") {
  models::Request request = sglang("sm_90a", 8);
  CHECK_FALSE(test::has_site(derive_model("deepseek-v3", request), "shared.down_proj"));
  request.shared_expert_fusion = false;
  CHECK(test::has_site(derive_model("deepseek-v3", request), "shared.down_proj"));
  CHECK(test::has_site(derive_model("deepseek-v3", sglang("sm_90a", 8, 8)), "shared.down_proj"));
  const auto more = [](json& config) { config["n_routed_experts"] = 384; };
  CHECK(
      test::has_site(derive_changed("deepseek-v3", more, sglang("sm_90a", 8)), "shared.down_proj"));
  const auto block = [](std::int64_t width) {
    return derive_changed(
        "qwen3-next-80b-a3b-bf16",
        [&](json& config) {
          config["shared_expert_intermediate_size"] = width;
          config["quantization_config"] = {{"quant_method", "fp8"},
                                           {"activation_scheme", "dynamic"},
                                           {"weight_block_size", {128, 128}}};
        },
        sglang("sm_90a", 4));
  };
  CHECK_FALSE(test::has_site(block(512), "shared.down_proj"));
  CHECK(test::has_site(block(1024), "shared.down_proj"));
  CHECK(texts(block(512)) == texts({"T1", "T2", "PT"}));
}

TEST_CASE("models: splits that the engine rejects are refused with their reason", "[models]") {
  CHECK(refusal(derive_model("deepseek-v3", sglang("sm_90a", 32))) ==
        "MoE intermediate per rank 64 is not a multiple of 128");
  CHECK(contains(refusal(derive_model("deepseek-v3", sglang("sm_90a", 3))),
                 "2048 cannot be split over 3"));
  CHECK(contains(refusal(derive_model("qwen3-235b-a22b-fp8", sglang("sm_90a", 8, 3))), "over 3"));
  CHECK(contains(refusal(derive_model("qwen3-8b-fp8", sglang("sm_90a", 6))), "cannot be split"));
  models::Request request = sglang("sm_90a", 8);
  request.moe_runner = "flashinfer_trtllm";
  CHECK(contains(refusal(derive_model("qwen3-235b-a22b-fp8", request)), "sm_100"));
  request.moe_runner = "deep_gemm";
  request.deepgemm = false;
  CHECK(contains(refusal(derive_model("qwen3-235b-a22b-fp8", request)), "DeepGEMM"));
  CHECK(contains(refusal(derive_model("qwen3-8b-fp8", sglang("sm_110a", 1))), "sm_110"));
}

TEST_CASE("models: attention may be split over fewer ranks", "[models]") {
  models::Request request = sglang("sm_90a", 8);
  request.attn_tp = 2;
  const models::Derivation derived = derive_model("deepseek-v3", request);
  CHECK(test::site(derived, "o_proj").k == 128 * 128 / 2);
  CHECK(test::site(derived, "mlp.down_proj").k == 18432 / 8);
}

TEST_CASE("models: an unknown architecture is refused by name, or gets the superset", "[models]") {
  const auto rename = [](json& config) { config["architectures"] = {"NewForCausalLM"}; };
  models::Request request = sglang("sm_90a", 8);
  CHECK(contains(refusal(derive_changed("deepseek-v3", rename, request)), "NewForCausalLM"));
  request.superset = true;
  const models::Derivation derived = derive_changed("deepseek-v3", rename, request);
  CHECK(texts(derived) == texts({"T1", "T2", "T3", "PT"}));
  CHECK(derived.sites.empty());
  CHECK(test::mentions(derived.warnings, "NewForCausalLM"));
  const auto unquantized = [&](json& config) {
    rename(config);
    config.erase("quantization_config");
  };
  CHECK_FALSE(derive_changed("deepseek-v3", unquantized, sglang("sm_90a", 8)).refusal.has_value());
}

TEST_CASE("models: the superset of each generation", "[models]") {
  models::Request request = sglang("sm_90a", 1);
  request.superset = true;
  CHECK(texts(derive_model("qwen3-8b-fp8", request)) == texts({"T1", "T2", "T3", "PT"}));
  request.arch = Arch::parse("sm_100a");
  CHECK(texts(derive_model("qwen3-8b-fp8", request)) == texts({"P", "PS", "T1", "T2", "PT"}));
  CHECK(texts(derive_model("llama-3.1-8b-fp8-dynamic", request)) == texts({"PT"}));
  CHECK(texts(derive_model("llama-3.1-70b-bf16", request)).empty());
}

TEST_CASE("models: DeepSeek-V4 without its fp4 experts", "[models]") {
  const models::Derivation hopper = derive_model("deepseek-v4-flash", sglang("sm_90a", 8));
  CHECK(test::mentions(hopper.not_covered, "expert_dtype fp4"));
  CHECK(test::mentions(hopper.not_covered, "DSA indexer"));
  const models::Derivation blackwell = derive_model("deepseek-v4-flash", sglang("sm_100a", 8));
  CHECK(test::mentions(blackwell.not_covered, "wo_a"));
  models::Request request = sglang("sm_90a", 8);
  request.a2a = "deepep";
  const auto fp8_experts = [](json& config) { config.erase("expert_dtype"); };
  const models::Derivation masked = derive_changed("deepseek-v4-flash", fp8_experts, request);
  CHECK(test::mentions(masked.not_covered, "swiglu_limit"));
  CHECK(texts(masked) == texts({"T1", "T2"}));
}

TEST_CASE("models: an unquantized DeepSeek on Blackwell warns of its weights", "[models]") {
  const auto plain = [](json& config) { config.erase("quantization_config"); };
  CHECK(test::mentions(derive_changed("deepseek-v3", plain, sglang("sm_100a", 8)).warnings,
                       "weights"));
  CHECK_FALSE(test::mentions(derive_changed("deepseek-v3", plain, sglang("sm_90a", 8)).warnings,
                             "weights"));
}

TEST_CASE("models: vLLM on Hopper stores powers of two", "[models]") {
  const models::Derivation derived = derive_model("qwen3-235b-a22b-fp8", test::vllm("sm_90a", 4));
  CHECK(contains(test::site(derived, "qkv_proj").traits.front(), "scale=f32_pow2,layout=col"));
  CHECK(contains(test::site(derived, "moe in").traits.front(), "scale=f32_pow2,layout=row"));
  CHECK(contains(test::site(derived, "moe down in").traits.front(), "scale=f32_pow2,layout=row"));
  for (const std::string& text : texts(derived)) {
    CHECK(contains(text, "numerics=exact"));
  }
  const models::Derivation spread = derive_model("qwen3-235b-a22b-fp8", test::vllm("sm_90a", 4, 4));
  CHECK(test::mentions(spread.not_covered, "FlashInfer CUTLASS"));
  CHECK(spread.descriptors.size() == 1);
  models::Request off = test::vllm("sm_90a", 4);
  off.deepgemm = false;
  const models::Derivation plain = derive_model("qwen3-235b-a22b-fp8", off);
  CHECK(contains(test::site(plain, "qkv_proj").traits.front(), "scale=f32,layout=col"));
  CHECK(
      contains(test::site(plain, "moe down in").traits.front(), "scale=f32,layout=row,silu=true"));
}

TEST_CASE("models: vLLM on Blackwell packs exponents", "[models]") {
  const models::Derivation derived = derive_model("qwen3-235b-a22b-fp8", test::vllm("sm_100a", 4));
  CHECK(test::site(derived, "qkv_proj").traits.front() ==
        to_text(
            parse_descriptor("per_token_group_quant:scale=ue8m0,layout=col,numerics=vllm").traits));
  CHECK(contains(test::site(derived, "moe in").traits.front(), "scale=f32_pow2,layout=row"));
  const models::Derivation qwen35 = derive_model("qwen3.5-122b-a10b-fp8", test::vllm("sm_100a", 4));
  CHECK(contains(test::site(qwen35, "qkv_proj").traits.front(), "scale=f32,layout=col"));
  models::Request request = test::vllm("sm_100a", 4);
  request.a2a = "deepep";
  const models::Derivation dispatched = derive_model("qwen3-235b-a22b-fp8", request);
  CHECK(contains(test::site(dispatched, "contig down in").traits.front(),
                 "scale=ue8m0,layout=col,silu=true,schedule=flat,numerics=exact"));
  CHECK(contains(test::site(dispatched, "LL masked silu").traits.front(),
                 "scale=ue8m0,layout=col,silu=true,schedule=masked,numerics=exact"));
  const models::Derivation token =
      derive_model("llama-3.1-8b-fp8-dynamic", test::vllm("sm_100a", 1));
  CHECK(texts(token) ==
        std::set<std::string>{to_text(parse_descriptor("per_token_quant:numerics=exact").traits)});
}

TEST_CASE("models: vLLM's superset holds its exact sets", "[models]") {
  for (const char* const arch : {"sm_90a", "sm_100a", "sm_120a"}) {
    models::Request request = test::vllm(arch, 4);
    request.superset = true;
    const std::set<std::string> all = texts(derive_model("qwen3-235b-a22b-fp8", request));
    request.superset = false;
    for (const char* const a2a : {"none", "deepep"}) {
      request.a2a = a2a;
      for (const std::string& text : texts(derive_model("qwen3-235b-a22b-fp8", request))) {
        INFO(arch << " " << text);
        CHECK(all.count(text) == 1);
      }
    }
  }
}
