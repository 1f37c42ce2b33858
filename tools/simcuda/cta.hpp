// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp.hpp"

namespace quantjit::sim {

/// Runs a started CTA until every thread has exited (true), or until nothing can go on because
/// threads wait for their dependency (false, only with Cta::prologue). Throws FaultError.
[[nodiscard]] bool run_cta(Cta& cta);

}  // namespace quantjit::sim
