// SPDX-License-Identifier: Apache-2.0
// A model's config.json and the quantization file beside it.
#pragma once

#include "src/models/node.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::models {

/// Where a checkpoint says how it is quantized. A key may stand in any of several objects.
struct QuantBlock {
  std::vector<const Node*> parts;  ///< looked through in order
  std::string where;               ///< e.g. "quantization_config", for messages

  [[nodiscard]] bool empty() const { return parts.empty(); }

  /// The first part that has the key; the first part where none has it.
  [[nodiscard]] const Node& part_with(std::string_view key) const;

  [[nodiscard]] const Node* find(std::string_view key) const { return part_with(key).find(key); }

  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const {
    return part_with(key).find_text(key);
  }
};

/// Layer numbers by what stands in the layer.
struct Layers {
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> dense;      ///< with a dense MLP
  std::vector<std::int64_t> experts;    ///< with routed experts
  std::vector<std::int64_t> attention;  ///< with softmax attention
  std::vector<std::int64_t> linear;     ///< with linear attention
};

/// The routed and shared experts, and the dense MLP beside them. 0 = there is none.
struct MlpShape {
  std::int64_t experts = 0;
  std::int64_t expert_width = 0;
  std::int64_t shared_count = 0;
  std::int64_t shared_width = 0;
  std::int64_t dense_width = 0;
};

/// Not movable: it hands out references into itself.
class Config {
 public:
  /// Throws: InvalidArgument for damaged JSON.
  Config(std::string_view text, std::optional<std::string_view> sidecar);
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  ~Config() = default;

  [[nodiscard]] const std::string& architecture() const { return architecture_; }

  /// The object that holds the text model's shapes.
  [[nodiscard]] const Node& shapes() const { return *shapes_; }

  /// Whether the shapes stand in an object of their own, beside a vision model's.
  [[nodiscard]] bool nested() const { return shapes_ != &root_; }

  [[nodiscard]] const QuantBlock& quantization() const { return quantization_; }

  /// The quantization object of the file beside the config, or nothing without that file.
  [[nodiscard]] const Node* sidecar() const;

  /// What `dtype` or `torch_dtype` says, without "torch."; nothing where both are missing.
  [[nodiscard]] std::optional<std::string> dtype() const;

  /// @param always_shared the architecture has a shared expert that no key tells
  [[nodiscard]] MlpShape mlp(bool always_shared) const;

  [[nodiscard]] Layers layers() const;

 private:
  void find_quantization();
  [[nodiscard]] std::vector<bool> dense_layers(std::int64_t count) const;
  [[nodiscard]] std::vector<bool> linear_layers(std::int64_t count) const;

  Node root_;
  Node sidecar_;
  const Node* shapes_ = nullptr;
  std::string architecture_;
  QuantBlock quantization_;
};

}  // namespace quantjit::models
