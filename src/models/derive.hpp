// SPDX-License-Identifier: Apache-2.0
// From a model's config.json to the descriptors that an engine asks for while it serves the model,
// without the model, the engine or a GPU. The rules are read from the engines' sources and move
// between their releases: a difference from a recorded trace means that the rules are wrong.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::models {

enum class Engine : std::uint8_t { kSglang, kVllm };

/// "sglang" or "vllm".
[[nodiscard]] std::string_view to_string(Engine engine);
/// Throws: InvalidArgument.
[[nodiscard]] Engine parse_engine(std::string_view text);

/// How the model is served. The defaults are the engine's.
struct Request {
  Arch arch;
  Engine engine = Engine::kSglang;
  std::int64_t tp = 1;       ///< tensor parallel ranks
  std::int64_t ep = 1;       ///< expert parallel ranks; equal to tp where `a2a` is not "none"
  std::int64_t moe_dp = 1;   ///< data parallel ranks of the experts
  std::int64_t attn_tp = 0;  ///< ranks that share a head's attention, a divisor of tp; 0 = tp
  std::string a2a = "none";  ///< none, deepep, mooncake, nixl
  std::string moe_runner = "auto";
  std::string fp8_gemm_backend = "auto";
  std::string dtype = "auto";
  std::string quantization;          ///< empty: what the config says
  bool deepgemm = true;              ///< DeepGEMM is installed and on
  bool shared_expert_fusion = true;  ///< allowed, where the engine does it
  bool superset = false;  ///< every descriptor that such a model may need, whatever its shapes
};

/// An activation that is quantized on its way into a GEMM.
struct Site {
  std::string name;                 ///< as in the engine, e.g. "mlp.down_proj"
  std::int64_t k = 0;               ///< width of the quantized row per rank, in elements
  std::int64_t groups = 0;          ///< scales a row
  std::int64_t n = 0;               ///< the GEMM's columns per rank; 0 where it does not matter
  std::vector<std::string> traits;  ///< canonical texts of what quantizes it
  std::string note;                 ///< when, if not always; may be empty
};

/// What derive() found. With a refusal there are no descriptors and no sites.
struct Derivation {
  std::string architecture;
  std::string scheme;      ///< "block", "token" or "none"
  std::string reason;      ///< one line: where the scheme comes from
  std::string dtype;       ///< of the activations; empty with scheme none
  std::string moe_runner;  ///< the resolved one; empty where experts need no descriptor
  std::vector<Descriptor> descriptors;  ///< distinct canonical texts, in order of first use
  std::vector<Site> sites;
  std::vector<std::string> not_covered;  ///< operators that quantize, but with no kernel of ours
  std::vector<std::string> warnings;
  std::optional<std::string> refusal;  ///< why the engine, or this derivation, rejects the request
};

/// Derives the descriptors of a model.
/// @param config  text of the model's config.json
/// @param sidecar text of the hf_quant_config.json beside it, if there is one
/// Throws: InvalidArgument for a request that no engine accepts, and for JSON that is damaged or
/// lacks what its own architecture needs; parameter() is the flag or the path of the key. Thread
/// safe.
[[nodiscard]] Derivation derive(std::string_view config, std::optional<std::string_view> sidecar,
                                const Request& request);

}  // namespace quantjit::models
