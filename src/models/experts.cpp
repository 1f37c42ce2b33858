// SPDX-License-Identifier: Apache-2.0
#include "src/models/experts.hpp"

#include "src/models/refused.hpp"

namespace quantjit::models {
namespace {

constexpr const char* kTrtllm = "flashinfer_trtllm";

bool is_trtllm(const std::string& runner) {
  return runner.rfind(kTrtllm, 0) == 0;
}

bool trtllm_by_default(const Plan& plan) {
  if (plan.generation != Generation::kBlackwell || plan.scheme.method != "fp8") {
    return false;
  }
  switch (plan.family.trtllm) {
    case TrtllmExperts::kWithoutAllToAll: return !plan.all_to_all();
    case TrtllmExperts::kAlways: return true;
    case TrtllmExperts::kTypedFp8: return !plan.all_to_all() && plan.request.quantization == "fp8";
    case TrtllmExperts::kNever: break;
  }
  return false;
}

std::string resolve_runner(const Plan& plan) {
  if (plan.request.moe_runner != "auto") {
    return plan.request.moe_runner;
  }
  if (!plan.sglang()) {
    return "auto";
  }
  if (plan.scheme.int8) {
    return "triton";
  }
  if (trtllm_by_default(plan)) {
    return kTrtllm;
  }
  return dispatches(plan) && plan.deepgemm && !plan.token_scheme() ? "deep_gemm" : "triton";
}

void check_runner(const Plan& plan, const std::string& runner) {
  if (plan.scheme.int8 && runner != "triton") {
    throw Refused("int8 experts run on the triton runner alone, not on " + runner);
  }
  if (is_trtllm(runner) && plan.generation != Generation::kBlackwell) {
    throw Refused("the " + runner + " runner needs sm_100 or sm_103");
  }
  if (runner == "deep_gemm" && !plan.deepgemm) {
    throw Refused("the deep_gemm runner needs DeepGEMM, which is off or not for " +
                  plan.request.arch.to_string());
  }
}

/// Whether the shared expert is computed as one more routed one.
bool shared_is_fused(const Plan& plan, const std::string& runner) {
  if (!plan.sglang() || !plan.request.shared_expert_fusion || plan.all_to_all() ||
      is_trtllm(runner)) {
    return false;
  }
  switch (plan.family.fusion) {
    case SharedFusion::kDeepSeek:
      return plan.mlp.experts == 256 && plan.mlp.shared_count == 1 && plan.ep == 1;
    case SharedFusion::kNoExpertParallel: return plan.ep == 1;
    case SharedFusion::kEqualWidths: return plan.mlp.shared_width == plan.mlp.expert_width;
    case SharedFusion::kNever: break;
  }
  return false;
}

std::int64_t width_per_rank(const Plan& plan, const std::string& runner) {
  const std::int64_t over_tp = split(split(plan.tp, plan.ep, "tensor parallel size"),
                                     plan.request.moe_dp, "tensor parallel size of the experts");
  static_cast<void>(split(plan.mlp.experts, plan.ep, "the number of experts"));
  const std::int64_t width = split(plan.mlp.expert_width, over_tp, "MoE intermediate size");
  if (plan.token_scheme()) {
    return width;
  }
  const std::int64_t block = plan.scheme.rows;
  if (plan.sglang() && is_trtllm(runner)) {
    return (width + block - 1) / block * block;
  }
  if (width % block != 0) {
    throw Refused("MoE intermediate per rank " + std::to_string(width) + " is not a multiple of " +
                  std::to_string(block));
  }
  return width;
}

void add_trtllm(Plan& plan, const Experts& experts) {
  add_site(plan, "moe in", experts.hidden, 0, {kF32Col, kF32Row},
           "columns; with one token their strides look like rows");
  add_not_covered(plan, "moe down in (FlashInfer quantizes it inside its experts)");
}

void add_plain(Plan& plan, const Experts& experts) {
  add_site(plan, "moe in", experts.hidden, 0, {row_or_whole(plan, experts.hidden)});
  add_site(plan, "moe down in", experts.width, 0, {row_or_whole(plan, experts.width)});
}

/// The fused SiLU of DeepGEMM's masked layout.
void add_masked_silu(Plan& plan, const Experts& experts, const std::string& name) {
  if (plan.config.shapes().find("swiglu_limit") != nullptr) {
    add_not_covered(plan, name + " (experts with swiglu_limit)");
    return;
  }
  const bool hopper = plan.generation == Generation::kHopper;
  add_site(plan, name, experts.width, 0, {hopper ? kF32ColMaskedSilu : kPackedColMaskedSilu});
}

/// A plain 2-D input of DeepGEMM's contiguous layout.
Recipe contiguous(const Plan& plan, std::int64_t k) {
  return plan.generation == Generation::kHopper ? row_or_whole(plan, k) : kPackedCol;
}

void add_dispatched(Plan& plan, const Experts& experts) {
  add_site(plan, "deepep normal dispatch in", experts.hidden, 0, {contiguous(plan, experts.hidden)},
           "prefill");
  add_site(plan, "contig down in", experts.width, 0, {contiguous(plan, experts.width)}, "prefill");
  add_masked_silu(plan, experts, "LL masked silu");
  add_not_covered(plan, "low-latency dispatch in (quantized inside the all-to-all)");
}

void add_standard_deepgemm(Plan& plan, const Experts& experts) {
  const std::string name = "deep_gemm runner ";
  if (plan.generation == Generation::kHopper) {
    add_site(plan, name + "moe in", experts.hidden, 0, {row_or_whole(plan, experts.hidden)},
             "masked and compact");
  } else {
    add_site(plan, name + "moe in, compact", experts.hidden, 0, {kPackedCol}, "compact");
    add_not_covered(plan, name + "moe in, masked (a scatter kernel quantizes it)");
  }
  add_site(plan, name + "down in, compact", experts.width, 0, {contiguous(plan, experts.width)},
           "compact");
  add_masked_silu(plan, experts, name + "masked silu");
}

}  // namespace

bool dispatches(const Plan& plan) {
  return plan.request.a2a == "deepep" || plan.request.a2a == "mooncake" ||
         plan.request.a2a == "nixl";
}

Experts resolve_experts(Plan& plan) {
  Experts experts;
  if (plan.mlp.experts == 0) {
    return experts;
  }
  experts.hidden = plan.config.shapes().size("hidden_size");
  experts.runner = resolve_runner(plan);
  experts.shared_apart = plan.mlp.shared_width > 0 && !shared_is_fused(plan, experts.runner);
  const std::string kind = plan.config.shapes().find_text("expert_dtype").value_or("");
  if (kind == "fp4") {
    add_not_covered(plan, "experts (expert_dtype fp4)");
    experts.runner.clear();
    return experts;
  }
  const std::string mlp(plan.family.mlp);
  if (ignored_everywhere(plan, plan.layers.experts, {mlp + ".experts"})) {
    experts.runner.clear();
    return experts;
  }
  check_runner(plan, experts.runner);
  experts.width = width_per_rank(plan, experts.runner);
  experts.quantized = true;
  return experts;
}

void add_sglang_experts(Plan& plan, const Experts& experts) {
  if (is_trtllm(experts.runner)) {
    add_trtllm(plan, experts);
  } else if (experts.runner != "deep_gemm") {
    add_plain(plan, experts);
  } else if (dispatches(plan)) {
    add_dispatched(plan, experts);
  } else {
    add_standard_deepgemm(plan, experts);
  }
}

void add_token_experts(Plan& plan, const Experts& experts) {
  if (!plan.scheme.per_channel) {
    add_not_covered(plan, "experts (fp8 weights without a scale per channel: one scale a tensor)");
    return;
  }
  add_site(plan, "moe in", experts.hidden, 0, {kWholeRow});
  add_site(plan, "moe down in", experts.width, 0, {kWholeRow});
}

}  // namespace quantjit::models
