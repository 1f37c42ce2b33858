// SPDX-License-Identifier: Apache-2.0
// What is known about architectures beyond their config's keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quantjit::models {

/// When SGLang computes the shared expert as one more routed expert.
enum class SharedFusion : std::uint8_t {
  kNever,
  kDeepSeek,          ///< 256 experts, 1 shared, no expert parallelism
  kNoExpertParallel,  ///< no expert parallelism
  kEqualWidths,       ///< the shared expert is as wide as a routed one
};

/// When SGLang chooses FlashInfer's TensorRT-LLM experts on sm_100 and sm_103.
enum class TrtllmExperts : std::uint8_t {
  kNever,
  kWithoutAllToAll,
  kAlways,
  kTypedFp8,  ///< only if `--quantization fp8` was typed
};

struct Family {
  std::string_view stem;  ///< the architecture without "ForCausalLM" or the like
  TrtllmExperts trtllm = TrtllmExperts::kNever;
  SharedFusion fusion = SharedFusion::kNever;
  std::string_view mlp = "mlp";  ///< path of a layer's MLP or experts, for ignore lists
  std::string_view shared = "shared_experts";
  bool output_gate = false;        ///< attention has an output gate unless the config says no
  bool free_qkv_split = false;     ///< no check of the block size over qkv_proj's parts
  bool weights_inspected = false;  ///< unquantized on sm_100: the engine looks into the weights
  bool always_shared = false;   ///< a shared expert of the routed ones' width, with no key for it
  bool grouped_output = false;  ///< DeepSeek-V4's attention
  bool no_deepgemm_blackwell = false;  ///< vLLM: no DeepGEMM linears from sm_100 on
};

/// The family of an architecture such as "Qwen3MoeForCausalLM", or nothing for an unknown one.
[[nodiscard]] const Family* find_family(std::string_view architecture);

}  // namespace quantjit::models
