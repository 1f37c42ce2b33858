// SPDX-License-Identifier: Apache-2.0
#include "src/remote/url.hpp"

namespace quantjit::remote {

std::string_view to_string(Scheme scheme) {
  switch (scheme) {
    case Scheme::kFile: return "file";
    case Scheme::kHttp: return "http";
    case Scheme::kHttps: return "https";
    case Scheme::kRedis: return "redis";
    case Scheme::kRediss: return "rediss";
    case Scheme::kService: return "qj+http";
    case Scheme::kServiceTls: return "qj+https";
  }
  return {};
}

std::string Host::to_string() const {
  const bool is_ipv6 = name.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

std::string TierSpec::label(std::size_t index) const {
  return std::string(remote::to_string(scheme)) + "://" +
         (index < hosts.size() ? hosts[index].to_string() : path);
}

}  // namespace quantjit::remote
