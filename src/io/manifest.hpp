// SPDX-License-Identifier: Apache-2.0
// Lists of kernels as files.
//
// A manifest is one JSON document, written by people and programs:
//
//   {
//     "quantjit_manifest": 1,                      format version, required
//     "notes": "any text",                         optional
//     "items": [                                   required, may be empty
//       {
//         "traits": "per_token_quant:in=f16",      descriptor text in any form that parses,
//         required "archs": ["sm_90a", "sm_100a"],          optional; without it the reader names
//         the archs "notes": "any text"                      optional
//       }
//     ]
//   }
//
// Other keys, doubled keys, two items of one descriptor and doubled archs are refused.
//
// A trace is what recorders append to, a JSON object a line:
//
//   {"quantjit_trace":1,"arch":"sm_90a","traits":"per_token_quant:in=f16,..."}
//
// Many processes may append to one file, and each of them may die at any moment. A record counts
// only if its line is whole: one that was cut off never parses, since its closing brace is missing,
// and a record that was written behind a cut-off one is found in the same line.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/prewarm.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::io {

inline constexpr int kManifestVersion = 1;

struct ManifestItem {
  Descriptor descriptor;
  std::vector<Arch> archs;  ///< as listed; empty if the reader is to name them
  std::string notes;
};

struct Manifest {
  std::string notes;
  std::vector<ManifestItem> items;
};

/// Reads a manifest. `name` is what messages call it. Throws: InvalidArgument that names the line
/// (no JSON) or the item by its index, counted from 0.
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::string& name);
/// As above, of a file. Throws: InvalidArgument also if it cannot be read.
[[nodiscard]] Manifest read_manifest_file(const std::filesystem::path& path);

/// The text of a manifest, with canonical descriptors; parse_manifest() reads it back.
/// REQUIRES: notes are UTF-8.
[[nodiscard]] std::string to_json(const Manifest& manifest);
/// Writes that text; a reader of the file sees the old one or the whole new one. Throws: Error.
void write_manifest_file(const std::filesystem::path& path, const Manifest& manifest);

/// A manifest of pairs: items by first appearance of their descriptor, each with its archs.
[[nodiscard]] Manifest to_manifest(const std::vector<PrewarmItem>& pairs);
/// The pairs of a manifest; an item without archs stands for each of `archs`. Throws:
/// InvalidArgument that names the item if there are none.
[[nodiscard]] std::vector<PrewarmItem> to_pairs(const Manifest& manifest,
                                                const std::vector<Arch>& archs,
                                                const std::string& name);

struct Trace {
  std::vector<PrewarmItem> records;  ///< each distinct pair once, in order of appearance
  std::size_t torn = 0;              ///< records that were cut off and skipped
};

/// Reads a trace. Throws: InvalidArgument that names the line, counted from 1, if it is no record
/// at all or a whole one that does not fit: unknown version or key, bad traits or arch.
[[nodiscard]] Trace parse_trace(std::string_view text, const std::string& name);
/// As above, of a file. Throws: InvalidArgument also if it cannot be read.
[[nodiscard]] Trace read_trace_file(const std::filesystem::path& path);

}  // namespace quantjit::io
