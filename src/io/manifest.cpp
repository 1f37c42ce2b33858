// SPDX-License-Identifier: Apache-2.0
#include "src/io/manifest.hpp"

#include "src/base/file.hpp"
#include "src/io/host_file.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace quantjit::io {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kManifestKey = "quantjit_manifest";
constexpr std::size_t kLargestManifest = std::size_t{64} << 20U;
constexpr int kDeepest = 4;  // the document, its list, an item, the item's list

std::string item_name(const std::string& name, std::size_t index) {
  return name + ", items[" + std::to_string(index) + "]";
}

std::string shown(const json& value) {
  return traits::quote(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

/// Parses JSON and refuses what a plain parser lets pass: doubled keys and deep nesting.
class Document {
 public:
  Document(std::string_view text, const std::string& name) : name_(name) {
    try {
      root_ = json::parse(text, [this](int depth, json::parse_event_t event, const json& value) {
        return on_event(depth, event, value);
      });
    } catch (const json::parse_error& error) {
      // `byte` counts from 1, one beyond the last for an unexpected end.
      const std::string_view before = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
      const auto line = 1 + std::count(before.begin(), before.end(), '\n');
      throw InvalidArgument(name_ + ", line " + std::to_string(line), "no JSON",
                            "the file must be one JSON document: " + std::string(error.what()));
    } catch (const json::exception& error) {  // a number that no type can hold
      throw InvalidArgument(name_, "no JSON that can be read", error.what());
    }
  }

  [[nodiscard]] const json& root() const { return root_; }

 private:
  bool on_event(int depth, json::parse_event_t event, const json& value) {
    switch (event) {
      case json::parse_event_t::object_start:
        items_ += depth == 2 ? 1 : 0;
        keys_.emplace_back();
        break;
      case json::parse_event_t::object_end: keys_.pop_back(); break;
      case json::parse_event_t::key:
        if (!keys_.back().insert(value.get<std::string>()).second) {
          const bool in_item = keys_.size() > 1 && items_ > 0;
          throw InvalidArgument(in_item ? item_name(name_, items_ - 1) : name_,
                                traits::quote(value.get<std::string>()),
                                "a key may stand only once in an object");
        }
        break;
      case json::parse_event_t::array_start:
      case json::parse_event_t::array_end:
      case json::parse_event_t::value: break;
    }
    if (depth > kDeepest) {
      throw InvalidArgument(name_, "nested too deeply", "a manifest has four levels at most");
    }
    return true;
  }

  const std::string& name_;
  json root_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::size_t items_ = 0;                    // objects of the list that were begun
};

void refuse_unknown_keys(const json& object, std::span<const std::string_view> known,
                         const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::string names;
      for (const std::string_view name : known) {
        names += (names.empty() ? "" : ", ") + std::string(name);
      }
      throw InvalidArgument(where, traits::quote(key), "the keys are " + names);
    }
  }
}

std::string read_notes(const json& object, const std::string& where) {
  const auto found = object.find("notes");
  if (found == object.end()) {
    return {};
  }
  if (!found->is_string()) {
    throw InvalidArgument(where + ".notes", shown(*found), "it must be a string");
  }
  return found->get<std::string>();
}

/// Calls `parse` on a text of the file, and names its place in what is thrown.
template <typename Parse>
auto parse_text(const json& value, const std::string& where, Parse parse) {
  if (!value.is_string()) {
    throw InvalidArgument(where, shown(value), "it must be a string");
  }
  const auto text = value.get<std::string>();
  try {
    return parse(text);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(where, traits::quote(text), error.what());
  }
}

std::vector<Arch> read_archs(const json& item, const std::string& where) {
  const auto found = item.find("archs");
  if (found == item.end()) {
    return {};
  }
  if (!found->is_array() || found->empty()) {
    throw InvalidArgument(where + ".archs", shown(*found),
                          "it must be a list such as [\"sm_90a\"], or be left out");
  }
  std::vector<Arch> archs;
  for (const json& element : *found) {
    const Arch arch = parse_text(element, where + ".archs",
                                 [](const std::string& text) { return Arch::parse(text); });
    if (std::find(archs.begin(), archs.end(), arch) != archs.end()) {
      throw InvalidArgument(where + ".archs", arch.to_string(), "an arch may stand only once");
    }
    archs.push_back(arch);
  }
  return archs;
}

ManifestItem read_item(const json& item, const std::string& where) {
  constexpr std::array<std::string_view, 3> kKeys = {"traits", "archs", "notes"};
  if (!item.is_object()) {
    throw InvalidArgument(where, shown(item), "it must be an object with the key traits");
  }
  refuse_unknown_keys(item, kKeys, where);
  if (!item.contains("traits")) {
    throw InvalidArgument(where + ".traits", "missing", "every item must name its descriptor");
  }
  return {.descriptor = parse_text(item.at("traits"), where + ".traits",
                                   [](const std::string& text) { return parse_descriptor(text); }),
          .archs = read_archs(item, where),
          .notes = read_notes(item, where)};
}

void check_version(const json& root, const std::string& name) {
  const auto found = root.find(kManifestKey);
  if (found == root.end() || !found->is_number_integer() || *found != kManifestVersion) {
    throw InvalidArgument(name + ", " + kManifestKey,
                          found == root.end() ? "missing" : shown(*found),
                          "it names the format version, and this library reads version " +
                              std::to_string(kManifestVersion));
  }
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::string& name) {
  constexpr std::array<std::string_view, 3> kKeys = {kManifestKey, "notes", "items"};
  const Document document(text, name);
  const json& root = document.root();
  if (!root.is_object()) {
    throw InvalidArgument(name, "no JSON object", "a manifest is an object with the key items");
  }
  check_version(root, name);
  refuse_unknown_keys(root, kKeys, name);
  if (!root.contains("items") || !root.at("items").is_array()) {
    throw InvalidArgument(name + ", items", root.contains("items") ? "no list" : "missing",
                          "it must be the list of kernels");
  }
  Manifest manifest{.notes = read_notes(root, name), .items = {}};
  std::map<std::pair<std::uint64_t, MathMode>, std::size_t> seen;
  for (const json& element : root.at("items")) {
    const std::size_t index = manifest.items.size();
    const std::string where = item_name(name, index);
    ManifestItem item = read_item(element, where);
    const auto [first, inserted] =
        seen.try_emplace({pack(item.descriptor.traits), item.descriptor.math}, index);
    if (!inserted) {
      throw InvalidArgument(where + ".traits", to_text(item.descriptor),
                            "a descriptor may stand only once, and items[" +
                                std::to_string(first->second) + "] is the same one");
    }
    manifest.items.push_back(std::move(item));
  }
  return manifest;
}

Manifest read_manifest_file(const std::filesystem::path& path) {
  const std::string name = "manifest " + traits::quote(path.string());
  const InputFile file(path);
  if (file.size() > kLargestManifest) {
    throw InvalidArgument(name, std::to_string(file.size()) + " bytes",
                          "a manifest has at most 64 MiB");
  }
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return parse_manifest(text, name);
}

std::string to_json(const Manifest& manifest) {
  ordered_json root;
  root[kManifestKey] = kManifestVersion;
  if (!manifest.notes.empty()) {
    root["notes"] = manifest.notes;
  }
  root["items"] = ordered_json::array();
  for (const ManifestItem& item : manifest.items) {
    ordered_json& element = root["items"].emplace_back();
    element["traits"] = to_text(item.descriptor);
    for (const Arch& arch : item.archs) {
      element["archs"].push_back(arch.to_string());
    }
    if (!item.notes.empty()) {
      element["notes"] = item.notes;
    }
  }
  return root.dump(1) + "\n";
}

void write_manifest_file(const std::filesystem::path& path, const Manifest& manifest) {
  const std::string text = to_json(manifest);
  const std::array<std::span<const std::byte>, 1> pieces = {std::as_bytes(std::span(text))};
  write_file(path, pieces);
}

Manifest to_manifest(const std::vector<PrewarmItem>& pairs) {
  Manifest manifest;
  std::map<std::pair<std::uint64_t, MathMode>, std::size_t> places;
  for (const PrewarmItem& pair : pairs) {
    const auto [place, inserted] = places.try_emplace(
        {pack(pair.descriptor.traits), pair.descriptor.math}, manifest.items.size());
    if (inserted) {
      manifest.items.push_back({pair.descriptor, {}, {}});
    }
    std::vector<Arch>& archs = manifest.items[place->second].archs;
    if (std::find(archs.begin(), archs.end(), pair.arch) == archs.end()) {
      archs.push_back(pair.arch);
    }
  }
  return manifest;
}

std::vector<PrewarmItem> to_pairs(const Manifest& manifest, const std::vector<Arch>& archs,
                                  const std::string& name) {
  std::vector<PrewarmItem> pairs;
  for (std::size_t i = 0; i < manifest.items.size(); ++i) {
    const ManifestItem& item = manifest.items[i];
    if (item.archs.empty() && archs.empty()) {
      throw InvalidArgument(item_name(name, i) + ".archs", "missing",
                            "the item must name its archs, or the caller must");
    }
    for (const Arch& arch : item.archs.empty() ? archs : item.archs) {
      pairs.push_back({item.descriptor, arch});
    }
  }
  return pairs;
}

}  // namespace quantjit::io

namespace quantjit {

std::vector<PrewarmItem> read_manifest(const std::string& path, const std::vector<Arch>& archs) {
  return io::to_pairs(io::read_manifest_file(path), archs, "manifest " + traits::quote(path));
}

}  // namespace quantjit
