// SPDX-License-Identifier: Apache-2.0
// From the text form of settings to tiers.
#pragma once

#include "src/remote/tiers.hpp"

#include <memory>
#include <string>
#include <vector>

namespace quantjit::remote {

/// The tiers of a list of URLs (url.hpp), null if it is empty. Connects to nothing and reads no
/// file. A scheme that this build has no library for is one warning and a tier that always fails.
/// Throws: InvalidArgument, which holds no secret.
[[nodiscard]] std::unique_ptr<Tiers> open_tiers(const std::vector<std::string>& urls,
                                                RemoteOptions options = {},
                                                cache::Clock& clock = cache::system_clock());

}  // namespace quantjit::remote
