// SPDX-License-Identifier: Apache-2.0
#include "src/models/scheme.hpp"

#include "src/models/refused.hpp"
#include "src/traits/quote.hpp"

#include <algorithm>
#include <array>

namespace quantjit::models {
namespace {

using traits::quote;

constexpr std::array kIgnoreKeys{"ignored_layers", "modules_to_not_convert", "ignore",
                                 "exclude_modules"};

Scheme none(std::string method, std::string reason, std::string not_covered = {}) {
  Scheme scheme;
  scheme.method = std::move(method);
  scheme.reason = std::move(reason);
  if (!not_covered.empty()) {
    scheme.not_covered.push_back(std::move(not_covered));
  }
  return scheme;
}

Scheme token(std::string method, std::string reason, bool per_channel) {
  Scheme scheme;
  scheme.kind = SchemeKind::kToken;
  scheme.method = std::move(method);
  scheme.reason = std::move(reason);
  scheme.per_channel = per_channel;
  return scheme;
}

Scheme block(std::string method, std::string reason, const Node& holder, const char* key) {
  const std::vector<std::int64_t> sizes = holder.sizes(key);
  if (sizes.size() != 2 || sizes[0] == 0 || sizes[1] == 0) {
    holder.refuse(key, "it must hold two positive integers");
  }
  Scheme scheme;
  scheme.kind = SchemeKind::kBlock;
  scheme.method = std::move(method);
  scheme.reason = std::move(reason);
  scheme.rows = sizes[0];
  scheme.columns = sizes[1];
  return scheme;
}

Scheme read_fp8(const QuantBlock& quant) {
  const Node* const blocks = quant.find("weight_block_size");
  const std::string activations = quant.find_text("activation_scheme").value_or("");
  if (activations.empty()) {
    throw Refused(quant.where + " has no activation_scheme, which the engine needs");
  }
  if (blocks != nullptr) {
    if (activations != "dynamic") {
      throw Refused("weight blocks need activation_scheme dynamic, and " + quant.where + " says " +
                    quote(activations));
    }
    return block("fp8", quant.where + ": fp8 weight blocks, dynamic activations",
                 quant.part_with("weight_block_size"), "weight_block_size");
  }
  if (activations == "dynamic") {
    return token("fp8", quant.where + ": fp8 without blocks, dynamic activations", false);
  }
  if (activations == "static") {
    return none("fp8", quant.where + ": fp8 with static activation scales",
                "static per-tensor fp8 activations");
  }
  throw Refused("activation_scheme " + quote(activations) + " of " + quant.where +
                " is neither dynamic nor static");
}

Scheme read_blockwise_int8(const QuantBlock& quant) {
  Scheme scheme = block("blockwise_int8", quant.where + ": int8 weight blocks",
                        quant.part_with("weight_block_size"), "weight_block_size");
  scheme.int8 = true;
  scheme.not_covered.emplace_back("int8 block linears (a Triton quantizer)");
  return scheme;
}

/// What one group of a compressed-tensors block says.
struct Activations {
  bool present = false;
  std::string type;
  std::int64_t bits = 0;
  bool dynamic = false;
  std::string strategy;
  std::string weights;  ///< the weights' strategy

  friend bool operator==(const Activations&, const Activations&) = default;
};

Activations read_activations(const Node& group) {
  Activations found;
  const Node* const input = group.find_object("input_activations");
  if (input != nullptr) {
    found.present = true;
    found.type = input->find_text("type").value_or("float");
    found.bits = input->find_size("num_bits").value_or(0);
    const Node* const dynamic = input->find("dynamic");
    // "local" is neither: scales of a tensor and of its groups, some of them static.
    if (dynamic != nullptr && dynamic->is_text()) {
      found.type += "-" + dynamic->text();
    } else {
      found.dynamic = input->find_flag("dynamic").value_or(false);
    }
    found.strategy = input->find_text("strategy").value_or("tensor");
  }
  if (const Node* const weights = group.find_object("weights")) {
    found.weights = weights->find_text("strategy").value_or("tensor");
  }
  return found;
}

Scheme scheme_of(const Activations& found, const Node& group, const std::string& where) {
  const std::string method = "compressed-tensors";
  if (!found.present) {
    return none(method, where + ": weights alone are quantized");
  }
  const std::string kind = found.type + std::to_string(found.bits) +
                           (found.dynamic ? " dynamic per " : " static per ") + found.strategy;
  const std::string reason = where + ": activations " + kind;
  if (found.type == "float" && found.bits == 8 && found.dynamic) {
    if (found.strategy == "token" && (found.weights == "channel" || found.weights == "tensor")) {
      return token(method, reason, found.weights == "channel");
    }
    if (found.strategy == "group" && found.weights == "block") {
      return block(method, reason, *group.find_object("weights"), "block_structure");
    }
  }
  return none(method, reason, kind + " activations (compressed-tensors)");
}

Scheme read_compressed(const QuantBlock& quant, std::vector<std::string>& warnings) {
  const Node* const groups = quant.part_with("config_groups").find_object("config_groups");
  if (groups == nullptr || groups->members().empty()) {
    return none("compressed-tensors", quant.where + ": compressed-tensors without config_groups",
                "compressed-tensors without config_groups");
  }
  std::optional<Activations> first;
  const Node* chosen = nullptr;
  for (const auto& [name, group] : groups->members()) {
    if (!group.is_object()) {
      groups->refuse(name, "it must be an object");
    }
    const Activations found = read_activations(group);
    if (!first) {
      first = found;
      chosen = &group;
    } else if (found != *first) {
      warnings.push_back("config_groups differ in how activations are quantized; only the first, " +
                         quote(groups->members().front().first) + ", is followed");
      break;
    }
  }
  return scheme_of(*first, *chosen, quant.where);
}

Scheme read_named(const std::string& method, const QuantBlock& quant) {
  if (method == "mxfp8") {
    return none(method, quant.where + ": mxfp8", "mxfp8 activations (FlashInfer's quantizer)");
  }
  return none(method, quant.where + ": " + method, method + " not covered");
}

/// What the checkpoint says by itself.
Scheme read_checkpoint(const QuantBlock& quant, const Request& request,
                       std::vector<std::string>& warnings) {
  const std::string method = quant.find_text("quant_method").value_or("");
  if (method == "fp8") {
    return read_fp8(quant);
  }
  if (method == "w8a8_fp8" && request.engine == Engine::kSglang) {
    return token(method, quant.where + ": w8a8_fp8", true);
  }
  if (method == "blockwise_int8" && request.engine == Engine::kSglang) {
    return read_blockwise_int8(quant);
  }
  if (method == "compressed-tensors") {
    if (request.quantization == "w8a8_fp8" && request.engine == Engine::kSglang) {
      return token("w8a8_fp8", "--quantization w8a8_fp8", true);
    }
    return read_compressed(quant, warnings);
  }
  if (const auto algorithm = quant.find_text("quant_algo")) {
    return *algorithm == "FP8"
               ? none("modelopt", quant.where + ": ModelOpt FP8, static scales",
                      "static per-tensor fp8 activations (ModelOpt, " + quant.where + ")")
               : none("modelopt " + *algorithm, quant.where + ": ModelOpt " + *algorithm,
                      "ModelOpt " + *algorithm + " not covered");
  }
  if (method.empty()) {
    return none("unknown", quant.where + " names neither quant_method nor quant_algo",
                "a quantization block that names no method");
  }
  return read_named(method, quant);
}

Scheme read_typed(const Request& request) {
  const std::string& typed = request.quantization;
  if (typed == "fp8") {
    Scheme scheme = token("fp8", "--quantization fp8 on an unquantized checkpoint", false);
    scheme.at_load = true;
    return scheme;
  }
  if (typed == "w8a8_fp8" && request.engine == Engine::kSglang) {
    return token(typed, "--quantization w8a8_fp8", true);
  }
  return none(typed, "--quantization " + typed,
              (typed == "mxfp8" ? "mxfp8 activations (FlashInfer's quantizer)"
                                : quote(typed) + " not covered"));
}

bool may_be_typed(const std::string& typed, const std::string& method) {
  return typed == method || (typed == "w8a8_fp8" && method == "compressed-tensors");
}

}  // namespace

Scheme read_scheme(const Config& config, const Request& request,
                   std::vector<std::string>& warnings) {
  const QuantBlock& quant = config.quantization();
  if (quant.empty()) {
    if (!request.quantization.empty()) {
      return read_typed(request);
    }
    warnings.emplace_back(
        "the config has no quantization_config or compression_config and no hf_quant_config.json "
        "beside it: it is read as unquantized");
    return none("", "no quantization block: activations stay as they are");
  }
  const std::string method = quant.find_text("quant_method").value_or("");
  if (!request.quantization.empty() && !method.empty() &&
      !may_be_typed(request.quantization, method)) {
    throw Refused("--quantization " + request.quantization +
                  " does not fit the checkpoint, whose " + quant.where + " says " + quote(method));
  }
  Scheme scheme = read_checkpoint(quant, request, warnings);
  std::vector<const Node*> parts = quant.parts;
  if (const Node* const beside = config.sidecar(); beside != nullptr && beside != parts.front()) {
    parts.push_back(beside);
  }
  for (const Node* const part : parts) {
    for (const char* const key : kIgnoreKeys) {
      const std::vector<std::string> entries = part->texts(key);
      scheme.ignored.insert(scheme.ignored.end(), entries.begin(), entries.end());
    }
  }
  return scheme;
}

}  // namespace quantjit::models
