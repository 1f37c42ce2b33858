// SPDX-License-Identifier: Apache-2.0
// What a prewarm compiles, from whatever names it.
#pragma once

#include "src/models/derive.hpp"
#include "tools/cli/options.hpp"

#include <quantjit/prewarm.hpp>

#include <string>
#include <vector>

namespace quantjit::cli {

/// A model's derivation for one target.
struct DerivedModel {
  Arch arch;
  models::Derivation derivation;
};

struct PrewarmSource {
  std::vector<PrewarmItem> items;    ///< each distinct pair once
  std::vector<DerivedModel> models;  ///< with --model, one a target
};

/// @param math mode of descriptors that name none: two that resolve to one are one
/// Throws: InvalidArgument, CommandFailure for files that cannot be read.
[[nodiscard]] PrewarmSource gather(const PrewarmOptions& options, MathMode math);

}  // namespace quantjit::cli
