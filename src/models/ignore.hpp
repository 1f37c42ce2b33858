// SPDX-License-Identifier: Apache-2.0
// The modules that a checkpoint leaves unquantized.
#pragma once

#include "src/models/pattern.hpp"

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace quantjit::models {

/// Entries match whole dotted components, anywhere in a module's path: "mlp.gate" matches
/// "layers.3.mlp.gate" and everything below it, but not "layers.3.mlp.gate_up_proj". A leading
/// "model." of an entry may be missing in the path. "re:" starts a regular expression on the whole
/// path, and "*" stands for any characters.
class IgnoreList {
 public:
  IgnoreList() = default;
  /// Entries that are not understood are named in `warnings` and match nothing.
  IgnoreList(const std::vector<std::string>& entries, std::vector<std::string>& warnings);

  [[nodiscard]] bool empty() const {
    return names_.empty() && wildcards_.empty() && patterns_.empty();
  }

  [[nodiscard]] bool matches(std::string_view path) const;

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> wildcards_;
  std::vector<Pattern> patterns_;
};

}  // namespace quantjit::models
