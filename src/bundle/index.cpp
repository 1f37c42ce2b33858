// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/index.hpp"

#include "src/base/key_text.hpp"
#include "src/bundle/format.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace quantjit::bundle {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{64} << 10U;

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// One line. Whatever is missing, of another type or out of range fails it; members that are not
/// known are passed over.
class Line {
 public:
  explicit Line(std::string_view text) : object_(json::parse(text, refuse_depth, false)) {
    good_ = object_.is_object();
  }

  [[nodiscard]] bool good() const { return good_; }

  std::string text(const char* name) {
    const auto found = good_ ? object_.find(name) : object_.end();
    std::string value;
    good_ = good_ && found != object_.end() && found->is_string();
    if (good_) {
      value = found->get<std::string>();
      good_ = is_printable(value);
    }
    return value;
  }

  std::string digest(const char* name) {
    std::string value = text(name);
    good_ = good_ && is_digest(value);
    return value;
  }

  std::uint64_t size(const char* name, std::uint64_t most) {
    const auto found = good_ ? object_.find(name) : object_.end();
    good_ = good_ && found != object_.end() && found->is_number_unsigned();
    const std::uint64_t value = good_ ? found->get<std::uint64_t>() : 0;
    good_ = good_ && value > 0 && value <= most;
    return value;
  }

  cache::EntryKey key(const char* name) {
    const std::string value = text(name);
    const std::optional<cache::EntryKey> key = cache::EntryKey::parse(value);
    good_ = good_ && key && key->name() == value;  // "<key>.qjc" is a file's name, not a key
    return good_ ? *key : cache::EntryKey{};
  }

 private:
  static bool refuse_depth(int depth, json::parse_event_t /*event*/, json& /*value*/) {
    return depth < 4;
  }

  json object_;
  bool good_ = false;
};

std::optional<IndexEntry> parse_line(std::string_view text) {
  Line line(text);
  IndexEntry entry;
  entry.key = line.key("key");
  entry.traits = line.text("traits");
  entry.arch = line.text("arch");
  entry.math = line.text("math");
  entry.code_kind = line.text("code");
  entry.bytes = line.size("bytes", cache::kMaxFileBytes);
  entry.packed_bytes = line.size("packed_bytes", cache::kMaxFileBytes);
  entry.sha256 = line.digest("sha256");
  entry.packed_sha256 = line.digest("packed_sha256");
  return line.good() ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

std::optional<IndexEntry> describe(const cache::Entry& entry) {
  if (entry.key.request != base::to_hex(base::sha256(entry.key_text))) {
    return std::nullopt;
  }
  IndexEntry described;
  described.key = entry.key;
  for (const auto& [label, value] : base::parse_key_text(entry.key_text)) {
    if (label == "traits") {
      described.traits = value;
    } else if (label == "arch") {
      described.arch = value;
    } else if (label == "math") {
      described.math = value;
    } else if (label == "code") {
      described.code_kind = value;
    }
  }
  for (const std::string* const text :
       {&described.traits, &described.arch, &described.math, &described.code_kind}) {
    if (text->empty() || text->size() > 4096 || !is_printable(*text)) {
      return std::nullopt;
    }
  }
  return described;
}

std::string write_index(const std::vector<IndexEntry>& entries) {
  std::string text;
  for (const IndexEntry& entry : entries) {
    nlohmann::ordered_json line;
    line["key"] = entry.key.name();
    line["traits"] = entry.traits;
    line["arch"] = entry.arch;
    line["math"] = entry.math;
    line["code"] = entry.code_kind;
    line["bytes"] = entry.bytes;
    line["packed_bytes"] = entry.packed_bytes;
    line["sha256"] = entry.sha256;
    line["packed_sha256"] = entry.packed_sha256;
    text += line.dump();
    text += '\n';
  }
  return text;
}

ParsedIndex parse_index(std::string_view text, std::uint64_t count, std::uint64_t at,
                        std::uint64_t index_at) {
  ParsedIndex index;
  std::uint64_t unpacked = 0;
  const auto fail = [&](const std::string& problem) { return ParsedIndex{{}, problem}; };
  while (!text.empty()) {
    const std::string number = std::to_string(index.entries.size() + 1);
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || end > kLongestLine || index.entries.size() == count) {
      return fail("its index has other lines than it should");
    }
    std::optional<IndexEntry> entry = parse_line(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!entry) {
      return fail("line " + number + " of its index does not describe an entry");
    }
    if (!index.entries.empty() && entry->key <= index.entries.back().key) {
      return fail("line " + number + " of its index repeats a key or is out of order");
    }
    unpacked += entry->bytes;
    if (entry->packed_bytes > index_at - at || unpacked > kMaxUnpackedBytes) {
      return fail("line " + number + " of its index goes beyond what the bundle can hold");
    }
    entry->at = at;
    at += entry->packed_bytes;
    index.entries.push_back(std::move(*entry));
  }
  if (index.entries.size() != count || at != index_at) {
    return fail("its index does not cover all of it");
  }
  return index;
}

}  // namespace quantjit::bundle
