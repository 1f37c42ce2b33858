// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/compression.hpp"

#include <quantjit/error.hpp>

namespace quantjit::bundle {
namespace {

[[noreturn]] void refuse() {
  throw NotImplemented(
      "bundles need zstd, which this build of quantjit does not have; install libzstd-dev and "
      "build "
      "it again");
}

}  // namespace

std::string compression_version() {
  return {};
}

std::string compress(std::string_view /*bytes*/) {
  refuse();
}

std::optional<std::string> decompress(std::string_view /*packed*/, std::uint64_t /*bytes*/) {
  refuse();
}

}  // namespace quantjit::bundle
