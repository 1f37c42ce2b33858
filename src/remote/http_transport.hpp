// SPDX-License-Identifier: Apache-2.0
// Single requests to an HTTP server, through libcurl.
#pragma once

#include "src/remote/deadline.hpp"
#include "src/remote/url.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::remote {

enum class HttpMethod : std::uint8_t { kGet, kHead, kPut, kPost, kDelete };

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string url;
  std::string_view body;             ///< of kPut and kPost
  std::vector<std::string> headers;  ///< "Name: value", beside those of the transport
  std::string password;              ///< of the tier's user
  std::size_t max_bytes = 0;         ///< longest body that is read with a status below 300
};

struct HttpAnswer {
  int status = 0;       ///< 0: the server said nothing that is HTTP
  bool whole = false;   ///< the body is all of it
  std::string body;     ///< cut off at a few KiB if the status is 300 or more
  std::string problem;  ///< one phrase if not whole
};

/// Keeps connections. Thread safe, also in forked children, which keep none.
class HttpTransport {
 public:
  explicit HttpTransport(TierSpec spec);
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;
  ~HttpTransport();

  HttpAnswer run(const HttpRequest& request, const Deadline& deadline);

 private:
  class Call;
  struct Handle;

  std::unique_ptr<Handle> take();
  void keep(std::unique_ptr<Handle> handle);

  const TierSpec spec_;
  const HomeProcess home_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> kept_;  // guarded by mutex_
};

}  // namespace quantjit::remote
