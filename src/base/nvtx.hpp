// SPDX-License-Identifier: Apache-2.0
// Ranges for profilers that understand NVTX, in a domain named "quantjit". Without a profiler, or
// in a build without NVTX, a range is one load and one branch.
#pragma once

#include <string_view>

namespace quantjit::base {

namespace nvtx_detail {
/// Whether a tool was injected when the process began. Written once, before main().
extern const bool kAttached;
void push(std::string_view name, std::string_view detail) noexcept;
void pop() noexcept;
}  // namespace nvtx_detail

/// Whether anybody looks at ranges.
[[nodiscard]] inline bool profiled() noexcept {
  return nvtx_detail::kAttached;
}

/// Whether this build has ranges at all.
[[nodiscard]] bool has_nvtx() noexcept;

/// A stretch of one thread's time, from construction to destruction.
class Range {
 public:
  /// @param name what is done, e.g. "compile"
  /// @param detail with what; what is longer than a screen line is cut
  explicit Range(std::string_view name, std::string_view detail = {}) noexcept {
    if (profiled()) [[unlikely]] {
      nvtx_detail::push(name, detail);
    }
  }

  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  ~Range() {
    if (profiled()) [[unlikely]] {
      nvtx_detail::pop();
    }
  }
};

}  // namespace quantjit::base
