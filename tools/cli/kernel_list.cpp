// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/kernel_list.hpp"

namespace quantjit::cli {

std::vector<Arch> parse_archs(const std::vector<std::string>& texts) {
  std::vector<Arch> archs;
  archs.reserve(texts.size());
  for (const std::string& text : texts) {
    archs.push_back(Arch::parse(text));
  }
  return archs;
}

void KernelList::add(const PrewarmItem& item) {
  if (known_.insert(identity(item)).second) {
    items_.push_back(item);
  }
}

std::vector<PrewarmItem> KernelList::without(const KernelList& other) const {
  std::vector<PrewarmItem> rest;
  for (const PrewarmItem& item : items_) {
    if (!other.known_.contains(identity(item))) {
      rest.push_back(item);
    }
  }
  return rest;
}

}  // namespace quantjit::cli
