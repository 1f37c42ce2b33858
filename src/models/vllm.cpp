// SPDX-License-Identifier: Apache-2.0
#include "src/models/vllm.hpp"

#include "src/models/refused.hpp"

namespace quantjit::models {
namespace {

constexpr ScaleFormat kPow2 = ScaleFormat::kF32Pow2;
constexpr Recipe kPow2Row{kPow2, ScaleLayout::kRow};
constexpr Recipe kPow2Col{kPow2, ScaleLayout::kCol};
constexpr Recipe kPow2ColSilu{kPow2, ScaleLayout::kCol, true};
constexpr Recipe kPow2ColMaskedSilu{kPow2, ScaleLayout::kCol, true, Schedule::kMasked};
constexpr Recipe kPackedColSilu{ScaleFormat::kUE8M0, ScaleLayout::kCol, true};
constexpr Recipe kF32RowSilu{ScaleFormat::kF32, ScaleLayout::kRow, true};

/// DeepGEMM's packed exponents begin with Blackwell; Hopper has powers of two stored as floats.
bool is_hopper(const Plan& plan) {
  return plan.generation == Generation::kHopper;
}

/// vLLM runs DeepGEMM on sm_120 too.
bool has_deepgemm(const Plan& plan) {
  return plan.request.deepgemm;
}

bool linears_on_deepgemm(const Plan& plan) {
  return has_deepgemm(plan) && (is_hopper(plan) || !plan.family.no_deepgemm_blackwell);
}

Recipe linear_recipe(const Plan& plan, const Linear& linear) {
  const std::string& backend = plan.request.fp8_gemm_backend;
  if (backend == "triton") {
    return kF32Row;
  }
  if (backend == "cutlass" || !linears_on_deepgemm(plan) || !fits_deepgemm(plan, linear)) {
    return kF32Col;
  }
  return is_hopper(plan) ? kPow2Col : kPackedCol;
}

/// Row-major scales are powers of two wherever DeepGEMM's exponents are in use.
Recipe row(const Plan& plan) {
  return has_deepgemm(plan) ? kPow2Row : kF32Row;
}

void add_triton_experts(Plan& plan, const Experts& experts) {
  add_site(plan, "moe in", experts.hidden, 0, {row(plan)});
  add_site(plan, "moe down in", experts.width, 0, {has_deepgemm(plan) ? kPow2Row : kF32RowSilu});
}

void add_deepgemm_experts(Plan& plan, const Experts& experts) {
  const bool hopper = is_hopper(plan);
  add_site(plan, "contig down in", experts.width, 0, {hopper ? kPow2ColSilu : kPackedColSilu});
  if (plan.all_to_all()) {
    add_site(plan, "LL masked silu", experts.width, 0,
             {hopper ? kPow2ColMaskedSilu : kPackedColMaskedSilu}, "low latency");
  }
  plan.result.warnings.emplace_back(
      "no rule says what quantizes the input of vLLM's DeepGEMM experts; --superset covers it");
}

}  // namespace

void add_vllm_linears(Plan& plan, const std::vector<Linear>& linears) {
  const std::string& backend = plan.request.fp8_gemm_backend;
  if ((backend == "deep_gemm" || backend == "flashinfer_deepgemm") && !linears_on_deepgemm(plan)) {
    throw Refused("--fp8-gemm-backend " + backend + " needs DeepGEMM, which is off for this model");
  }
  for (const Linear& linear : linears) {
    add_site(plan, linear.name, linear.k, linear.n, {linear_recipe(plan, linear)});
  }
}

void add_vllm_experts(Plan& plan, const Experts& experts) {
  const bool automatic = experts.runner == "auto";
  if (experts.runner == "deep_gemm" || (automatic && dispatches(plan) && has_deepgemm(plan))) {
    if (!has_deepgemm(plan)) {
      throw Refused("the deep_gemm runner needs DeepGEMM, which is off");
    }
    add_deepgemm_experts(plan, experts);
  } else if (experts.runner == "triton" || (automatic && is_hopper(plan) && plan.ep == 1) ||
             (automatic && plan.generation == Generation::kBlackwellRtx)) {
    add_triton_experts(plan, experts);
  } else if (experts.runner == "cutlass" || (automatic && is_hopper(plan))) {
    add_not_covered(plan, "experts (FlashInfer CUTLASS quantizes inside)");
  } else {
    add_site(plan, "moe in", experts.hidden, 0, {row(plan)});
    add_not_covered(plan, "moe down in (FlashInfer quantizes it inside its experts)");
  }
}

std::vector<Recipe> vllm_superset(const Plan& plan) {
  if (is_hopper(plan)) {
    return {kF32Row, kF32Col, kPow2Row, kPow2Col, kF32RowSilu, kPow2ColSilu, kPow2ColMaskedSilu};
  }
  return {kF32Row,    kF32Col,     kPow2Row,       kPow2Col,
          kPackedCol, kF32RowSilu, kPackedColSilu, kPackedColMaskedSilu};
}

}  // namespace quantjit::models
