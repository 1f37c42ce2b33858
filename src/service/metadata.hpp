// SPDX-License-Identifier: Apache-2.0
// ImageInfo to and from an entry's metadata (JSON).
#pragma once

#include <quantjit/kernel.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quantjit::service {

/// The entry points of an image as an array. `Json` is a nlohmann::basic_json.
template <typename Json>
[[nodiscard]] Json describe_entry_points(const ImageInfo& info) {
  Json entries = Json::array();
  for (const EntryPointInfo& entry : info.entry_points) {
    entries.push_back({{"name", entry.name},
                       {"lowered_name", entry.lowered_name},
                       {"registers", entry.registers},
                       {"spill_bytes", entry.spill_bytes},
                       {"shared_bytes", entry.shared_bytes},
                       {"pdl_wait", entry.pdl_wait}});
  }
  return entries;
}

/// The metadata text of an image. `options` are the compile options, for `cache inspect`.
[[nodiscard]] std::string to_metadata(const ImageInfo& info,
                                      const std::vector<std::string>& options);
/// Reads what to_metadata wrote, except key, key_text, path and toolchain_match; nothing if the
/// text is not that.
[[nodiscard]] std::optional<ImageInfo> from_metadata(std::string_view text);

}  // namespace quantjit::service
