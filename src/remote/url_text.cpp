// SPDX-License-Identifier: Apache-2.0
#include "src/remote/url_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr std::size_t kMaxHosts = 64;
constexpr std::size_t kMaxHostName = 253;

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

int hex_value(char character) {
  if (is_digit(character)) {
    return character - '0';
  }
  const char lower = static_cast<char>(character | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

char lower_case(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character + ('a' - 'A'))
                                              : character;
}

bool is_name_character(char character) {
  return is_digit(character) || (lower_case(character) >= 'a' && lower_case(character) <= 'z') ||
         character == '.' || character == '-' || character == '_';
}

bool is_address_character(char character) {
  return hex_value(character) >= 0 || character == ':' || character == '.';
}

InvalidArgument no_host() {
  return malformed("host",
                   "it must be a name, an IPv4 address, or an IPv6 address in brackets, with an "
                   "optional :port");
}

/// Takes the name from the front of `text`; what is left is the port.
std::string take_name(std::string_view& text) {
  std::string_view name;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    name = text.substr(1, end == std::string_view::npos ? end : end - 1);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (end == std::string_view::npos || name.find(':') == std::string_view::npos ||
        !std::all_of(name.begin(), name.end(), is_address_character)) {
      throw no_host();
    }
  } else {
    name = text.substr(0, text.find(':'));
    text.remove_prefix(name.size());
    if (!std::all_of(name.begin(), name.end(), is_name_character)) {
      throw no_host();
    }
  }
  if (name.empty() || name.size() > kMaxHostName) {
    throw no_host();
  }
  std::string result(name);
  std::transform(result.begin(), result.end(), result.begin(), lower_case);
  return result;
}

Host parse_host(std::string_view text, std::uint16_t default_port) {
  Host host{.name = take_name(text), .port = default_port};
  if (!text.empty()) {
    if (text.front() != ':') {
      throw no_host();
    }
    host.port = static_cast<std::uint16_t>(parse_number(text.substr(1), "port", 65535));
    if (host.port == 0) {
      throw malformed("port", "it must be a number from 1 to 65535");
    }
  }
  return host;
}

}  // namespace

InvalidArgument malformed(std::string_view what, std::string rule, std::string_view how) {
  return {"the " + std::string(what) + " of a remote tier", std::string(how), std::move(rule)};
}

std::string_view take_until(std::string_view& text, char separator, bool& found) {
  const std::size_t at = text.find(separator);
  found = at != std::string_view::npos;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(found ? at + 1 : text.size());
  return taken;
}

std::string percent_decode(std::string_view text, std::string_view what) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char character = text[i];
    if (character == '%') {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        throw malformed(what, "every % must be followed by two hexadecimal digits");
      }
      character = static_cast<char>(16 * high + low);
      i += 2;
    }
    if (static_cast<unsigned char>(character) < 0x20 || character == 0x7f) {
      throw malformed(what, "it must hold no control character");
    }
    decoded.push_back(character);
  }
  return decoded;
}

std::vector<Host> parse_hosts(std::string_view text, std::uint16_t default_port) {
  std::vector<Host> hosts;
  bool more = true;
  while (more) {
    Host host = parse_host(take_until(text, ',', more), default_port);
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) {
      throw malformed("list of hosts", "each must be named once", "doubled");
    }
    hosts.push_back(std::move(host));
    if (hosts.size() > kMaxHosts) {
      throw malformed("list of hosts", "there must be at most " + std::to_string(kMaxHosts),
                      "too long");
    }
  }
  return hosts;
}

std::uint64_t parse_number(std::string_view text, std::string_view what, std::uint64_t most) {
  std::uint64_t value = 0;
  // 18 digits fit into 64 bits whatever they are.
  const bool is_number =
      !text.empty() && text.size() <= 18 && std::all_of(text.begin(), text.end(), is_digit);
  for (const char digit : is_number ? text : std::string_view()) {
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  if (!is_number || value > most) {
    throw malformed(what, "it must be a number of at most " + std::to_string(most));
  }
  return value;
}

std::chrono::milliseconds parse_duration(std::string_view text, std::string_view what,
                                         std::chrono::milliseconds most) {
  struct Unit {
    std::string_view name;
    std::int64_t milliseconds;
  };

  static constexpr std::array<Unit, 5> kUnits{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
  const auto refuse = [&]() {
    return malformed(what, "it must be a time such as 500ms, 2s, 10m, 12h or 30d, at most " +
                               std::to_string(most.count() / 1000) + "s");
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  const std::string_view unit_name = text.substr(digits.size());
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& each) { return each.name == unit_name; });
  if (unit == kUnits.end() || digits.empty() || digits.size() > 9) {
    throw refuse();
  }
  const auto count = static_cast<std::int64_t>(parse_number(digits, what, 999'999'999));
  const std::chrono::milliseconds value{count * unit->milliseconds};
  if (value.count() == 0 || value > most) {
    throw refuse();
  }
  return value;
}

}  // namespace quantjit::remote
