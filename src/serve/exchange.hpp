// SPDX-License-Identifier: Apache-2.0
// One request from its head to the end of its answer.
#pragma once

#include "src/serve/counters.hpp"
#include "src/serve/reply.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::serve {

enum class Method : std::uint8_t { kGet, kHead, kPost, kOther };

/// Written by the network thread; `reply` also by whoever finds the answer, while the connection
/// rests.
struct Exchange {
  Method method = Method::kOther;
  Route route = Route::kOther;
  std::string key;           ///< of /v1/entries/KEY
  std::string body;          ///< as far as it came
  std::size_t received = 0;  ///< bytes of the body
  std::optional<Reply> reply;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// An exchange for a request line.
[[nodiscard]] Exchange route_request(std::string_view method, std::string_view path);

/// The answer to what can be refused by its request line alone; nothing if it can be served.
[[nodiscard]] std::optional<Reply> refuse_by_route(const Exchange& exchange);

/// 413, and how long a body may be.
[[nodiscard]] Reply too_long_reply(std::size_t limit);

}  // namespace quantjit::serve
