// SPDX-License-Identifier: Apache-2.0
// What a client gets.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit::serve {

struct Reply {
  unsigned status = 200;
  std::string type = "application/json";
  std::shared_ptr<const std::string> body;  ///< never null
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Takes an answer. Called once, on any thread; must not throw.
using Done = std::function<void(const Reply&)>;

/// Text of any kind with status 200.
[[nodiscard]] Reply text_reply(std::string type, std::string text);

/// `{"error": {"type": TYPE, "message": MESSAGE}}`, and `log` unless that is empty.
[[nodiscard]] Reply error_reply(unsigned status, std::string_view type, std::string_view message,
                                std::string_view log = {});

/// An answer that is an error, where it is found.
class Refusal : public std::exception {
 public:
  Refusal(unsigned status, std::string_view type, std::string_view message)
      : reply_(error_reply(status, type, message)) {}

  [[nodiscard]] const Reply& reply() const { return reply_; }

  [[nodiscard]] const char* what() const noexcept override { return "refused"; }

 private:
  Reply reply_;
};

}  // namespace quantjit::serve
