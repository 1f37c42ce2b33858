// SPDX-License-Identifier: Apache-2.0
#include "src/service/listing.hpp"

#include <unordered_map>
#include <utility>

namespace quantjit::service {

std::vector<StoredEntry> list_entries(cache::CubinStore& store) {
  std::unordered_map<std::string, std::string> key_texts;  // by path
  for (cache::ListedHead& listed : store.list_heads()) {
    key_texts[std::move(listed.path)] = std::move(listed.head.key_text);
  }
  std::vector<StoredEntry> entries;
  for (cache::ListedEntry& listed : store.list()) {
    const auto text = key_texts.find(listed.path);
    entries.push_back(
        {std::move(listed), text == key_texts.end() ? std::string() : std::move(text->second)});
  }
  return entries;
}

}  // namespace quantjit::service
