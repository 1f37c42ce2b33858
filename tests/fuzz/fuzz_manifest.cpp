// SPDX-License-Identifier: Apache-2.0
// Manifests and traces: what is read says the same when it is written and read again, and a trace
// loses only records that were cut off; all else is an InvalidArgument with one line.
#include "src/io/manifest.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::fuzz {
namespace {

template <typename Read>
auto try_reading(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
    return std::nullopt;
  }
}

void try_manifest(std::string_view text) {
  const auto manifest = try_reading([&] { return io::parse_manifest(text, "m"); });
  if (!manifest) {
    return;
  }
  const std::string written = io::to_json(*manifest);
  const io::Manifest again = io::parse_manifest(written, "m");
  require(again.items.size() == manifest->items.size(), "every item is kept");
  require(again.notes == manifest->notes, "the notes are kept");
  for (std::size_t i = 0; i < again.items.size(); ++i) {
    require(again.items[i].descriptor == manifest->items[i].descriptor, "descriptors are kept");
    require(again.items[i].archs == manifest->items[i].archs, "archs are kept");
    require(again.items[i].notes == manifest->items[i].notes, "notes are kept");
  }
  require(io::to_json(again) == written, "text -> manifest -> text is the identity");
  const std::vector<PrewarmItem> pairs = io::to_pairs(again, {Arch{10, 0, 'a'}}, "m");
  require(pairs.size() >= again.items.size(), "every item stands for a pair at least");
  require(io::to_pairs(io::to_manifest(pairs), {}, "m") == pairs,
          "pairs -> manifest -> pairs is the identity");
}

std::string record_of(const PrewarmItem& item) {
  return R"({"quantjit_trace":1,"arch":")" + item.arch.to_string() + R"(","traits":")" +
         to_text(item.descriptor) + "\"}\n";
}

/// What was read, written as a recorder does, once more with the end of each record cut off.
void try_trace(std::string_view text) {
  const auto trace = try_reading([&] { return io::parse_trace(text, "t"); });
  if (!trace) {
    return;
  }
  std::string written;
  std::string torn;
  for (const PrewarmItem& item : trace->records) {
    const std::string record = record_of(item);
    written += record;
    torn += record.substr(0, record.size() / 2) + record;
  }
  const io::Trace again = io::parse_trace(written, "t");
  require(again.records == trace->records && again.torn == 0, "whole records are kept");
  const io::Trace healed = io::parse_trace(torn, "t");
  require(healed.records == trace->records, "a record behind a cut-off one is found");
  require(healed.torn == trace->records.size(), "cut-off records are counted");
}

}  // namespace

void fuzz_manifest(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_manifest(text);
  try_trace(text);
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_manifest)
