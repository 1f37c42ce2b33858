// SPDX-License-Identifier: Apache-2.0
// Comparing what a device wrote with what it should have written.
#pragma once

#include "src/io/problem.hpp"
#include "tools/cli/launch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace quantjit::cli {

/// How equal two outputs must be.
enum class Tolerance : std::uint8_t {
  kNone,  ///< every byte
  /// Where the 16-bit activation may differ in its last bits: codes one step apart (int8: three),
  /// measured after scaling, scales 2^-6 (power-of-two scales: one exponent) apart. Bytes outside
  /// the live rows must be equal all the same.
  kActivation,
};

/// One phrase for messages.
[[nodiscard]] std::string_view to_string(Tolerance tolerance);

/// What differs in one buffer.
struct Difference {
  std::string buffer;            ///< "q" or "s"
  std::uint64_t bytes = 0;       ///< how many differ
  std::uint64_t total = 0;       ///< of how many
  std::uint64_t first_byte = 0;  ///< offset of the first one
  std::byte expected{};
  std::byte found{};

  /// e.g. "q: 12 of 4096 bytes differ, the first at byte 17 (expected 0x7e, found 0x00)"
  [[nodiscard]] std::string text() const;
};

struct Comparison {
  std::optional<Difference> q;
  std::optional<Difference> s;
  std::uint64_t tolerated = 0;  ///< elements that differ within the tolerance

  [[nodiscard]] bool equal() const { return !q && !s; }

  /// Bytes that differ beyond the tolerance.
  [[nodiscard]] std::uint64_t mismatches() const;
  /// The differences of both buffers in one line.
  [[nodiscard]] std::string text() const;
};

/// Compares whole buffers. `layout` gives the shapes of the outputs; its own bytes are not looked
/// at. REQUIRES: `expected` and `found` have the sizes of the layout's buffers.
[[nodiscard]] Comparison compare(const io::Problem& problem, const io::ProblemBuffers& layout,
                                 std::span<const std::byte> expected_q,
                                 std::span<const std::byte> expected_s, const Outputs& found,
                                 Tolerance tolerance);

}  // namespace quantjit::cli
