// SPDX-License-Identifier: Apache-2.0
// One derivation on its way: what was read and decided, and where results go.
#pragma once

#include "src/models/families.hpp"
#include "src/models/ignore.hpp"
#include "src/models/scheme.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::models {

/// A kernel without what the model decides (dtype, group).
struct Recipe {
  ScaleFormat scale = ScaleFormat::kF32;
  ScaleLayout layout = ScaleLayout::kRow;
  bool silu = false;
  Schedule schedule = Schedule::kFlat;
  bool per_token = false;
};

// The recipes that engines ask for. A packed scale buffer, and one aligned for TMA, have the same
// descriptor as any other of their layout: strides are arguments of the kernel.
constexpr Recipe kF32Row{};
constexpr Recipe kF32Col{ScaleFormat::kF32, ScaleLayout::kCol};
constexpr Recipe kF32ColMaskedSilu{ScaleFormat::kF32, ScaleLayout::kCol, true, Schedule::kMasked};
constexpr Recipe kPackedCol{ScaleFormat::kUE8M0, ScaleLayout::kCol};
constexpr Recipe kPackedColMaskedSilu{ScaleFormat::kUE8M0, ScaleLayout::kCol, true,
                                      Schedule::kMasked};
constexpr Recipe kWholeRow{ScaleFormat::kF32, ScaleLayout::kRow, false, Schedule::kFlat, true};

/// The GPU generations that the rules tell apart.
enum class Generation : std::uint8_t {
  kHopper,       ///< sm_90
  kBlackwell,    ///< sm_100, sm_103
  kBlackwellRtx  ///< sm_120, sm_121
};

struct Plan {
  const Request& request;
  const Config& config;
  const Family& family;
  const Scheme& scheme;
  Derivation& result;

  Generation generation = Generation::kHopper;
  DType dtype = DType::kBF16;
  std::int64_t group = 0;  ///< of the block scheme
  std::int64_t tp = 1;
  std::int64_t attn_tp = 1;
  std::int64_t ep = 1;
  MlpShape mlp = {};
  Layers layers = {};
  IgnoreList ignored = {};
  bool deepgemm = false;  ///< DeepGEMM is there and works on this GPU

  [[nodiscard]] bool sglang() const { return request.engine == Engine::kSglang; }

  [[nodiscard]] bool all_to_all() const { return request.a2a != "none"; }

  [[nodiscard]] bool token_scheme() const { return scheme.kind == SchemeKind::kToken; }
};

/// Fills in what follows from request, config and scheme. Throws: Refused, InvalidArgument.
void prepare(Plan& plan);

/// Whether a module is left unquantized in each of `layers`. `parts` are the checkpoint's modules
/// that the engine fuses into it. Throws: Refused where they disagree.
[[nodiscard]] bool ignored_everywhere(const Plan& plan, const std::vector<std::int64_t>& layers,
                                      const std::vector<std::string>& parts);

/// Adds a site that one or more recipes quantize. Throws: Refused where the width does not fit.
void add_site(Plan& plan, const std::string& name, std::int64_t k, std::int64_t n,
              const std::vector<Recipe>& recipes, const std::string& note = {});

/// Adds a descriptor that no site of this model needs.
void add_descriptor(Plan& plan, const Recipe& recipe);

void add_not_covered(Plan& plan, const std::string& what);

/// f32 row-major scales of a 2-D input: SGLang takes the per-token kernel for a row of one group.
[[nodiscard]] Recipe row_or_whole(const Plan& plan, std::int64_t k);

}  // namespace quantjit::models
