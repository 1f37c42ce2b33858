// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/context.hpp"
#include "tools/cli/options.hpp"

namespace quantjit::cli {

/// Reports on the service at `options.status`, until interrupted if it is to be refreshed.
int report_status(Context& context, const ServeOptions& options);

}  // namespace quantjit::cli
