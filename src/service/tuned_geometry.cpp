// SPDX-License-Identifier: Apache-2.0
#include "src/service/tuned_geometry.hpp"

#include "src/base/log.hpp"
#include "src/base/sha256.hpp"
#include "src/service/body.hpp"
#include "src/service/geometry_table.hpp"
#include "src/service/request.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

namespace quantjit {

using nlohmann::json;

namespace service {
namespace {

constexpr std::string_view kSchema = "geometry-1";
constexpr std::string_view kNoToolchain = "0000000000000000";

GpuModel model_of(const driver::DeviceInfo& info) {
  return {info.arch, info.name, info.sm_count};
}

}  // namespace

std::string geometry_key_text(const GpuModel& model) {
  std::string text;
  append_key_field(text, "schema", kSchema);
  append_key_field(text, "arch", model.arch.to_string());
  append_key_field(text, "gpu", model.name);
  append_key_field(text, "multiprocessors", std::to_string(model.sm_count));
  return text;
}

cache::EntryKey geometry_key(std::string_view key_text) {
  return {base::to_hex(base::sha256(key_text)), std::string(kNoToolchain)};
}

std::string to_text(std::span<const GeometryRule> rules) {
  json array = json::array();
  for (const GeometryRule& rule : rules) {
    array.push_back({{"kernel", to_string(rule.kernel)},
                     {"at_most", rule.at_most},
                     {"threads", rule.threads},
                     {"blocks_per_sm", rule.blocks_per_sm},
                     {"elements", rule.elements},
                     {"block_rows", rule.block_rows},
                     {"prefetch", rule.prefetch}});
  }
  return array.dump(1);
}

std::optional<std::vector<GeometryRule>> from_text(std::string_view text) {
  try {
    std::vector<GeometryRule> rules;
    for (const json& rule : json::parse(text)) {
      rules.push_back(
          {parse_geometry_kernel(rule.at("kernel").get<std::string>()),
           rule.at("at_most").get<std::int64_t>(), rule.at("threads").get<std::uint32_t>(),
           rule.at("blocks_per_sm").get<std::uint32_t>(), rule.at("elements").get<std::uint32_t>(),
           rule.at("block_rows").get<std::uint32_t>(), rule.at("prefetch").get<bool>()});
    }
    validate(rules);
    return rules;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

cache::Entry to_entry(const GpuModel& model, std::span<const GeometryRule> rules) {
  const std::string key_text = geometry_key_text(model);
  const json metadata = {
      {"traits", "launch geometry"}, {"arch", model.arch.to_string()}, {"gpu", model.name}};
  return {geometry_key(key_text), 0, key_text,
          metadata.dump(-1, ' ', false, json::error_handler_t::replace), to_text(rules)};
}

}  // namespace service

Geometry KernelService::Body::geometry_for(const driver::DeviceInfo& info) {
  if (!options.geometry.empty()) {
    return {options.geometry, "options"};
  }
  const std::string text = service::geometry_key_text(service::model_of(info));
  const std::lock_guard lock(tuned_mutex_);
  const auto known = tuned_.find(text);
  if (known != tuned_.end()) {
    return known->second;
  }
  Geometry geometry{default_geometry(info.arch), "built in"};
  const cache::LookupResult found = store.lookup(service::geometry_key(text), text);
  if (found.found()) {
    if (auto rules = service::from_text(found.entry->code)) {
      geometry = {std::move(*rules), "tuned for " + info.name};
    } else {
      base::log_warn("the tuned launch geometry in " + found.path +
                     " is no valid table; the built-in one is used");
    }
  }
  return tuned_.emplace(text, std::move(geometry)).first->second;
}

std::vector<GeometryRule> KernelService::Body::rules_for(GeometryKernel kernel,
                                                         const driver::DeviceInfo& info) {
  std::vector<GeometryRule> rules = rules_of(geometry_for(info).rules, kernel);
  if (rules.empty()) {  // a table need not name every kernel
    const auto shipped = service::default_rules(kernel, info.arch);
    rules.assign(shipped.begin(), shipped.end());
  }
  return rules;
}

void KernelService::Body::forget_geometry() {
  {
    const std::lock_guard lock(tuned_mutex_);
    tuned_.clear();
  }
  forget_loaded();
}

Geometry KernelService::geometry(int device) {
  const driver::DriverApi& api = body_->driver();
  api.initialize();
  return body_->geometry_for(device_info(api, device));
}

std::string KernelService::store_geometry(int device, std::span<const GeometryRule> rules) {
  validate(rules);
  const driver::DriverApi& api = body_->driver();
  api.initialize();
  const driver::DeviceInfo& info = device_info(api, device);
  const cache::PublishOutcome outcome =
      body_->store.publish(service::to_entry(service::model_of(info), rules));
  body_->forget_geometry();
  return outcome.status == cache::PublishStatus::kPublished ? outcome.path : std::string{};
}

}  // namespace quantjit
