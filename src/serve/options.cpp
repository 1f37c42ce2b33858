// SPDX-License-Identifier: Apache-2.0
#include "src/serve/options.hpp"

#include "src/base/log.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <sys/resource.h>

namespace quantjit::serve {
namespace {

constexpr std::size_t kMaxBody = std::size_t{64} << 10U;
constexpr std::size_t kMaxBodyWithSources = std::size_t{4} << 20U;
/// Files beside connections: libraries, the cache, the listening socket.
constexpr rlim_t kOtherFiles = 256;

/// Makes room for the files of that many connections. Returns how many there is room for.
unsigned raise_file_limit(unsigned connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return connections;
  }
  const rlim_t wanted = connections + kOtherFiles;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) {
    return connections;
  }
  const rlim_t left = limit.rlim_cur > kOtherFiles + 8 ? limit.rlim_cur - kOtherFiles : 8;
  base::log_warn("this process may open " + std::to_string(limit.rlim_cur) + " files, so only " +
                 std::to_string(left) + " connections are served at a time");
  return static_cast<unsigned>(left);
}

}  // namespace

Options checked(Options options) {
  if (options.max_connections < 8) {
    throw InvalidArgument("--max-connections", std::to_string(options.max_connections),
                          "it must be at least 8");
  }
  if (options.max_request == 0) {
    options.max_request = options.allow_sources ? kMaxBodyWithSources : kMaxBody;
  }
  options.max_connections = raise_file_limit(options.max_connections);
  return options;
}

}  // namespace quantjit::serve
