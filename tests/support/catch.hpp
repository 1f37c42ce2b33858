// SPDX-License-Identifier: Apache-2.0
// One include for both Catch2 generations: 2.13 (one header) and 3.x (split headers).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>

/// Ends a test case as skipped, with the reason: ctest counts it as skipped, never as passed.
#define QUANTJIT_SKIP(reason)                           \
  do {                                                  \
    std::cout << "[skipped] " << (reason) << std::endl; \
    return;                                             \
  } while (false)

namespace quantjit::test {

#if __has_include(<catch2/catch_all.hpp>)
using Catch::Matchers::ContainsSubstring;
#else
inline auto ContainsSubstring(const std::string& text) {
  return Catch::Matchers::Contains(text);
}
#endif

}  // namespace quantjit::test
