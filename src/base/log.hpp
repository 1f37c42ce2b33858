// SPDX-License-Identifier: Apache-2.0
// The library's own logger (named "quantjit", stderr, default level warn). spdlog's default logger
// is never touched and its headers stay in log.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace quantjit::base {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kOff };

/// Parses trace, debug, info, warn, error or off. Throws: InvalidArgument.
[[nodiscard]] LogLevel parse_log_level(std::string_view text);
void set_log_level(LogLevel level);
[[nodiscard]] bool log_enabled(LogLevel level);
/// Writes one line. Thread safe. Never throws.
void log(LogLevel level, std::string_view message) noexcept;

inline void log_debug(std::string_view message) noexcept {
  log(LogLevel::kDebug, message);
}

inline void log_info(std::string_view message) noexcept {
  log(LogLevel::kInfo, message);
}

inline void log_warn(std::string_view message) noexcept {
  log(LogLevel::kWarn, message);
}

}  // namespace quantjit::base
