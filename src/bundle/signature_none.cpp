// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/signature.hpp"

#include <quantjit/error.hpp>

namespace quantjit::bundle {
namespace {

[[noreturn]] void refuse() {
  throw NotImplemented(
      "signatures need OpenSSL, which this build of quantjit does not have; install libssl-dev and "
      "build it again");
}

}  // namespace

std::string signature_version() {
  return {};
}

Signature sign(const std::string& /*key_file*/, std::string_view /*message*/) {
  refuse();
}

PublicKey read_public_key(const std::string& /*key_file*/) {
  refuse();
}

bool verifies(const Signature& /*signature*/, std::string_view /*message*/) {
  refuse();
}

}  // namespace quantjit::bundle
