// SPDX-License-Identifier: Apache-2.0
// Pieces of the text form of a tier. Each refuses with an InvalidArgument that names `what` and
// holds nothing of the text.
#pragma once

#include "src/remote/url.hpp"

#include <quantjit/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace quantjit::remote {

/// "the port of a remote tier is malformed, but <rule>".
[[nodiscard]] InvalidArgument malformed(std::string_view what, std::string rule,
                                        std::string_view how = "malformed");

/// Cuts off and returns what is before the first of `separators`; all if there is none.
/// `found` receives whether there was one.
[[nodiscard]] std::string_view take_until(std::string_view& text, char separator, bool& found);

/// Replaces %XX. Refuses control characters and sequences that are none.
[[nodiscard]] std::string percent_decode(std::string_view text, std::string_view what);

/// `<host>[:<port>][,...]`, with `default_port` where none is given.
[[nodiscard]] std::vector<Host> parse_hosts(std::string_view text, std::uint16_t default_port);

/// A whole number of ms, s, m, h or d, at least 1 ms and at most `most`.
[[nodiscard]] std::chrono::milliseconds parse_duration(std::string_view text, std::string_view what,
                                                       std::chrono::milliseconds most);

/// Decimal digits alone, at most `most`.
[[nodiscard]] std::uint64_t parse_number(std::string_view text, std::string_view what,
                                         std::uint64_t most);

}  // namespace quantjit::remote
