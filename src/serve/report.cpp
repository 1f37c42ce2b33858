// SPDX-License-Identifier: Apache-2.0
#include "src/serve/report.hpp"

#include "src/base/exposition.hpp"
#include "src/base/file.hpp"
#include "src/serve/reply.hpp"

#include <quantjit/metrics.hpp>
#include <quantjit/version.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <numeric>
#include <optional>
#include <unistd.h>

namespace quantjit::serve {
namespace {

using Json = nlohmann::ordered_json;
using Kind = base::Exposition::Kind;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Physical memory of this process in bytes.
std::uint64_t resident_bytes() {
  const std::optional<std::string> text = base::read_file("/proc/self/statm");
  const std::size_t blank = text ? text->find(' ') : std::string::npos;
  if (blank == std::string::npos) {
    return 0;
  }
  return std::strtoull(text->c_str() + blank, nullptr, 10) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Upper end of the range that the q-th part of all times ends in; 0 if there are none, and the
/// last bound for what lies beyond.
double quantile(const base::TimeHistogram& times, double q) {
  const base::TimeHistogram::Counts counts = times.counts();
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ULL));
  double before = 0;
  for (std::size_t i = 0; i < base::TimeHistogram::kBounds.size() && total > 0; ++i) {
    before += static_cast<double>(counts[i]);
    if (before >= q * total) {
      return base::TimeHistogram::kBounds[i];
    }
  }
  return total > 0 ? base::TimeHistogram::kBounds.back() : 0;
}

Json describe(const std::vector<RemoteTierStats>& tiers) {
  Json list = Json::array();
  for (const RemoteTierStats& tier : tiers) {
    list.push_back({{"label", tier.label},
                    {"benched", tier.benched},
                    {"hits", tier.hits},
                    {"misses", tier.misses},
                    {"failures", tier.failures},
                    {"rejected", tier.rejected},
                    {"puts", tier.puts},
                    {"put_failures", tier.put_failures},
                    {"last_error", tier.last_error}});
  }
  return list;
}

}  // namespace

std::string_view route_name(Route route) {
  switch (route) {
    case Route::kCompile: return "/v1/compile";
    case Route::kEntries: return "/v1/entries";
    case Route::kHealth: return "/healthz";
    case Route::kMetrics: return "/metrics";
    case Route::kStatus: return "/v1/status";
    case Route::kOther: break;
  }
  return "other";
}

Reply text_reply(std::string type, std::string text) {
  return {.status = 200,
          .type = std::move(type),
          .body = std::make_shared<const std::string>(std::move(text)),
          .headers = {}};
}

Reply error_reply(unsigned status, std::string_view type, std::string_view message,
                  std::string_view log) {
  Json error{{"type", type}, {"message", message}};
  if (!log.empty()) {
    error["log"] = log;
  }
  Json document;
  document["error"] = std::move(error);
  Reply reply = text_reply("application/json", dump(document));
  reply.status = status;
  return reply;
}

std::string metrics_text(const State& state) {
  const Counters& counters = state.counters;
  base::Exposition text;
  text.family("quantjit_serve_answers_total", Kind::kCounter,
              "Requests that were answered, by path and status code.");
  for (const auto& [of, count] : counters.answers()) {
    const std::string code = std::to_string(of.second);
    text.sample(count, {{"path", route_name(of.first)}, {"code", code}});
  }
  const base::TimeHistogram& times = counters.times(Route::kCompile);
  text.family("quantjit_serve_compile_request_seconds", Kind::kHistogram,
              "Time of POST /v1/compile, from its head to the end of the answer.");
  text.histogram(base::TimeHistogram::kBounds, times.counts(), times.seconds());
  const auto read = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  text.counter("quantjit_serve_joined_total", "Requests answered by another one's compile.",
               read(counters.joined));
  text.counter("quantjit_serve_source_compiles_total", "Kernels that clients sent.",
               read(counters.source_compiles));
  text.counter("quantjit_serve_lost_total", "Requests whose client was gone before the answer.",
               read(counters.lost));
  text.counter("quantjit_serve_connections_total", "Connections that were accepted.",
               state.connections.opened);
  text.counter("quantjit_serve_timeouts_total", "Connections ended because the client was slow.",
               state.connections.timed_out);
  text.counter("quantjit_serve_crowded_out_total",
               "Idle connections ended to make room for others.", state.connections.crowded_out);
  text.gauge("quantjit_serve_connections", "Connections now.",
             static_cast<double>(state.connections.open));
  text.gauge("quantjit_serve_compiles_waiting", "Compiles that wait for their turn.",
             static_cast<double>(state.queue.waiting));
  text.gauge("quantjit_serve_compiles_running", "Compiles under way.",
             static_cast<double>(state.queue.running));
  text.gauge("quantjit_serve_draining", "Whether the service is about to end.",
             state.draining ? 1 : 0);
  text.gauge("quantjit_serve_resident_bytes", "Physical memory of the process.",
             static_cast<double>(resident_bytes()));
  return prometheus_text(state.service) + text.take();
}

std::string status_json(const State& state) {
  const ServiceStats stats = state.service.stats();
  Json answers = Json::object();
  std::uint64_t total = 0;
  for (const auto& [of, count] : state.counters.answers()) {
    answers[std::string(route_name(of.first))][std::to_string(of.second)] = count;
    total += count;
  }
  const base::TimeHistogram& times = state.counters.times(Route::kCompile);
  return dump(
      {{"version", kVersion},
       {"state", state.draining ? "draining" : "serving"},
       {"uptime_s", state.uptime_s},
       {"resident_bytes", resident_bytes()},
       {"answered", total},
       {"answers", std::move(answers)},
       {"joined", state.counters.joined.load(std::memory_order_relaxed)},
       {"lost", state.counters.lost.load(std::memory_order_relaxed)},
       {"compile_request_s", {{"p50", quantile(times, 0.5)}, {"p99", quantile(times, 0.99)}}},
       {"connections",
        {{"open", state.connections.open},
         {"limit", state.options.max_connections},
         {"timed_out", state.connections.timed_out},
         {"crowded_out", state.connections.crowded_out}}},
       {"queue",
        {{"jobs", state.jobs},
         {"running", state.queue.running},
         {"waiting", state.queue.waiting},
         {"limit", state.options.queue}}},
       {"service",
        {{"requests", stats.requests},
         {"memory_hits", stats.memory_hits},
         {"disk_hits", stats.disk_hits},
         {"remote_hits", stats.remote_hits},
         {"compiles", stats.compiles},
         {"compile_failures", stats.compile_failures},
         {"rejected_entries", stats.rejected_entries},
         {"publish_failures", stats.publish_failures},
         {"nvrtc_loaded", stats.nvrtc_loaded}}},
       {"remote", describe(state.service.remote_stats())}});
}

}  // namespace quantjit::serve
