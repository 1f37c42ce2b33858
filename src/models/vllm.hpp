// SPDX-License-Identifier: Apache-2.0
// vLLM's block scheme. Its order of backends moves often: less certain than SGLang's rules.
#pragma once

#include "src/models/experts.hpp"
#include "src/models/linears.hpp"

#include <vector>

namespace quantjit::models {

void add_vllm_linears(Plan& plan, const std::vector<Linear>& linears);

void add_vllm_experts(Plan& plan, const Experts& experts);

/// Every recipe that a block-scheme model may need on this GPU.
[[nodiscard]] std::vector<Recipe> vllm_superset(const Plan& plan);

}  // namespace quantjit::models
