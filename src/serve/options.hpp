// SPDX-License-Identifier: Apache-2.0
// How a compile service behaves.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace quantjit::serve {

struct Options {
  std::string listen = "127.0.0.1:9871";  ///< HOST:PORT; port 0 is any
  std::string token_file;                 ///< tokens, one a line; empty: none is asked for
  bool no_token = false;                  ///< others than this machine may ask without a token
  bool open_metrics = false;              ///< /metrics needs no token
  int jobs = 0;                           ///< compiles at once; 0: by the cores and the memory
  std::size_t queue = 1024;               ///< compiles that wait, at most
  unsigned max_connections = 4096;
  std::size_t max_request = 0;  ///< bytes of a request's body; 0: 64 KiB, with sources 4 MiB
  bool allow_sources = false;   ///< clients may send kernels of their own
  /// How long a client may take for each of: the head of a request, its body, taking the answer.
  std::chrono::milliseconds client_timeout{30000};
};

/// The same with defaults filled in, and no more connections than this process may have files open;
/// raises that limit as far as it goes. Throws: InvalidArgument.
[[nodiscard]] Options checked(Options options);

}  // namespace quantjit::serve
