// SPDX-License-Identifier: Apache-2.0
// Which entries of the cache a command line means.
#pragma once

#include "tools/cli/context.hpp"
#include "tools/cli/options.hpp"

#include <quantjit/cache.hpp>

#include <string>
#include <vector>

namespace quantjit::cli {

/// Key of the entry of a descriptor, or of the one whose key begins like the subject; the subject
/// itself if there is none. Throws: CommandFailure, InvalidArgument.
[[nodiscard]] std::string find_key(const Context& context, CacheAdmin& cache,
                                   const CacheOptions& options);
/// Keys of the subject or of the manifest, whether there are entries or not.
/// Throws: CommandFailure, InvalidArgument, Error.
[[nodiscard]] std::vector<std::string> find_keys(CacheAdmin& cache, const CacheOptions& options);

/// Sets or removes pins.
int set_pins(Context& context, CacheAdmin& cache, const CacheOptions& options);

}  // namespace quantjit::cli
