// SPDX-License-Identifier: Apache-2.0
#include "src/service/metadata.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

namespace quantjit::service {

using nlohmann::json;

std::string to_metadata(const ImageInfo& info, const std::vector<std::string>& options) {
  const json metadata = {{"traits", info.traits},
                         {"arch", info.arch.to_string()},
                         {"math", to_string(info.math)},
                         {"code_kind", to_string(info.code_kind)},
                         {"options", options},
                         {"nvrtc_version", info.nvrtc_version},
                         {"nvrtc_build_id", info.nvrtc_build_id},
                         {"compile_ms", info.compile_ms},
                         {"log", info.log},
                         {"entry_points", describe_entry_points<json>(info)}};
  // NVRTC's log may quote any bytes of an overridden source.
  return metadata.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ImageInfo> from_metadata(std::string_view text) {
  try {
    const json metadata = json::parse(text);
    ImageInfo info;
    info.traits = metadata.at("traits").get<std::string>();
    info.arch = Arch::parse(metadata.at("arch").get<std::string>());
    info.math = parse_math_mode(metadata.at("math").get<std::string>());
    info.code_kind = parse_code_kind(metadata.at("code_kind").get<std::string>());
    info.nvrtc_version = metadata.at("nvrtc_version").get<std::string>();
    info.nvrtc_build_id = metadata.at("nvrtc_build_id").get<std::string>();
    info.compile_ms = metadata.at("compile_ms").get<double>();
    info.log = metadata.at("log").get<std::string>();
    for (const json& entry : metadata.at("entry_points")) {
      info.entry_points.push_back({.name = entry.at("name").get<std::string>(),
                                   .lowered_name = entry.at("lowered_name").get<std::string>(),
                                   .registers = entry.at("registers").get<int>(),
                                   .spill_bytes = entry.at("spill_bytes").get<int>(),
                                   .shared_bytes = entry.at("shared_bytes").get<int>(),
                                   .pdl_wait = entry.at("pdl_wait").get<bool>()});
    }
    return info;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace quantjit::service
