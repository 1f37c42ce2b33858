// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/serve_status.hpp"

#include "src/base/file.hpp"
#include "src/serve/client.hpp"
#include "tools/cli/interrupt.hpp"
#include "tools/cli/json_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace quantjit::cli {
namespace {

constexpr std::chrono::seconds kTimeout{5};
constexpr double kInterval = 2;
constexpr int kLookMs = 50;

/// What was counted at the last report.
struct Before {
  double answered = 0;
  double uptime_s = 0;
};

const Value* find(const Value& value, std::string_view name) {
  if (const auto* const object = std::get_if<Value::Object>(&value.content())) {
    for (const auto& [member, content] : *object) {
      if (member == name) {
        return &content;
      }
    }
  }
  return nullptr;
}

/// A number at a path such as "queue.waiting"; 0 if there is none.
double number_at(const Value& report, std::string_view path) {
  const Value* at = &report;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = find(*at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  if (at == nullptr) {
    return 0;
  }
  const Value::Content& content = at->content();
  if (const auto* const integer = std::get_if<std::int64_t>(&content)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const natural = std::get_if<std::uint64_t>(&content)) {
    return static_cast<double>(*natural);
  }
  const auto* const real = std::get_if<double>(&content);
  return real != nullptr ? *real : 0;
}

/// As a terminal may see it, whoever wrote it.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string text_at(const Value& report, std::string_view name) {
  const Value* const at = find(report, name);
  const auto* const text = at != nullptr ? std::get_if<std::string>(&at->content()) : nullptr;
  return text != nullptr ? printable(*text) : std::string();
}

std::string answers_by_status(const Value& report) {
  std::string list;
  const Value* const answers = find(report, "answers");
  const auto* const routes =
      answers != nullptr ? std::get_if<Value::Object>(&answers->content()) : nullptr;
  if (routes == nullptr) {
    return list;
  }
  for (const auto& [route, statuses] : *routes) {
    if (const auto* const counts = std::get_if<Value::Object>(&statuses.content())) {
      for (const auto& [status, count] : *counts) {
        list += fmt::format("  {:<14} {}  {:.0f}\n", printable(route), printable(status),
                            number_at(statuses, status));
      }
    }
  }
  return list;
}

std::string describe(const Value& report, const Before& before) {
  const auto of = [&report](std::string_view path) { return number_at(report, path); };
  const double answered = of("answered");
  const double seconds = of("uptime_s") - before.uptime_s;
  std::string text =
      fmt::format("quantjit {} {}, up {:.0f} s, {:.1f} MiB\n", text_at(report, "version"),
                  text_at(report, "state"), of("uptime_s"), of("resident_bytes") / (1 << 20));
  text += fmt::format("answered {:.0f}, {:.1f} a second\n", answered,
                      seconds > 0 ? (answered - before.answered) / seconds : 0.0);
  text += answers_by_status(report);
  text += fmt::format("compile requests: half within {:g} s, 99 of 100 within {:g} s\n",
                      of("compile_request_s.p50"), of("compile_request_s.p99"));
  text += fmt::format(
      "compiles: {:.0f} running of {:.0f}, {:.0f} waiting of {:.0f}; {:.0f} done, "
      "{:.0f} failed, {:.0f} joined\n",
      of("queue.running"), of("queue.jobs"), of("queue.waiting"), of("queue.limit"),
      of("service.compiles"), of("service.compile_failures"), of("joined"));
  text += fmt::format(
      "cache: {:.0f} hits on disk, {:.0f} in memory, {:.0f} in remote tiers; {:.0f} bad entries, "
      "{:.0f} not stored\n",
      of("service.disk_hits"), of("service.memory_hits"), of("service.remote_hits"),
      of("service.rejected_entries"), of("service.publish_failures"));
  text += fmt::format("connections: {:.0f} of {:.0f}; {:.0f} were too slow, {:.0f} made room",
                      of("connections.open"), of("connections.limit"), of("connections.timed_out"),
                      of("connections.crowded_out"));
  return text;
}

std::string read_token(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  const std::optional<std::string> text = base::read_file(path);
  const std::string token = text ? text->substr(0, text->find_first_of(" \t\r\n")) : std::string();
  if (token.empty()) {
    throw InvalidArgument("--token-file", "\"" + path + "\"",
                          "it must be a readable file that begins with a token");
  }
  return token;
}

/// Address of the report; users may name the service as clients do.
std::string report_url(std::string url) {
  if (url.starts_with("qj+")) {
    url.erase(0, 3);
  }
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw InvalidArgument("--status", "\"" + url + "\"", "it must begin with http:// or https://");
  }
  if (url.find('@') != std::string::npos) {
    throw InvalidArgument("--status", "malformed",
                          "it must hold no user or password; services ask for --token-file");
  }
  while (url.ends_with('/')) {
    url.pop_back();
  }
  return url + "/v1/status";
}

}  // namespace

int report_status(Context& context, const ServeOptions& options) {
  Console& console = context.console;
  const std::string url = report_url(options.status);
  const std::string token = read_token(options.token_file);
  const bool refreshes = !console.json() && ::isatty(STDOUT_FILENO) == 1;
  const double interval = refreshes ? options.interval.value_or(kInterval) : 0;
  const Interrupt interrupt;
  Before before;
  for (bool first = true; !Interrupt::raised(); first = false) {
    const Value report = from_json(serve::fetch(url, token, kTimeout));
    if (find(report, "uptime_s") == nullptr) {
      throw CommandFailure(url + " is no report of a quantjit service");
    }
    // Home, and what is below is erased: the report stays in its place.
    console.line((first ? "" : "\033[H\033[J") + describe(report, before));
    console.document(report);
    before = {number_at(report, "answered"), number_at(report, "uptime_s")};
    const auto next = std::chrono::steady_clock::now() +
                      std::chrono::milliseconds(static_cast<std::int64_t>(interval * 1000));
    if (interval <= 0) {
      return 0;
    }
    console.flush();
    while (!Interrupt::raised() && std::chrono::steady_clock::now() < next) {
      ::poll(nullptr, 0, kLookMs);
    }
  }
  return 0;
}

}  // namespace quantjit::cli
