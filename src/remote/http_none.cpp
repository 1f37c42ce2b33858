// SPDX-License-Identifier: Apache-2.0
#include "src/remote/make_backend.hpp"

#include <quantjit/error.hpp>

namespace quantjit::remote {

std::string http_version() {
  return {};
}

std::unique_ptr<Backend> make_http_backend(const TierSpec& spec, std::size_t index) {
  throw NotImplemented("the remote tier " + spec.label(index) +
                       " needs libcurl, which this build of quantjit does not have; install "
                       "libcurl4-openssl-dev and build it again");
}

}  // namespace quantjit::remote
