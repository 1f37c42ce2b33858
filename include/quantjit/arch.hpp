// SPDX-License-Identifier: Apache-2.0
// Target architectures and the math mode that follows from them.
#pragma once

#include <quantjit/export.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace quantjit {

/// How `f32` division and denormals are treated by kernels whose numerics allow a choice.
enum class MathMode : std::uint8_t {
  kAuto = 0,     ///< decided by the target: fast on sm_90*, precise on sm_100 and later
  kFast = 1,     ///< c / b == c * rcp.approx.ftz(b); denormals flush to zero
  kPrecise = 2,  ///< correctly rounded division, denormals kept
};

/// "auto", "fast" or "precise".
QUANTJIT_API std::string_view to_string(MathMode mode);
/// Parses "auto", "fast" or "precise". Throws: InvalidArgument.
QUANTJIT_API MathMode parse_math_mode(std::string_view text);

/// A compile target such as sm_90a, sm_100f or sm_120a. sm_90 is the lowest that is accepted.
/// Value type; thread safe.
struct QUANTJIT_API Arch {
  std::uint16_t major = 9;  ///< of the compute capability
  std::uint16_t minor = 0;  ///< of the compute capability
  char suffix = 'a';        ///< 'a' arch-specific, 'f' family, '\0' none

  /// Parses "sm_90", "sm_90a", "sm_100f", "sm_103a", ... Throws: InvalidArgument naming the text
  /// and the form.
  static Arch parse(std::string_view text);
  /// The target for a GPU of this compute capability: always the arch-specific form ('a').
  static Arch from_compute_capability(int major, int minor);

  /// E.g. "sm_100a".
  [[nodiscard]] std::string to_string() const;

  /// E.g. 90, 100, 103, 120.
  [[nodiscard]] int number() const { return major * 10 + minor; }

  /// True for sm_100 and everything later.
  [[nodiscard]] bool is_blackwell_or_later() const { return major >= 10; }

  /// Whether code for this target runs on a GPU of compute capability
  /// `device_major`.`device_minor`: 'a' needs the exact capability, 'f' the same major and at least
  /// the minor, no suffix the same major and at least the minor (cubin compatibility).
  [[nodiscard]] bool runs_on(int device_major, int device_minor) const;

  friend auto operator<=>(const Arch&, const Arch&) = default;
};

/// Resolves kAuto by the target: fast on sm_90*, precise on sm_100 and later. Other modes pass
/// through.
QUANTJIT_API MathMode default_math(const Arch& arch);

}  // namespace quantjit
