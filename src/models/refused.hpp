// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace quantjit::models {

/// Ends a derivation: the request is well formed, and the engine would not serve it.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `value / parts`, or Refused where that is not whole.
inline std::int64_t split(std::int64_t value, std::int64_t parts, const std::string& what) {
  if (value % parts != 0) {
    throw Refused(what + " " + std::to_string(value) + " cannot be split over " +
                  std::to_string(parts) + " ranks");
  }
  return value / parts;
}

}  // namespace quantjit::models
