// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quantjit/qj_types.h>
#include <quantjit/service.hpp>

namespace quantjit::capi {

/// The options that a struct of the C ABI means; null is the environment. Throws: InvalidArgument.
[[nodiscard]] ServiceOptions options_of(const qj_service_options* options);

}  // namespace quantjit::capi
