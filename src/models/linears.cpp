// SPDX-License-Identifier: Apache-2.0
#include "src/models/linears.hpp"

#include "src/models/refused.hpp"

#include <algorithm>

namespace quantjit::models {
namespace {

/// Builds the list; one function a family of layers.
class LinearList {
 public:
  explicit LinearList(const Plan& plan) : plan_(plan), keys_(plan.config.shapes()) {}

  std::vector<Linear> take() { return std::move(linears_); }

  void latent_attention() {
    const std::int64_t hidden = keys_.size("hidden_size");
    const std::int64_t latent = keys_.size("kv_lora_rank");
    const std::int64_t rope = keys_.size("qk_rope_head_dim");
    const std::int64_t head = keys_.size("qk_nope_head_dim") + rope;
    const std::int64_t value = keys_.size("v_head_dim");
    const std::int64_t heads = local_heads();
    const std::int64_t query = keys_.find_size("q_lora_rank").value_or(0);
    if (query > 0) {
      add({.name = "fused_qkv_a_proj_with_mqa", .k = hidden, .n = query + latent + rope},
          {"self_attn.q_a_proj", "self_attn.kv_a_proj_with_mqa"});
      add(by_columns("q_b_proj", query, {heads * head}), {"self_attn.q_b_proj"});
    } else {
      add(by_columns("q_proj", hidden, {heads * head}), {"self_attn.q_proj"});
      add({.name = "kv_a_proj_with_mqa", .k = hidden, .n = latent + rope},
          {"self_attn.kv_a_proj_with_mqa"});
    }
    add(by_columns("kv_b_proj", latent, {heads * (head - rope + value)}), {"self_attn.kv_b_proj"});
    add(by_rows("o_proj", heads * value, hidden), {"self_attn.o_proj"});
    if (query > 0) {
      indexer(query);
    }
  }

  void grouped_query_attention() {
    const std::int64_t hidden = keys_.size("hidden_size");
    const std::int64_t heads = local_heads();
    const std::int64_t head = head_size();
    const std::int64_t value = keys_.find_size("v_head_dim").value_or(head);
    const std::int64_t pairs = local_kv_heads();
    const bool gate = keys_.find_flag("attn_output_gate").value_or(plan_.family.output_gate);
    Linear qkv = by_columns("qkv_proj", hidden,
                            {heads * head * (gate ? 2 : 1), pairs * head, pairs * value});
    if (plan_.family.free_qkv_split) {
      qkv.columns.clear();
    }
    add(std::move(qkv), {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"});
    add(by_rows("o_proj", heads * value, hidden), {"self_attn.o_proj"});
  }

  void gated_delta_net() {
    const std::int64_t hidden = keys_.size("hidden_size");
    const std::int64_t key =
        split(keys_.size("linear_key_head_dim") * keys_.size("linear_num_key_heads"), tp_,
              "the linear attention's key width");
    const std::int64_t value =
        split(keys_.size("linear_value_head_dim") * keys_.size("linear_num_value_heads"), tp_,
              "the linear attention's value width");
    layers_ = &plan_.layers.linear;
    add(by_columns("linear_attn.in_proj_qkvz", hidden, {key, key, value, value}),
        {"linear_attn.in_proj_qkvz"});
    add(by_rows("linear_attn.out_proj", value, hidden), {"linear_attn.out_proj"});
    layers_ = &plan_.layers.attention;
  }

  void grouped_output_attention() {
    const std::int64_t hidden = keys_.size("hidden_size");
    const std::int64_t query = keys_.size("q_lora_rank");
    const std::int64_t groups = keys_.size("o_groups");
    static_cast<void>(local_heads());
    add({.name = "wqkv_a", .k = hidden}, {"self_attn.wqkv_a"});
    add({.name = "wq_b", .k = query}, {"self_attn.wq_b"});
    add(by_rows("wo_b", split(groups, tp_, "o_groups") * keys_.size("o_lora_rank"), hidden),
        {"self_attn.wo_b"});
    indexer(query);
  }

  void mlp(const std::string& name, const std::string& module,
           const std::vector<std::int64_t>& layers, std::int64_t width, std::int64_t tp) {
    const std::int64_t hidden = keys_.size("hidden_size");
    const std::int64_t share = split(width, tp, name + " width");
    layers_ = &layers;
    tp_ = tp;
    add(by_columns(name + ".gate_up_proj", hidden, {share, share}),
        {module + ".gate_proj", module + ".up_proj"});
    add(by_rows(name + ".down_proj", share, hidden), {module + ".down_proj"});
  }

 private:
  [[nodiscard]] std::int64_t local_heads() const {
    return split(keys_.size("num_attention_heads"), tp_, "num_attention_heads");
  }

  [[nodiscard]] std::int64_t head_size() const {
    if (const auto own = keys_.find_size("head_dim"); own && *own > 0) {
      return *own;
    }
    const std::int64_t heads = keys_.size("num_attention_heads");
    if (keys_.size("hidden_size") % heads != 0) {
      throw Refused(
          "hidden_size is not a multiple of num_attention_heads, and there is no head_dim");
    }
    return keys_.size("hidden_size") / heads;
  }

  /// Ranks beyond the number of key-value heads hold copies.
  [[nodiscard]] std::int64_t local_kv_heads() const {
    const std::int64_t heads =
        keys_.find_size("num_key_value_heads").value_or(keys_.size("num_attention_heads"));
    if (heads == 0) {
      keys_.refuse("num_key_value_heads", "it must be positive");
    }
    if (heads < tp_) {
      static_cast<void>(split(tp_, heads, "attention over key-value heads: the number of ranks"));
      return 1;
    }
    return split(heads, tp_, "num_key_value_heads");
  }

  void indexer(std::int64_t query) {
    if (keys_.find("index_n_heads") != nullptr) {
      add({.name = "indexer.wq_b",
           .k = query,
           .n = keys_.size("index_n_heads") * keys_.size("index_head_dim")},
          {"self_attn.indexer.wq_b"});
    }
  }

  static Linear by_columns(std::string name, std::int64_t k, std::vector<std::int64_t> columns) {
    std::int64_t n = 0;
    for (const std::int64_t part : columns) {
      n += part;
    }
    return {.name = std::move(name), .k = k, .n = n, .columns = std::move(columns)};
  }

  static Linear by_rows(std::string name, std::int64_t k, std::int64_t n) {
    return {.name = std::move(name), .k = k, .n = n, .by_rows = true};
  }

  void add(Linear linear, const std::vector<std::string>& modules) {
    if (ignored_everywhere(plan_, *layers_, modules)) {
      return;
    }
    linear.tp = tp_;
    linears_.push_back(std::move(linear));
  }

  const Plan& plan_;
  const Node& keys_;
  std::int64_t tp_ = plan_.attn_tp;
  const std::vector<std::int64_t>* layers_ = &plan_.layers.attention;
  std::vector<Linear> linears_;
};

bool is_triton_or_off(const Plan& plan) {
  return plan.request.fp8_gemm_backend == "triton" || !plan.deepgemm;
}

/// FlashInfer's GEMM takes plain columns, which look like rows where there is one token.
bool takes_flashinfer(const Plan& plan, const Linear& linear) {
  const std::string& backend = plan.request.fp8_gemm_backend;
  const bool chosen = backend == "flashinfer_trtllm" || (backend == "auto" && !plan.deepgemm);
  return chosen && plan.generation == Generation::kBlackwell && plan.dtype == DType::kBF16 &&
         linear.k >= 256;
}

std::vector<Recipe> sglang_recipes(const Plan& plan, const Linear& linear) {
  if (takes_flashinfer(plan, linear)) {
    return {kF32Col, kF32Row};
  }
  const std::string& backend = plan.request.fp8_gemm_backend;
  if (plan.generation == Generation::kBlackwellRtx && backend == "auto") {
    return {kF32Col};
  }
  if (is_triton_or_off(plan) || backend == "flashinfer_trtllm" || !fits_deepgemm(plan, linear)) {
    return {row_or_whole(plan, linear.k)};
  }
  return {plan.generation == Generation::kHopper ? kF32Col : kPackedCol};
}

}  // namespace

std::vector<Linear> list_linears(const Plan& plan, bool shared_expert) {
  LinearList list(plan);
  const Node& keys = plan.config.shapes();
  if (plan.family.grouped_output) {
    list.grouped_output_attention();
  } else if (keys.find_size("kv_lora_rank").value_or(0) > 0) {
    list.latent_attention();
  } else {
    list.grouped_query_attention();
  }
  if (keys.find_size("linear_num_value_heads").value_or(0) > 0) {
    list.gated_delta_net();
  }
  const std::string mlp(plan.family.mlp);
  if (plan.mlp.dense_width > 0) {
    list.mlp("mlp", mlp, plan.layers.dense, plan.mlp.dense_width, plan.tp);
  }
  if (shared_expert) {
    list.mlp("shared", mlp + "." + std::string(plan.family.shared), plan.layers.experts,
             plan.mlp.shared_width, plan.all_to_all() ? 1 : plan.tp);
  }
  return list.take();
}

void check_blocks(const Plan& plan, const Linear& linear) {
  if (linear.by_rows && linear.tp > 1 && linear.k % plan.scheme.columns != 0) {
    throw Refused(linear.name + " input partition " + std::to_string(linear.k) +
                  " is not a multiple of " + std::to_string(plan.scheme.columns));
  }
  if (linear.columns.size() == 1 && linear.tp == 1) {
    return;
  }
  for (const std::int64_t part : linear.columns) {
    if (part % plan.scheme.rows != 0) {
      throw Refused(linear.name + " output partition " + std::to_string(part) +
                    " is not a multiple of " + std::to_string(plan.scheme.rows));
    }
  }
}

bool fits_deepgemm(const Plan& plan, const Linear& linear) {
  return plan.dtype == DType::kBF16 && plan.scheme.rows == 128 && plan.scheme.columns == 128 &&
         linear.n % 64 == 0 && linear.k % 128 == 0;
}

void add_sglang_linears(Plan& plan, const std::vector<Linear>& linears) {
  const std::string& backend = plan.request.fp8_gemm_backend;
  const bool wants_deepgemm = backend == "deep_gemm" || backend == "flashinfer_deepgemm";
  if (wants_deepgemm && !plan.deepgemm) {
    throw Refused("--fp8-gemm-backend " + backend + " needs DeepGEMM, which is off or not for " +
                  plan.request.arch.to_string());
  }
  if (backend == "flashinfer_deepgemm" && plan.generation != Generation::kHopper) {
    throw Refused("--fp8-gemm-backend flashinfer_deepgemm is known on sm_90 alone");
  }
  if (backend == "flashinfer_trtllm" && plan.generation != Generation::kBlackwell) {
    throw Refused("--fp8-gemm-backend flashinfer_trtllm needs sm_100 or sm_103");
  }
  const std::string note = backend == "flashinfer_deepgemm" ? "from 32 tokens on" : "";
  for (const Linear& linear : linears) {
    add_site(plan, linear.name, linear.k, linear.n, sglang_recipes(plan, linear), note);
  }
}

void add_token_linears(Plan& plan, const std::vector<Linear>& linears) {
  for (const Linear& linear : linears) {
    add_site(plan, linear.name, linear.k, linear.n, {kWholeRow},
             plan.scheme.at_load ? "and once for each weight at load" : "");
  }
}

}  // namespace quantjit::models
