// SPDX-License-Identifier: Apache-2.0
#include "src/remote/make_backend.hpp"

#include <quantjit/error.hpp>

namespace quantjit::remote {

std::string redis_version() {
  return {};
}

std::string redis_tls_version() {
  return {};
}

std::unique_ptr<Backend> make_redis_backend(const TierSpec& spec, std::size_t index) {
  throw NotImplemented("the remote tier " + spec.label(index) +
                       " needs hiredis, which this build of quantjit does not have; install "
                       "libhiredis-dev and build it again");
}

}  // namespace quantjit::remote
