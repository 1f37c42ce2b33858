// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quantjit/arch.hpp>

#include <optional>
#include <vector>

namespace quantjit::service {

/// The target whose PTX a GPU newer than the compiler can still run: the highest one without a
/// suffix that is not above the device. Nothing if there is none.
[[nodiscard]] std::optional<Arch> newest_ptx_target(const Arch& device,
                                                    const std::vector<Arch>& supported);

}  // namespace quantjit::service
