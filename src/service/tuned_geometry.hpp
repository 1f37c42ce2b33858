// SPDX-License-Identifier: Apache-2.0
// A tuned geometry table beside the cubins: one cache entry a GPU model, with the same
// verification, trust and limits.
#pragma once

#include "cache/entry.hpp"

#include <quantjit/geometry.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::service {

/// What a table holds for.
struct GpuModel {
  Arch arch;
  std::string name;  ///< as the driver gives it, e.g. "NVIDIA H200"
  int sm_count = 0;
};

/// Key text of the entry of a model. Raise its schema when a kernel changes what suits it.
[[nodiscard]] std::string geometry_key_text(const GpuModel& model);
[[nodiscard]] cache::EntryKey geometry_key(std::string_view key_text);
[[nodiscard]] cache::Entry to_entry(const GpuModel& model, std::span<const GeometryRule> rules);
/// Nothing if the text is no valid table.
[[nodiscard]] std::optional<std::vector<GeometryRule>> from_text(std::string_view text);
[[nodiscard]] std::string to_text(std::span<const GeometryRule> rules);

}  // namespace quantjit::service
