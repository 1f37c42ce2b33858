// SPDX-License-Identifier: Apache-2.0
// No exception leaves the C ABI: what a body throws becomes a status and a message of the thread.
#pragma once

#include <quantjit/qj_types.h>

#include <string>
#include <type_traits>

namespace quantjit::capi {

/// Keeps what the exception that is being handled says for qj_last_error(); returns its status.
[[nodiscard, gnu::cold, gnu::noinline]] qj_status remember_exception() noexcept;

/// Keeps a message that comes with no exception, and returns `status`.
[[nodiscard, gnu::cold, gnu::noinline]] qj_status remember(qj_status status,
                                                           const std::string& message) noexcept;

/// Runs the body of a function of the C ABI, which returns nothing or a status.
template <typename Body>
qj_status guard(Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return QJ_OK;
    } else {
      return body();
    }
  } catch (...) {
    return remember_exception();
  }
}

}  // namespace quantjit::capi
