// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.hpp"

#include <quantjit/error.hpp>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <memory>
#include <string>

namespace quantjit::base {
namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"trace", "debug", "info",
                                                         "warn",  "error", "off"};

constexpr std::array<spdlog::level::level_enum, 6> kLevels = {
    spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
    spdlog::level::warn,  spdlog::level::err,   spdlog::level::off};

// Never registered with spdlog, so neither its registry nor its default logger belongs to us.
// Leaked on purpose: a destructor of the application that runs late may still log.
spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto* created =
        new spdlog::logger("quantjit", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%l] %v");
    created->set_level(spdlog::level::warn);
    return created;
  }();
  return *instance;
}

}  // namespace

LogLevel parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (text == kLevelNames[i]) {
      return static_cast<LogLevel>(i);
    }
  }
  throw InvalidArgument("log level", "\"" + std::string(text.substr(0, 40)) + "\"",
                        "it must be trace, debug, info, warn, error or off");
}

void set_log_level(LogLevel level) {
  logger().set_level(kLevels[static_cast<std::size_t>(level)]);
}

bool log_enabled(LogLevel level) {
  return logger().should_log(kLevels[static_cast<std::size_t>(level)]);
}

void log(LogLevel level, std::string_view message) noexcept {
  logger().log(kLevels[static_cast<std::size_t>(level)],
               spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace quantjit::base
