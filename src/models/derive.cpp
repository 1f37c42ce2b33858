// SPDX-License-Identifier: Apache-2.0
#include "src/models/derive.hpp"

#include "src/models/experts.hpp"
#include "src/models/linears.hpp"
#include "src/models/refused.hpp"
#include "src/models/vllm.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace quantjit::models {
namespace {

using traits::quote;

constexpr std::int64_t kMostRanks = 65536;

void check_choice(const char* flag, const std::string& value,
                  std::initializer_list<std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
    return;
  }
  std::string names;
  for (const std::string_view name : allowed) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw InvalidArgument(flag, quote(value), "it must be one of " + names);
}

void check_ranks(const char* flag, std::int64_t value) {
  if (value < 1 || value > kMostRanks) {
    throw InvalidArgument(flag, std::to_string(value), "it must be from 1 to 65536");
  }
}

void check_request(const Request& request) {
  check_ranks("--tp", request.tp);
  check_ranks("--ep", request.ep);
  check_ranks("--moe-dp", request.moe_dp);
  const std::int64_t attn_tp = request.attn_tp == 0 ? request.tp : request.attn_tp;
  if (attn_tp < 1 || request.tp % attn_tp != 0) {
    throw InvalidArgument("--attn-tp", std::to_string(request.attn_tp),
                          "it must be a divisor of --tp " + std::to_string(request.tp));
  }
  check_choice("--a2a", request.a2a, {"none", "deepep", "mooncake", "nixl"});
  const bool sglang = request.engine == Engine::kSglang;
  if (sglang) {
    check_choice("--moe-runner", request.moe_runner,
                 {"auto", "triton", "deep_gemm", "flashinfer_trtllm", "flashinfer_trtllm_routed",
                  "cutlass", "hpc_ops"});
    check_choice("--fp8-gemm-backend", request.fp8_gemm_backend,
                 {"auto", "deep_gemm", "triton", "flashinfer_deepgemm", "flashinfer_trtllm"});
  } else {
    check_choice("--moe-runner", request.moe_runner,
                 {"auto", "triton", "deep_gemm", "flashinfer_trtllm", "cutlass"});
    check_choice("--fp8-gemm-backend", request.fp8_gemm_backend,
                 {"auto", "deep_gemm", "triton", "flashinfer_deepgemm", "cutlass"});
  }
  check_choice("--dtype", request.dtype,
               {"auto", "bfloat16", "float16", "float32", "half", "float", "bf16", "f16", "f32"});
}

/// What a model of this scheme may need, whatever its shapes.
void add_superset(Plan& plan) {
  if (plan.token_scheme()) {
    add_descriptor(plan, kWholeRow);
    return;
  }
  if (plan.scheme.int8) {
    add_descriptor(plan, kF32Row);
    return;
  }
  std::vector<Recipe> recipes;
  if (!plan.sglang()) {
    recipes = vllm_superset(plan);
  } else if (plan.generation == Generation::kHopper) {
    recipes = {kF32Col, kF32Row, kF32ColMaskedSilu, kWholeRow};
  } else if (plan.generation == Generation::kBlackwell) {
    recipes = {kPackedCol, kPackedColMaskedSilu, kF32Col, kF32Row, kWholeRow};
  } else {
    recipes = {kF32Col, kF32Row, kWholeRow};
  }
  for (const Recipe& recipe : recipes) {
    add_descriptor(plan, recipe);
  }
}

void add_attention_extras(Plan& plan) {
  const Node& keys = plan.config.shapes();
  if (keys.find("index_n_heads") != nullptr) {
    add_not_covered(plan, "DSA indexer query and key quantization");
  }
  if (!plan.family.grouped_output || plan.token_scheme()) {
    return;
  }
  if (plan.generation != Generation::kHopper || !plan.sglang()) {
    add_not_covered(plan, "wo_a einsum input (the engine has a kernel of its own)");
    return;
  }
  const std::int64_t width = keys.size("num_attention_heads") * keys.size("head_dim");
  add_site(plan, "wo_a einsum input", split(width, keys.size("o_groups"), "attention width"), 0,
           {kF32Row}, "rows = tokens x local o_groups");
}

void add_sites(Plan& plan) {
  plan.mlp = plan.config.mlp(plan.family.always_shared);
  plan.layers = plan.config.layers();
  const Experts experts = resolve_experts(plan);
  const std::vector<Linear> linears = list_linears(plan, experts.shared_apart);
  if (plan.token_scheme()) {
    add_token_linears(plan, linears);
  } else if (!plan.scheme.int8) {
    for (const Linear& linear : linears) {
      check_blocks(plan, linear);
    }
    if (plan.sglang()) {
      add_sglang_linears(plan, linears);
    } else {
      add_vllm_linears(plan, linears);
    }
    add_attention_extras(plan);
  }
  if (!experts.quantized) {
    return;
  }
  plan.result.moe_runner = experts.runner;
  if (plan.token_scheme()) {
    add_token_experts(plan, experts);
  } else if (plan.sglang()) {
    add_sglang_experts(plan, experts);
  } else {
    add_vllm_experts(plan, experts);
  }
}

std::string_view name_of(SchemeKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"none", "block", "token"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string dtype_name(DType dtype) {
  return dtype == DType::kBF16 ? "bf16" : dtype == DType::kF16 ? "f16" : "f32";
}

void derive_scheme(const Config& config, const Request& request, Derivation& result) {
  const Scheme scheme = read_scheme(config, request, result.warnings);
  const Family* const family = find_family(config.architecture());
  result.scheme = name_of(scheme.kind);
  result.reason = scheme.reason;
  result.not_covered = scheme.not_covered;
  if (scheme.kind == SchemeKind::kNone) {
    if (scheme.method.empty() && family != nullptr && family->weights_inspected &&
        request.arch.major == 10 && request.engine == Engine::kSglang) {
      result.warnings.push_back("SGLang looks into the weights of " + config.architecture() +
                                " on " + request.arch.to_string() +
                                " and may quantize what the config calls unquantized");
    }
    return;
  }
  if (family == nullptr && !request.superset) {
    throw Refused("the architecture " + quote(config.architecture()) +
                  " is not known, so its projections would be a guess; --superset gives every "
                  "descriptor of its scheme");
  }
  static constexpr Family kUnknown{};
  Plan plan{.request = request,
            .config = config,
            .family = family == nullptr ? kUnknown : *family,
            .scheme = scheme,
            .result = result};
  prepare(plan);
  result.dtype = dtype_name(plan.dtype);
  if (family != nullptr) {
    add_sites(plan);
  } else {
    result.warnings.push_back("the architecture " + quote(config.architecture()) +
                              " is not known: no sites, only the superset");
  }
  if (request.superset) {
    add_superset(plan);
  }
}

}  // namespace

std::string_view to_string(Engine engine) {
  return engine == Engine::kSglang ? "sglang" : "vllm";
}

Engine parse_engine(std::string_view text) {
  for (const Engine engine : {Engine::kSglang, Engine::kVllm}) {
    if (to_string(engine) == text) {
      return engine;
    }
  }
  throw InvalidArgument("--engine", quote(text), "it must be sglang or vllm");
}

Derivation derive(std::string_view config, std::optional<std::string_view> sidecar,
                  const Request& request) {
  check_request(request);
  const Config parsed(config, sidecar);
  Derivation result;
  result.architecture = parsed.architecture();
  try {
    derive_scheme(parsed, request, result);
  } catch (const Refused& refused) {
    result.refusal = refused.what();
    result.descriptors.clear();
    result.sites.clear();
  }
  return result;
}

}  // namespace quantjit::models
