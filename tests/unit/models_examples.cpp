// SPDX-License-Identifier: Apache-2.0
// Worked examples, and the models that need nothing.
#include "tests/support/catch.hpp"
#include "tests/unit/models_fixture.hpp"

using namespace quantjit;
using test::derive_model;
using test::sglang;
using test::texts;

namespace {

models::Request deepep(const std::string& arch, std::int64_t tp) {
  models::Request request = sglang(arch, tp);
  request.a2a = "deepep";
  return request;
}

}  // namespace

TEST_CASE("models: DeepSeek-V3 as it is worked out by hand", "[models]") {
  CHECK(texts(derive_model("deepseek-v3", sglang("sm_90a", 8))) == texts({"T1", "T2"}));
  CHECK(texts(derive_model("deepseek-v3", sglang("sm_100a", 8))) == texts({"P", "T1", "T2"}));
  CHECK(texts(derive_model("deepseek-v3", deepep("sm_90a", 8))) == texts({"T1", "T2", "T3"}));
  CHECK(texts(derive_model("deepseek-v3", deepep("sm_100a", 8))) == texts({"P", "PS"}));
  CHECK(texts(derive_model("deepseek-v3", sglang("sm_90a", 16))) == texts({"T1", "T2", "PT"}));

  const models::Derivation derived = derive_model("deepseek-v3", sglang("sm_90a", 8));
  CHECK(test::site(derived, "fused_qkv_a_proj_with_mqa").n == 2112);
  CHECK(test::site(derived, "q_b_proj").n == 3072);
  CHECK(test::site(derived, "kv_b_proj").n == 4096);
  CHECK_FALSE(test::has_site(derived, "shared.down_proj"));
}

TEST_CASE("models: a dispatch makes expert parallelism as wide as tensor parallelism", "[models]") {
  const models::Derivation derived = derive_model("deepseek-v3", deepep("sm_90a", 8));
  CHECK(test::site(derived, "contig down in").k == 2048);
  CHECK(test::site(derived, "shared.down_proj").k == 2048);
  CHECK(texts(derive_model("qwen3-235b-a22b-fp8", deepep("sm_90a", 4))) ==
        texts({"T1", "T2", "T3"}));
  CHECK(texts(derive_model("qwen3-235b-a22b-fp8", deepep("sm_100a", 4))) == texts({"P", "PS"}));
}

TEST_CASE("models: Qwen3-235B as it is worked out by hand", "[models]") {
  CHECK(texts(derive_model("qwen3-235b-a22b-fp8", sglang("sm_90a", 4))) == texts({"T1", "T2"}));
  CHECK(texts(derive_model("qwen3-235b-a22b-fp8", sglang("sm_100a", 4))) ==
        texts({"P", "T1", "T2"}));
  models::Request request = sglang("sm_100a", 4);
  request.moe_runner = "deep_gemm";
  const models::Derivation derived = derive_model("qwen3-235b-a22b-fp8", request);
  CHECK(texts(derived) == texts({"P", "PS"}));
  CHECK(test::mentions(derived.not_covered, "scatter"));
  CHECK(test::site(derived, "qkv_proj").n == 2304);
  CHECK(derive_model("qwen3-235b-a22b-fp8", sglang("sm_90a", 8)).refusal.has_value());
  CHECK_FALSE(derive_model("qwen3-235b-a22b-fp8", sglang("sm_90a", 8, 2)).refusal.has_value());
}

TEST_CASE("models: shorter examples", "[models]") {
  for (const std::int64_t tp : {1, 2, 8}) {
    const models::Derivation llama = derive_model("llama-3.1-8b-fp8-dynamic", sglang("sm_90a", tp));
    CHECK(texts(llama) == texts({"PT"}));
    CHECK(test::site(llama, "mlp.down_proj").k == 14336 / tp);
  }
  CHECK(texts(derive_model("llama-3.1-405b-fp8-static-tensor", sglang("sm_90a", 8))).empty());
  CHECK(texts(derive_model("minimax-m2.7", sglang("sm_100a", 4))) == texts({"P", "T2"}));
  CHECK(texts(derive_model("qwen3.5-122b-a10b-fp8", sglang("sm_90a", 8))) ==
        texts({"T1", "T2", "PT"}));
}

TEST_CASE("models: alignment follows the split width", "[models]") {
  const auto groups = [](std::int64_t tp) {
    return test::site(derive_model("deepseek-v3", sglang("sm_100a", tp)), "mlp.down_proj").groups;
  };
  CHECK(groups(4) == 36);
  CHECK(groups(8) == 18);
}

TEST_CASE("models: a quantization file beside the config is read and named", "[models]") {
  const models::Derivation derived =
      derive_model("llama-3.1-70b-fp8-modelopt", sglang("sm_90a", 8));
  CHECK(derived.scheme == "none");
  CHECK(derived.descriptors.empty());
  CHECK(derived.reason.find("hf_quant_config.json") != std::string::npos);
  CHECK(test::mentions(derived.not_covered, "hf_quant_config.json"));
  CHECK(derived.warnings.empty());
}

TEST_CASE("models: configs that lack a key say so", "[models]") {
  const models::Derivation glm = derive_model("glm-4.7-fp8.partial", sglang("sm_90a", 8));
  CHECK(glm.scheme == "none");
  CHECK(test::mentions(glm.warnings, "quantization_config"));
  const models::Derivation minimax = derive_model("minimax-m2.5.partial", sglang("sm_90a", 4));
  CHECK(test::mentions(minimax.warnings, "dtype"));
  CHECK(minimax.dtype == "f16");
  for (const std::string& text : texts(minimax)) {
    CHECK(text.find("in=f16") != std::string::npos);
    CHECK(text.find("scale=f32,layout=row") != std::string::npos);
  }
  models::Request typed = sglang("sm_90a", 4);
  typed.dtype = "bfloat16";
  CHECK(texts(derive_model("minimax-m2.5.partial", typed)) == texts({"T1", "T2"}));
  CHECK(derive_model("minimax-m2.5.partial", test::vllm("sm_90a", 4)).dtype == "bf16");
}

TEST_CASE("models: schemes without a kernel here are named", "[models]") {
  const auto not_covered = [](const std::string& model) {
    const models::Derivation derived = derive_model(model, sglang("sm_90a", 8));
    CHECK(derived.descriptors.empty());
    CHECK_FALSE(derived.refusal.has_value());
    return derived.not_covered;
  };
  CHECK(test::mentions(not_covered("gpt-oss-120b-mxfp4"), "mxfp4 not covered"));
  CHECK(test::mentions(not_covered("llama-3.1-8b-int8-w8a8.composed"), "int8 dynamic per token"));
  CHECK(test::mentions(not_covered("qwen3-coder-480b-w8a8-int8-split-config"),
                       "int8 dynamic per token"));
  CHECK(test::mentions(not_covered("devstral-2-123b-fp8-static"), "static"));
  CHECK(test::mentions(not_covered("qwen3-32b-fp8-static-modelopt.unverified"), "static"));
  CHECK(not_covered("llama-3.1-70b-bf16").empty());
}

TEST_CASE("models: the text model's shapes are read, not the vision model's", "[models]") {
  const models::Derivation llama4 =
      derive_model("llama-4-maverick-fp8-dynamic.partial", sglang("sm_90a", 8));
  CHECK(texts(llama4) == texts({"PT"}));
  CHECK(test::site(llama4, "qkv_proj").k == 5120);
  CHECK(test::site(llama4, "mlp.down_proj").k == 16384 / 8);
  CHECK(test::site(llama4, "shared.down_proj").k == 8192 / 8);
  CHECK(test::site(llama4, "moe down in").k == 8192 / 8);
  const models::Derivation qwen = derive_model("qwen3.5-122b-a10b-fp8", sglang("sm_90a", 4));
  CHECK(test::site(qwen, "qkv_proj").k == 3072);
  CHECK(test::site(qwen, "qkv_proj").n == (2 * 32 / 4 + 2) * 256);
}

TEST_CASE("models: every stored config is derived on every GPU by both engines", "[models]") {
  for (const char* const model :
       {"deepseek-r1", "deepseek-v3", "deepseek-v3.1.composed", "deepseek-v3.2",
        "deepseek-v4-flash", "deepseek-v4-flash-fp8experts.partial", "deepseek-v4-pro", "glm-5-fp8",
        "minimax-m2.7", "qwen3-235b-a22b-fp8", "qwen3-32b-fp8", "qwen3-8b-fp8",
        "qwen3.5-122b-a10b-fp8", "llama-3.1-8b-fp8-dynamic",
        "llama-4-maverick-fp8-dynamic.partial"}) {
    for (const char* const arch : {"sm_90a", "sm_100a", "sm_103a", "sm_120a"}) {
      INFO(model << " " << arch);
      const models::Derivation ours = derive_model(model, sglang(arch, 4));
      CHECK(ours.refusal.value_or("") == "");
      CHECK_FALSE(ours.descriptors.empty());
      const models::Derivation theirs = derive_model(model, test::vllm(arch, 4));
      CHECK(theirs.refusal.value_or("") == "");
      CHECK_FALSE(theirs.descriptors.empty());
    }
  }
}
