// SPDX-License-Identifier: Apache-2.0
#include "src/serve/client.hpp"

#include <quantjit/error.hpp>

#include <curl/curl.h>
#include <memory>
#include <mutex>

namespace quantjit::serve {
namespace {

constexpr std::size_t kMaxBody = std::size_t{4} << 20U;

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::size_t append(char* data, std::size_t, std::size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size > kMaxBody) {
    return 0;
  }
  body.append(data, size);
  return size;
}

}  // namespace

std::string fetch(const std::string& url, const std::string& token,
                  std::chrono::milliseconds timeout) {
  static std::once_flag initialized;
  std::call_once(initialized, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, CloseHandle> handle(curl_easy_init());
  std::unique_ptr<curl_slist, FreeList> headers;
  if (!token.empty()) {
    headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str()));
  }
  if (handle == nullptr || (!token.empty() && headers == nullptr)) {
    throw Error("there is not enough memory for an HTTP request");
  }
  std::string body;
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    throw Error(url + " cannot be read: " +
                (code == CURLE_WRITE_ERROR ? "its answer is too long" : curl_easy_strerror(code)) +
                "; see whether the service runs there");
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 401) {
    throw Error(url + " asks for a token; name a file that holds it with --token-file");
  }
  if (status != 200) {
    throw Error(url + " answered with status " + std::to_string(status) +
                "; see whether a quantjit service is there");
  }
  return body;
}

}  // namespace quantjit::serve
