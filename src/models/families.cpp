// SPDX-License-Identifier: Apache-2.0
#include "src/models/families.hpp"

#include <array>

namespace quantjit::models {
namespace {

using Trtllm = TrtllmExperts;
using Fusion = SharedFusion;

constexpr auto kFree = Trtllm::kWithoutAllToAll;

// GQA and MLA models differ by their config's keys alone, so most rows say little.
constexpr std::array kFamilies{
    Family{.stem = "DeepseekV2"},
    Family{.stem = "DeepseekV3",
           .trtllm = kFree,
           .fusion = Fusion::kDeepSeek,
           .weights_inspected = true},
    Family{.stem = "DeepseekV32", .trtllm = kFree, .weights_inspected = true},
    Family{.stem = "DeepseekV4", .grouped_output = true},
    Family{.stem = "KimiK25", .trtllm = kFree, .weights_inspected = true},
    Family{.stem = "MistralLarge3", .trtllm = kFree, .weights_inspected = true},
    Family{.stem = "Pixtral", .trtllm = kFree},
    Family{.stem = "GlmMoeDsa",
           .trtllm = kFree,
           .fusion = Fusion::kDeepSeek,
           .weights_inspected = true},
    Family{.stem = "Glm4Moe", .fusion = Fusion::kNoExpertParallel},
    Family{.stem = "Qwen2"},
    Family{.stem = "Qwen3"},
    Family{.stem = "Qwen3Moe", .trtllm = kFree},
    Family{.stem = "Qwen3VLMoe", .trtllm = kFree},
    Family{.stem = "Qwen3Next",
           .trtllm = kFree,
           .fusion = Fusion::kEqualWidths,
           .shared = "shared_expert",
           .output_gate = true},
    Family{.stem = "Qwen3_5",
           .trtllm = kFree,
           .shared = "shared_expert",
           .output_gate = true,
           .no_deepgemm_blackwell = true},
    Family{.stem = "Qwen3_5Moe",
           .trtllm = kFree,
           .shared = "shared_expert",
           .output_gate = true,
           .no_deepgemm_blackwell = true},
    Family{.stem = "InternS2Preview", .trtllm = kFree, .shared = "shared_expert"},
    Family{.stem = "MiniMaxM2", .mlp = "block_sparse_moe"},
    Family{.stem = "MiMoV2", .trtllm = Trtllm::kAlways, .free_qkv_split = true},
    Family{.stem = "MiMoV2Flash", .trtllm = Trtllm::kAlways, .free_qkv_split = true},
    Family{.stem = "Llama"},
    Family{.stem = "Llama4",
           .trtllm = Trtllm::kTypedFp8,
           .mlp = "feed_forward",
           .shared = "shared_expert",
           .always_shared = true},
    Family{.stem = "Mistral"},
    Family{.stem = "Mistral3"},
    Family{.stem = "Ministral3"},
};

constexpr std::array<std::string_view, 2> kEndings{"ForCausalLM", "ForConditionalGeneration"};

}  // namespace

const Family* find_family(std::string_view architecture) {
  for (const std::string_view ending : kEndings) {
    if (architecture.size() <= ending.size() ||
        architecture.substr(architecture.size() - ending.size()) != ending) {
      continue;
    }
    const std::string_view stem = architecture.substr(0, architecture.size() - ending.size());
    for (const Family& family : kFamilies) {
      if (family.stem == stem) {
        return &family;
      }
    }
  }
  return nullptr;
}

}  // namespace quantjit::models
