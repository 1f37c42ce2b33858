// SPDX-License-Identifier: Apache-2.0
#include "src/base/settings.hpp"

#include <cstdlib>

namespace quantjit::base {

std::optional<std::string> environment(const char* name) {
  const char* const value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read while options are built
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace quantjit::base
