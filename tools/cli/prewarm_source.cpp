// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/prewarm_source.hpp"

#include "src/base/file.hpp"
#include "tools/cli/context.hpp"
#include "tools/cli/kernel_list.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace quantjit::cli {
namespace {

namespace fs = std::filesystem;

/// Each target once, in order of appearance.
std::vector<Arch> distinct_archs(const std::vector<std::string>& texts) {
  std::vector<Arch> distinct;
  for (const Arch& arch : parse_archs(texts)) {
    if (std::find(distinct.begin(), distinct.end(), arch) == distinct.end()) {
      distinct.push_back(arch);
    }
  }
  return distinct;
}

/// The quantization file that belongs to a config: `hf_quant_config.json` beside it, or for a
/// config under a name of its own, that name with this ending.
std::optional<std::string> read_sidecar(const fs::path& config) {
  fs::path own = config;
  own.replace_extension(".hf_quant_config.json");
  for (const fs::path& path : {own, config.parent_path() / "hf_quant_config.json"}) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      continue;
    }
    auto content = base::read_file(path);
    if (!content) {
      throw CommandFailure(path.string() + " cannot be read");
    }
    return content;
  }
  return std::nullopt;
}

models::Request request_of(const ModelOptions& options) {
  models::Request request;
  request.engine = models::parse_engine(options.engine);
  request.tp = options.tp;
  request.ep = options.ep;
  request.moe_dp = options.moe_dp;
  request.attn_tp = options.attn_tp.value_or(0);
  if (options.attn_tp && *options.attn_tp == 0) {
    throw InvalidArgument("--attn-tp", "0", "it must be positive");
  }
  request.a2a = options.a2a;
  request.moe_runner = options.moe_runner;
  request.fp8_gemm_backend = options.fp8_gemm_backend;
  request.dtype = options.dtype;
  request.quantization = options.quantization;
  request.deepgemm = options.deepgemm;
  request.shared_expert_fusion = options.shared_expert_fusion;
  request.superset = options.superset;
  return request;
}

std::vector<DerivedModel> derive_models(const ModelOptions& options,
                                        const std::vector<Arch>& archs) {
  fs::path path = options.path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    path /= "config.json";
  }
  const std::optional<std::string> config = base::read_file(path);
  if (!config) {
    throw CommandFailure("the model's config cannot be read from " + path.string());
  }
  const std::optional<std::string> sidecar = read_sidecar(path);
  models::Request request = request_of(options);
  std::vector<DerivedModel> derived;
  for (const Arch& arch : archs) {
    request.arch = arch;
    derived.push_back({arch, models::derive(*config, sidecar, request)});
  }
  return derived;
}

std::vector<PrewarmItem> distinct_items(const std::vector<PrewarmItem>& items, MathMode math) {
  KernelList distinct(math);
  for (const PrewarmItem& item : items) {
    distinct.add(item);
  }
  return distinct.items();
}

}  // namespace

PrewarmSource gather(const PrewarmOptions& options, MathMode math) {
  const std::vector<Arch> archs = distinct_archs(options.archs);
  PrewarmSource source;
  if (!options.manifest.empty()) {
    source.items = read_manifest(options.manifest, archs);
  } else if (!options.trace.empty()) {
    source.items = read_trace(options.trace, archs);
  } else {
    if (archs.empty()) {
      throw InvalidArgument("--arch", "missing", "name a target, such as sm_90a or sm_90a,sm_100a");
    }
    if (!options.model.path.empty()) {
      source.models = derive_models(options.model, archs);
    }
    for (const DerivedModel& model : source.models) {
      for (const Descriptor& descriptor : model.derivation.descriptors) {
        source.items.push_back({descriptor, model.arch});
      }
    }
    for (const std::string& text : options.traits) {
      const Descriptor descriptor = parse_descriptor(text);
      for (const Arch& arch : archs) {
        source.items.push_back({descriptor, arch});
      }
    }
  }
  source.items = distinct_items(source.items, math);
  return source;
}

}  // namespace quantjit::cli
