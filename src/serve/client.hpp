// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace quantjit::serve {

/// The body of GET URL, which must have status 200. Throws: Error that says what happened, without
/// the token; NotImplemented if this build has no HTTP client.
/// @param token shown as a bearer token unless empty
[[nodiscard]] std::string fetch(const std::string& url, const std::string& token,
                                std::chrono::milliseconds timeout);

}  // namespace quantjit::serve
