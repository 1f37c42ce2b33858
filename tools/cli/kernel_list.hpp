// SPDX-License-Identifier: Apache-2.0
// Lists of kernels and targets as command lines name them.
#pragma once

#include "src/traits/kernel_identity.hpp"

#include <quantjit/prewarm.hpp>

#include <set>
#include <string>
#include <vector>

namespace quantjit::cli {

/// One target a text, repeated ones too. Throws: InvalidArgument.
[[nodiscard]] std::vector<Arch> parse_archs(const std::vector<std::string>& texts);

/// Pairs without repetition, in order of appearance: two whose math modes resolve to the same one
/// are one kernel.
class KernelList {
 public:
  /// @param preference mode of descriptors that name none
  explicit KernelList(MathMode preference) : preference_(preference) {}

  void add(const PrewarmItem& item);

  [[nodiscard]] const std::vector<PrewarmItem>& items() const { return items_; }

  /// Those that `other` does not have.
  [[nodiscard]] std::vector<PrewarmItem> without(const KernelList& other) const;

 private:
  [[nodiscard]] traits::KernelIdentity identity(const PrewarmItem& item) const {
    return traits::identify(item.descriptor, item.arch, preference_);
  }

  MathMode preference_;
  std::set<traits::KernelIdentity> known_;
  std::vector<PrewarmItem> items_;
};

}  // namespace quantjit::cli
