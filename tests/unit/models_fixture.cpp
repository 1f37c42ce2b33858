// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/models_fixture.hpp"

#include "src/base/file.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

namespace quantjit::test {
namespace {

const std::filesystem::path kDirectory = QUANTJIT_MODEL_DIRECTORY;

std::string group_text(const std::string& keys) {
  return to_text(
      parse_descriptor("per_token_group_quant:in=bf16,out=e4m3,group=128," + keys).traits);
}

std::string text_of(const std::string& name) {
  static const std::map<std::string, std::string> kTexts{
      {"T1", group_text("scale=f32,layout=col")},
      {"T2", group_text("scale=f32,layout=row")},
      {"T3", group_text("scale=f32,layout=col,silu=true,schedule=masked")},
      {"P", group_text("scale=ue8m0,layout=col")},
      {"PS", group_text("scale=ue8m0,layout=col,silu=true,schedule=masked")},
      {"PT", to_text(parse_descriptor("per_token_quant:in=bf16,out=e4m3").traits)},
  };
  return kTexts.at(name);
}

}  // namespace

std::string model_file(const std::string& name) {
  auto content = base::read_file(kDirectory / name);
  INFO(name);
  REQUIRE(content.has_value());
  return *content;
}

models::Derivation derive_model(const std::string& name, const models::Request& request) {
  const std::string config = model_file(name + ".json");
  if (std::filesystem::exists(kDirectory / (name + ".hf_quant_config.json"))) {
    return models::derive(config, model_file(name + ".hf_quant_config.json"), request);
  }
  return models::derive(config, std::nullopt, request);
}

models::Request sglang(const std::string& arch, std::int64_t tp, std::int64_t ep) {
  models::Request request;
  request.arch = Arch::parse(arch);
  request.tp = tp;
  request.ep = ep;
  return request;
}

models::Request vllm(const std::string& arch, std::int64_t tp, std::int64_t ep) {
  models::Request request = sglang(arch, tp, ep);
  request.engine = models::Engine::kVllm;
  return request;
}

std::set<std::string> texts(std::initializer_list<const char*> names) {
  std::set<std::string> result;
  for (const char* const name : names) {
    result.insert(text_of(name));
  }
  return result;
}

std::set<std::string> texts(const models::Derivation& derivation) {
  std::set<std::string> result;
  for (const Descriptor& descriptor : derivation.descriptors) {
    CHECK(result.insert(to_text(descriptor.traits)).second);
  }
  return result;
}

bool has_site(const models::Derivation& derivation, const std::string& name) {
  return std::any_of(derivation.sites.begin(), derivation.sites.end(),
                     [&](const models::Site& candidate) { return candidate.name == name; });
}

models::Site site(const models::Derivation& derivation, const std::string& name) {
  for (const models::Site& candidate : derivation.sites) {
    if (candidate.name == name) {
      return candidate;
    }
  }
  FAIL("no site " << name);
  return {};
}

bool mentions(const std::vector<std::string>& list, const std::string& text) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& element) {
    return element.find(text) != std::string::npos;
  });
}

}  // namespace quantjit::test
