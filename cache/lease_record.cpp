// SPDX-License-Identifier: Apache-2.0
#include "cache/lease_record.hpp"

#include <algorithm>
#include <charconv>

namespace quantjit::cache {
namespace {

constexpr std::string_view kTitle = "quantjit-lease 1\n";
static_assert(kTitle.size() == kBeatLineOffset);
constexpr std::size_t kDigits = 20;
constexpr std::size_t kTokenDigits = 32;

std::string padded(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  return std::string(kDigits - digits.size(), '0') + digits;
}

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Takes the line `<name> <value>` off the front.
std::optional<std::string_view> take_field(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (line.size() <= name.size() || !line.starts_with(name) || line[name.size()] != ' ') {
    return std::nullopt;
  }
  return line.substr(name.size() + 1);
}

bool read_beat(std::string_view text, LeaseRecord& record) {
  std::int64_t time = 0;
  if (text.size() != 2 * kDigits + 1 || text[kDigits] != ' ' ||
      !read_number(text.substr(0, kDigits), record.beats) ||
      !read_number(text.substr(kDigits + 1), time)) {
    return false;
  }
  record.beat_time = std::chrono::nanoseconds(time);
  return true;
}

}  // namespace

std::string format_beat(const LeaseRecord& record) {
  return "beat " + padded(record.beats) + " " +
         padded(static_cast<std::uint64_t>(std::max<std::int64_t>(record.beat_time.count(), 0))) +
         "\n";
}

std::string format_lease(const LeaseRecord& record) {
  return std::string(kTitle) + format_beat(record) + "token " + record.token + "\npid " +
         std::to_string(record.owner.pid) + "\nstart " + std::to_string(record.owner.start) +
         "\nkernel " + record.owner.kernel + "\nhost " + record.owner.host + "\n";
}

std::optional<LeaseRecord> parse_lease(std::string_view text) {
  if (!text.starts_with(kTitle)) {
    return std::nullopt;
  }
  text.remove_prefix(kTitle.size());
  const auto beat = take_field(text, "beat");
  const auto token = take_field(text, "token");
  const auto pid = take_field(text, "pid");
  const auto start = take_field(text, "start");
  const auto kernel = take_field(text, "kernel");
  const auto host = take_field(text, "host");
  LeaseRecord record;
  if (!beat || !token || !pid || !start || !kernel || !host || !read_beat(*beat, record) ||
      !read_number(*pid, record.owner.pid) || !read_number(*start, record.owner.start) ||
      token->size() != kTokenDigits ||
      token->find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  record.token = *token;
  record.owner.kernel = *kernel;
  record.owner.host = *host;
  return record;
}

}  // namespace quantjit::cache
