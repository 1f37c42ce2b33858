// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/console.hpp"

#include <quantjit/prewarm.hpp>

#include <string>

namespace quantjit::cli {

/// Shows how far a prewarm is: a bar on a terminal, else a line for each tenth of the work.
class PrewarmMeter {
 public:
  explicit PrewarmMeter(Console& console) : console_(console) {}

  void show(const PrewarmProgress& progress);

 private:
  Console& console_;
  double shown_seconds_ = -1.0;
  std::size_t shown_tenth_ = 0;
};

/// "115 of 256, 3 failed, 12.3/s, 0:11 left".
[[nodiscard]] std::string progress_text(const PrewarmProgress& progress);

}  // namespace quantjit::cli
