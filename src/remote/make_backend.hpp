// SPDX-License-Identifier: Apache-2.0
// The backend of one server of a tier, and what of them this build has.
#pragma once

#include "src/remote/backend.hpp"
#include "src/remote/url.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace quantjit::remote {

/// The backend of server `index` of `spec`. Connects to nothing; reads secrets from files when it
/// needs them. `access` and `mac_key_file` are the caller's to follow.
/// Throws: NotImplemented if this build has no library for the scheme; InvalidArgument.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const TierSpec& spec, std::size_t index);

/// Version of the hiredis that redis:// tiers are read with; empty if this build has none.
[[nodiscard]] std::string redis_version();
/// Version of the OpenSSL that rediss:// tiers use; empty if this build has none.
[[nodiscard]] std::string redis_tls_version();
/// Version of the libcurl that http(s):// and qj+http(s):// tiers use; empty if this build has
/// none.
[[nodiscard]] std::string http_version();

/// What make_backend() makes its backends with.
[[nodiscard]] std::unique_ptr<Backend> make_file_backend(const TierSpec& spec);
[[nodiscard]] std::unique_ptr<Backend> make_redis_backend(const TierSpec& spec, std::size_t index);
[[nodiscard]] std::unique_ptr<Backend> make_http_backend(const TierSpec& spec, std::size_t index);

}  // namespace quantjit::remote
