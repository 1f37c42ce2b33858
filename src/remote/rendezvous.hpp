// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::remote {

/// Which of several servers keeps a request: the one whose name, hashed with the request, ranks
/// highest (rendezvous hashing). All machines agree whatever the order of the names is, and when a
/// server is added or taken away only what it holds moves.
/// REQUIRES: not empty.
[[nodiscard]] std::size_t choose_shard(const std::vector<std::string>& servers,
                                       std::string_view request);

}  // namespace quantjit::remote
