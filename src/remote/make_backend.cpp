// SPDX-License-Identifier: Apache-2.0
#include "src/remote/make_backend.hpp"

namespace quantjit::remote {

std::unique_ptr<Backend> make_backend(const TierSpec& spec, std::size_t index) {
  switch (spec.scheme) {
    case Scheme::kFile: return make_file_backend(spec);
    case Scheme::kRedis:
    case Scheme::kRediss: return make_redis_backend(spec, index);
    default: return make_http_backend(spec, index);
  }
}

}  // namespace quantjit::remote
