// SPDX-License-Identifier: Apache-2.0
#include "src/serve/exchange.hpp"

namespace quantjit::serve {
namespace {

constexpr std::string_view kEntries = "/v1/entries/";

Method method_of(std::string_view name) {
  return name == "GET"    ? Method::kGet
         : name == "HEAD" ? Method::kHead
         : name == "POST" ? Method::kPost
                          : Method::kOther;
}

Route route_of(std::string_view path) {
  for (const Route route : {Route::kCompile, Route::kHealth, Route::kMetrics, Route::kStatus}) {
    if (path == route_name(route)) {
      return route;
    }
  }
  return path.starts_with(kEntries) ? Route::kEntries : Route::kOther;
}

}  // namespace

Exchange route_request(std::string_view method, std::string_view path) {
  Exchange exchange;
  exchange.method = method_of(method);
  exchange.route = route_of(path);
  if (exchange.route == Route::kEntries) {
    exchange.key = path.substr(kEntries.size());
  }
  return exchange;
}

std::optional<Reply> refuse_by_route(const Exchange& exchange) {
  if (exchange.route == Route::kOther) {
    return error_reply(404, "NotFound",
                       "there is no such path; there are POST /v1/compile, GET /v1/entries/KEY, "
                       "/healthz, /metrics and /v1/status");
  }
  const bool posts = exchange.route == Route::kCompile;
  const bool fits = posts ? exchange.method == Method::kPost
                          : exchange.method == Method::kGet || exchange.method == Method::kHead;
  if (fits) {
    return std::nullopt;
  }
  Reply reply = error_reply(405, "MethodNotAllowed", "this path is for another method");
  reply.headers.emplace_back("Allow", posts ? "POST" : "GET, HEAD");
  return reply;
}

Reply too_long_reply(std::size_t limit) {
  return error_reply(413, "TooLarge",
                     "the body of a request may be " + std::to_string(limit) + " bytes long");
}

}  // namespace quantjit::serve
