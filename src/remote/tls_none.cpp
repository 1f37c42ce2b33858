// SPDX-License-Identifier: Apache-2.0
#include "src/remote/tls.hpp"

#include <quantjit/error.hpp>

namespace quantjit::remote {

std::unique_ptr<TlsClient> make_tls_client(const std::string& /*host*/,
                                           const std::string& /*ca_file*/) {
  throw NotImplemented(
      "rediss:// tiers need OpenSSL, which this build of quantjit does not have; install "
      "libssl-dev and build it again, or use redis://");
}

std::string tls_version() {
  return {};
}

}  // namespace quantjit::remote
