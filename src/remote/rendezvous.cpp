// SPDX-License-Identifier: Apache-2.0
#include "src/remote/rendezvous.hpp"

#include "src/base/sha256.hpp"

namespace quantjit::remote {

std::size_t choose_shard(const std::vector<std::string>& servers, std::string_view request) {
  std::size_t chosen = 0;
  base::Sha256Digest best{};
  for (std::size_t i = 0; servers.size() > 1 && i < servers.size(); ++i) {
    base::Sha256 hash;
    hash.update(servers[i]);
    hash.update(std::string_view("\n"));
    hash.update(request);
    const base::Sha256Digest rank = hash.finish();
    if (i == 0 || rank > best) {
      best = rank;
      chosen = i;
    }
  }
  return chosen;
}

}  // namespace quantjit::remote
