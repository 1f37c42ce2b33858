// SPDX-License-Identifier: Apache-2.0
#include "src/service/target.hpp"

namespace quantjit::service {

std::optional<Arch> newest_ptx_target(const Arch& device, const std::vector<Arch>& supported) {
  std::optional<Arch> best;
  for (const Arch& arch : supported) {
    if (arch.suffix == '\0' && arch.number() <= device.number() &&
        (!best || best->number() < arch.number())) {
      best = arch;
    }
  }
  return best;
}

}  // namespace quantjit::service
