// SPDX-License-Identifier: Apache-2.0
// Which combinations of values an operation allows.
#pragma once

#include <quantjit/traits.hpp>

#include <optional>
#include <string>

namespace quantjit::traits {

/// A broken rule: the key whose value is not allowed, that value, and why.
struct Violation {
  std::string key;
  std::string value;
  std::string rule;
};

/// The first rule that `traits` breaks, or nothing. Cheap: no allocation when none is broken.
[[nodiscard]] std::optional<Violation> find_violation(const Traits& traits);

/// True if no rule is broken.
[[nodiscard]] bool is_valid(const Traits& traits);

}  // namespace quantjit::traits
