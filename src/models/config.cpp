// SPDX-License-Identifier: Apache-2.0
#include "src/models/config.hpp"

#include <algorithm>

namespace quantjit::models {
namespace {

constexpr std::int64_t kMostLayers = 1024;
constexpr const char* kSidecar = "hf_quant_config.json";

/// The first of the keys that is there and not null.
std::optional<std::int64_t> first_size(const Node& node, std::initializer_list<const char*> keys) {
  for (const char* const key : keys) {
    if (const auto value = node.find_size(key)) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

const Node& QuantBlock::part_with(std::string_view key) const {
  for (const Node* const part : parts) {
    if (part->find(key) != nullptr) {
      return *part;
    }
  }
  return *parts.front();
}

Config::Config(std::string_view text, std::optional<std::string_view> sidecar)
    : root_(Node::parse(text, "config")) {
  if (sidecar) {
    sidecar_ = Node::parse(*sidecar, kSidecar);
  }
  const Node* const nested = root_.find_object("text_config");
  shapes_ = nested == nullptr ? &root_ : nested;
  const std::vector<std::string> architectures = root_.texts("architectures");
  architecture_ = architectures.empty() ? "" : architectures.front();
  find_quantization();
}

void Config::find_quantization() {
  for (const Node* const holder : {static_cast<const Node*>(&root_), shapes_}) {
    const Node* const block = holder->find_object("quantization_config");
    const Node* const compression = holder->find_object("compression_config");
    if (block != nullptr) {
      quantization_.where = "quantization_config";
      quantization_.parts.push_back(block);
    } else if (compression != nullptr) {
      quantization_.where = "compression_config";
    }
    // A block that only names its method has its groups in the other one.
    if (compression != nullptr && (block == nullptr || block->find("config_groups") == nullptr)) {
      quantization_.parts.push_back(compression);
    }
    if (!quantization_.empty()) {
      return;
    }
  }
  if (const Node* const beside = sidecar()) {
    quantization_.where = kSidecar;
    quantization_.parts.push_back(beside);
  }
}

const Node* Config::sidecar() const {
  if (!sidecar_.is_object()) {
    return nullptr;
  }
  const Node* const inner = sidecar_.find_object("quantization");
  return inner == nullptr ? &sidecar_ : inner;
}

std::optional<std::string> Config::dtype() const {
  for (const Node* const holder : {static_cast<const Node*>(&root_), shapes_}) {
    for (const char* const key : {"dtype", "torch_dtype"}) {
      if (auto text = holder->find_text(key)) {
        return text->rfind("torch.", 0) == 0 ? text->substr(6) : *text;
      }
    }
  }
  return std::nullopt;
}

MlpShape Config::mlp(bool always_shared) const {
  MlpShape shape;
  const Node& keys = *shapes_;
  shape.experts =
      first_size(keys, {"n_routed_experts", "num_experts", "num_local_experts"}).value_or(0);
  if (shape.experts > 0) {
    const auto own = keys.find_size("moe_intermediate_size");
    shape.expert_width = own && *own > 0 ? *own : keys.size("intermediate_size");
    shape.shared_count = keys.find_size("n_shared_experts").value_or(0);
    shape.shared_width = keys.find_size("shared_expert_intermediate_size")
                             .value_or(shape.shared_count * shape.expert_width);
    if (always_shared) {
      shape.shared_width = shape.expert_width;
    }
  }
  if (!layers().dense.empty()) {
    const bool interleaved = keys.find_size("interleave_moe_layer_step").value_or(0) > 1;
    shape.dense_width = interleaved && keys.find("intermediate_size_mlp") != nullptr
                            ? keys.size("intermediate_size_mlp")
                            : keys.size("intermediate_size");
  }
  return shape;
}

std::vector<bool> Config::dense_layers(std::int64_t count) const {
  const Node& keys = *shapes_;
  const bool experts =
      first_size(keys, {"n_routed_experts", "num_experts", "num_local_experts"}).value_or(0) > 0;
  std::vector<bool> dense(static_cast<std::size_t>(count), !experts);
  if (!experts) {
    return dense;
  }
  const auto first = std::min(keys.find_size("first_k_dense_replace").value_or(0), count);
  std::fill(dense.begin(), dense.begin() + first, true);
  if (const Node* const frequency = keys.find("moe_layer_freq");
      frequency && frequency->is_list()) {
    const std::vector<std::int64_t> routed = keys.sizes("moe_layer_freq");
    for (std::size_t i = 0; i < std::min(routed.size(), dense.size()); ++i) {
      dense[i] = dense[i] || routed[i] == 0;
    }
  }
  for (const std::int64_t layer : keys.sizes("mlp_only_layers")) {
    if (layer < count) {
      dense[static_cast<std::size_t>(layer)] = true;
    }
  }
  const std::int64_t step = keys.find_size("interleave_moe_layer_step").value_or(0);
  for (std::int64_t i = 0; step > 1 && i < count; ++i) {
    dense[static_cast<std::size_t>(i)] = (i + 1) % step != 0;
  }
  return dense;
}

std::vector<bool> Config::linear_layers(std::int64_t count) const {
  const Node& keys = *shapes_;
  std::vector<bool> linear(static_cast<std::size_t>(count), false);
  if (keys.find("linear_num_value_heads") == nullptr) {
    return linear;
  }
  const std::vector<std::string> types = keys.texts("layer_types");
  const std::int64_t interval = keys.find_size("full_attention_interval").value_or(0);
  for (std::size_t i = 0; i < linear.size(); ++i) {
    linear[i] = types.empty() ? interval == 0 || (static_cast<std::int64_t>(i) + 1) % interval != 0
                              : i < types.size() && types[i] == "linear_attention";
  }
  return linear;
}

Layers Config::layers() const {
  // A config without the count still has the kinds of layers that its other keys tell.
  const std::int64_t count = shapes_->find_size("num_hidden_layers").value_or(kMostLayers);
  if (count == 0 || count > kMostLayers) {
    shapes_->refuse("num_hidden_layers", "it must be an integer from 1 to 1024");
  }
  const std::vector<bool> dense = dense_layers(count);
  const std::vector<bool> linear = linear_layers(count);
  Layers layers;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    layers.all.push_back(i);
    (dense[index] ? layers.dense : layers.experts).push_back(i);
    (linear[index] ? layers.linear : layers.attention).push_back(i);
  }
  return layers;
}

}  // namespace quantjit::models
