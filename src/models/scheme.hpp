// SPDX-License-Identifier: Apache-2.0
// How a checkpoint's activations are quantized.
#pragma once

#include "src/models/config.hpp"
#include "src/models/derive.hpp"

#include <string>
#include <vector>

namespace quantjit::models {

enum class SchemeKind : std::uint8_t {
  kNone,   ///< no kernel of ours
  kBlock,  ///< groups of a row
  kToken,  ///< whole rows
};

struct Scheme {
  SchemeKind kind = SchemeKind::kNone;
  std::string method;     ///< e.g. "fp8", "compressed-tensors"; empty without a quantization block
  std::string reason;     ///< one line for people
  std::int64_t rows = 0;  ///< of a weight block: output columns
  std::int64_t columns = 0;  ///< of a weight block: input columns
  bool int8 = false;
  bool per_channel = false;  ///< token: weights have a scale per channel
  bool at_load = false;      ///< token: the engine quantizes an unquantized checkpoint's weights
  std::vector<std::string> ignored;      ///< entries of every ignore list
  std::vector<std::string> not_covered;  ///< operators that this scheme needs and we do not have
};

/// Adds to `warnings`. Throws: Refused where the engine would reject the checkpoint;
/// InvalidArgument for keys of a wrong type.
[[nodiscard]] Scheme read_scheme(const Config& config, const Request& request,
                                 std::vector<std::string>& warnings);

}  // namespace quantjit::models
