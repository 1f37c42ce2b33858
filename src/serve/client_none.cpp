// SPDX-License-Identifier: Apache-2.0
// In place of client_curl.cpp where there is no libcurl.
#include "src/serve/client.hpp"

#include <quantjit/error.hpp>

namespace quantjit::serve {

std::string fetch(const std::string&, const std::string&, std::chrono::milliseconds) {
  throw NotImplemented(
      "this quantjit was built without libcurl, so it cannot ask a service; install "
      "libcurl4-openssl-dev and build it again, or read /v1/status with another client");
}

}  // namespace quantjit::serve
