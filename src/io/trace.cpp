// SPDX-License-Identifier: Apache-2.0
#include "src/io/host_file.hpp"
#include "src/io/manifest.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace quantjit::io {
namespace {

using nlohmann::json;

constexpr const char* kTraceKey = "quantjit_trace";
constexpr std::string_view kRecordHead = "{\"quantjit_trace\":";
constexpr int kTraceVersion = 1;
constexpr std::size_t kLargestTrace = std::size_t{1} << 30U;

/// Identity of a pair whose descriptor is valid.
auto identity(const PrewarmItem& item) {
  return std::tuple(pack(item.descriptor.traits), item.descriptor.math, item.arch);
}

/// The record that is whole in a line: all of it, or what follows a record that was cut off.
/// Records hold no brace but their own two.
std::optional<json> find_record(std::string_view line) {
  const std::size_t brace = line.rfind('{');
  if (brace == std::string_view::npos) {
    return std::nullopt;
  }
  json record = json::parse(line.substr(brace), nullptr, false);
  return record.is_object() ? std::optional(std::move(record)) : std::nullopt;
}

/// Whether a text can be the beginnings of records, one behind the other.
bool may_be_torn(std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find('{', 1));
    if (!piece.starts_with(kRecordHead) && !kRecordHead.starts_with(piece)) {
      return false;
    }
    text.remove_prefix(piece.size());
  }
  return true;
}

PrewarmItem read_record(const json& record, const std::string& where) {
  const auto version = record.find(kTraceKey);
  const bool numbered = version != record.end() && version->is_number_integer();
  if (!numbered || *version != kTraceVersion) {
    throw InvalidArgument(where, numbered ? version->dump() : "no version",
                          "a record holds \"quantjit_trace\":1, the version this library reads");
  }
  const auto text_of = [&](const char* key) {
    if (!record.contains(key) || !record.at(key).is_string()) {
      throw InvalidArgument(where + ", key " + key, record.contains(key) ? "no string" : "missing",
                            "a record holds quantjit_trace, arch and traits");
    }
    return record.at(key).get<std::string>();
  };
  const std::string traits_text = text_of("traits");
  const std::string arch_text = text_of("arch");
  if (record.size() != 3) {
    throw InvalidArgument(where, std::to_string(record.size()) + " keys",
                          "a record holds quantjit_trace, arch and traits only");
  }
  try {
    return {parse_descriptor(traits_text), Arch::parse(arch_text)};
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(where, traits::quote(traits_text + " for " + arch_text), error.what());
  }
}

}  // namespace

Trace parse_trace(std::string_view text, const std::string& name) {
  Trace trace;
  std::set<decltype(identity(std::declval<PrewarmItem>()))> seen;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) {
      continue;
    }
    const std::string where = name + ", line " + std::to_string(number);
    const std::optional<json> record = find_record(line);
    const std::string_view torn = record ? line.substr(0, line.rfind('{')) : line;
    if (!may_be_torn(torn)) {
      throw InvalidArgument(where, traits::quote(line), "a trace holds one JSON object a line");
    }
    trace.torn += static_cast<std::size_t>(std::count(torn.begin(), torn.end(), '{'));
    if (record) {
      const PrewarmItem item = read_record(*record, where);
      if (seen.insert(identity(item)).second) {
        trace.records.push_back(item);
      }
    }
  }
  return trace;
}

Trace read_trace_file(const std::filesystem::path& path) {
  const std::string name = "trace " + traits::quote(path.string());
  const InputFile file(path);
  if (file.size() > kLargestTrace) {
    throw InvalidArgument(name, std::to_string(file.size()) + " bytes",
                          "a trace has at most 1 GiB");
  }
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return parse_trace(text, name);
}

}  // namespace quantjit::io

namespace quantjit {

std::vector<PrewarmItem> read_trace(const std::string& path, const std::vector<Arch>& archs) {
  std::vector<PrewarmItem> records = io::read_trace_file(path).records;
  if (archs.empty()) {
    return records;
  }
  std::vector<PrewarmItem> pairs;
  std::set<std::pair<std::uint64_t, MathMode>> seen;
  for (const PrewarmItem& record : records) {
    if (seen.emplace(pack(record.descriptor.traits), record.descriptor.math).second) {
      for (const Arch& arch : archs) {
        pairs.push_back({record.descriptor, arch});
      }
    }
  }
  return pairs;
}

}  // namespace quantjit
