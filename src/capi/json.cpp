// SPDX-License-Identifier: Apache-2.0
#include "src/capi/json.hpp"

#include "src/service/metadata.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>

#include <nlohmann/json.hpp>

namespace quantjit::capi {
namespace {

using Json = nlohmann::ordered_json;

/// Texts from outside (paths, logs) may hold any bytes.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json describe(const ImageInfo& info, std::size_t code_bytes) {
  return {{"traits", info.traits},
          {"arch", info.arch.to_string()},
          {"key", info.key},
          {"math", to_string(info.math)},
          {"code_kind", to_string(info.code_kind)},
          {"nvrtc", info.nvrtc_version},
          {"nvrtc_build_id", info.nvrtc_build_id},
          {"path", info.path},
          {"toolchain_match", info.toolchain_match},
          {"compile_ms", info.compile_ms},
          {"code_bytes", code_bytes},
          {"entry_points", service::describe_entry_points<Json>(info)},
          {"log", info.log}};
}

}  // namespace

std::string error_json(qj_status status, const std::exception& error) {
  Json json{{"status", qj_status_name(status)}, {"message", error.what()}};
  if (const auto* const argument = dynamic_cast<const InvalidArgument*>(&error)) {
    json["parameter"] = argument->parameter();
    json["value"] = argument->value();
    json["rule"] = argument->rule();
  } else if (const auto* const compile = dynamic_cast<const CompileError*>(&error)) {
    const CompileError::Details& details = compile->details();
    json["traits"] = details.traits;
    json["arch"] = details.arch;
    json["options"] = details.options;
    json["nvrtc_path"] = details.nvrtc_path;
    json["nvrtc_version"] = details.nvrtc_version;
    json["log"] = details.log;
  } else if (const auto* const driver = dynamic_cast<const DriverError*>(&error)) {
    json["api"] = driver->api();
    json["code"] = driver->code();
    json["name"] = driver->name();
  }
  return dump(json);
}

std::string operations_json(const std::vector<OpInfo>& operations) {
  Json list = Json::array();
  for (const OpInfo& operation : operations) {
    Json keys = Json::array();
    for (const KeyInfo& key : operation.keys) {
      keys.push_back({{"key", key.key}, {"values", key.values}, {"rule", key.rule}});
    }
    list.push_back(
        {{"op", operation.op}, {"summary", operation.summary}, {"keys", std::move(keys)}});
  }
  Json json;
  json["operations"] = std::move(list);
  return dump(json);
}

std::string stats_json(const ServiceStats& stats) {
  return dump({{"requests", stats.requests},
               {"memory_hits", stats.memory_hits},
               {"disk_hits", stats.disk_hits},
               {"compiles", stats.compiles},
               {"compile_failures", stats.compile_failures},
               {"waits", stats.waits},
               {"loads", stats.loads},
               {"rejected_entries", stats.rejected_entries},
               {"publish_failures", stats.publish_failures},
               {"sealed_misses", stats.sealed_misses},
               {"capture_misses", stats.capture_misses},
               {"nvrtc_loaded", stats.nvrtc_loaded},
               {"remote_hits", stats.remote_hits},
               {"remote_misses", stats.remote_misses},
               {"remote_failures", stats.remote_failures},
               {"remote_rejected", stats.remote_rejected},
               {"remote_puts", stats.remote_puts},
               {"remote_put_failures", stats.remote_put_failures},
               {"remote_dropped", stats.remote_dropped},
               {"remote_benched", stats.remote_benched},
               {"fleet_waits", stats.fleet_waits},
               {"service_compiles", stats.service_compiles}});
}

std::string remote_stats_json(const std::vector<RemoteTierStats>& tiers) {
  Json list = Json::array();
  for (const RemoteTierStats& tier : tiers) {
    list.push_back({{"label", tier.label},
                    {"writable", tier.writable},
                    {"leases", tier.leases},
                    {"compiles", tier.compiles},
                    {"benched", tier.benched},
                    {"hits", tier.hits},
                    {"misses", tier.misses},
                    {"failures", tier.failures},
                    {"rejected", tier.rejected},
                    {"puts", tier.puts},
                    {"put_failures", tier.put_failures},
                    {"dropped", tier.dropped},
                    {"skipped", tier.skipped},
                    {"waits", tier.waits},
                    {"service_compiles", tier.service_compiles},
                    {"bytes_read", tier.bytes_read},
                    {"bytes_written", tier.bytes_written},
                    {"last_error", tier.last_error}});
  }
  Json json;
  json["tiers"] = std::move(list);
  return dump(json);
}

std::string device_stats_json(const DeviceStats& stats) {
  return dump({{"requests", stats.requests},
               {"memory_hits", stats.memory_hits},
               {"loads", stats.loads},
               {"load_failures", stats.load_failures},
               {"evictions", stats.evictions},
               {"loaded_kernels", stats.loaded_kernels}});
}

std::string device_json(const DeviceReport& device) {
  return dump({{"ordinal", device.ordinal},
               {"name", device.name},
               {"arch", device.arch.to_string()},
               {"sm_count", device.sm_count},
               {"memory_bytes", device.memory_bytes},
               {"driver_version", device.driver_version},
               {"simulated", device.simulated},
               {"devices", device.devices}});
}

std::string explanation_json(const Explanation& explanation) {
  Json nearest;
  if (!explanation.nearest_key.empty()) {
    Json differs = Json::array();
    for (const Explanation::Difference& difference : explanation.differs) {
      differs.push_back({{"field", difference.field},
                         {"wanted", difference.wanted},
                         {"found", difference.found}});
    }
    nearest = {{"key", explanation.nearest_key}, {"differs", std::move(differs)}};
  }
  return dump({{"traits", explanation.traits},
               {"arch", explanation.arch.to_string()},
               {"key", explanation.key},
               {"hit", explanation.hit},
               {"path", explanation.path},
               {"nearest", std::move(nearest)}});
}

std::string prewarm_json(const PrewarmReport& report) {
  Json failed = Json::array();
  for (const PrewarmReport::Failure& failure : report.failures) {
    failed.push_back({{"traits", failure.traits},
                      {"arch", failure.arch.to_string()},
                      {"error", failure.error},
                      {"log", failure.log}});
  }
  return dump({{"requested", report.requested},
               {"hits", report.hits},
               {"compiled", report.compiled},
               {"failed", std::move(failed)},
               {"loaded", report.loaded},
               {"jobs", report.jobs},
               {"cancelled", report.cancelled},
               {"seconds", report.seconds}});
}

std::string kernel_json(const ImageInfo& info, std::size_t code_bytes, int device) {
  Json json = describe(info, code_bytes);
  json["device"] = device;
  return dump(json);
}

std::string image_json(const ImageInfo& info, std::size_t code_bytes, ImageSource source) {
  Json json = describe(info, code_bytes);
  json["source"] = to_string(source);
  return dump(json);
}

}  // namespace quantjit::capi
