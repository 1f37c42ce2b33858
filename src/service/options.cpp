// SPDX-License-Identifier: Apache-2.0
#include "cache/options.hpp"

#include "src/base/log.hpp"
#include "src/base/settings.hpp"
#include "src/remote/url.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

#include <sstream>

namespace quantjit {
namespace {

/// Calls `parse` with the variable's value, if it is set and not empty, and names the variable in
/// what it throws.
template <typename Parse>
void read_setting(const char* variable, Parse parse) {
  const std::optional<std::string> value = base::environment(variable);
  if (!value || value->empty()) {
    return;
  }
  try {
    parse(*value);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(variable, "\"" + *value + "\"", error.rule());
  }
}

CapturePolicy parse_capture_policy(const std::string& text) {
  if (text == "error") {
    return CapturePolicy::kError;
  }
  if (text == "load") {
    return CapturePolicy::kLoad;
  }
  throw InvalidArgument("capture policy", text, "it must be error or load");
}

bool parse_on_off(const std::string& text) {
  if (text == "on" || text == "off") {
    return text == "on";
  }
  throw InvalidArgument("switch", text, "it must be on or off");
}

std::vector<std::string> paths_of(const std::vector<cache::RootSpec>& roots) {
  std::vector<std::string> paths;
  paths.reserve(roots.size());
  for (const cache::RootSpec& root : roots) {
    paths.push_back(root.path);
  }
  return paths;
}

/// As read_setting(), but no message repeats the value: it may hold a password.
std::vector<std::string> read_remote() {
  const std::string value = base::environment("QUANTJIT_REMOTE").value_or("");
  try {
    static_cast<void>(remote::parse_remote(value));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("QUANTJIT_REMOTE",
                          "not usable: " + error.parameter() + " is " + error.value(),
                          error.rule());
  }
  std::vector<std::string> tiers;
  std::istringstream words(value);
  for (std::string word; words >> word;) {
    tiers.push_back(word);
  }
  return tiers;
}

}  // namespace

std::vector<std::string> default_cache_roots() {
  const auto root =
      cache::default_root(base::environment("XDG_CACHE_HOME"), base::environment("HOME"));
  return root ? std::vector<std::string>{*root} : std::vector<std::string>{};
}

ServiceOptions ServiceOptions::from_environment() {
  ServiceOptions options;
  read_setting("QUANTJIT_LOG_LEVEL",
               [](const std::string& v) { base::set_log_level(base::parse_log_level(v)); });
  read_setting("QUANTJIT_CACHE_DIR", [&](const std::string& v) {
    options.cache_roots = paths_of(cache::parse_roots(v));
  });
  read_setting("QUANTJIT_CACHE_SHARED", [&](const std::string& v) {
    for (const cache::RootSpec& root : cache::parse_shared_roots(v)) {
      options.shared_roots.push_back({root.path, root.mac_key_file});
    }
  });
  read_setting("QUANTJIT_CACHE_MAX_SIZE",
               [&](const std::string& v) { options.cache_max_bytes = cache::parse_size(v); });
  read_setting("QUANTJIT_KERNEL_DIR", [&](const std::string& v) { options.kernel_dir = v; });
  read_setting("QUANTJIT_NVRTC", [&](const std::string& v) { options.nvrtc = v; });
  read_setting("QUANTJIT_CUDA_DRIVER", [&](const std::string& v) { options.cuda_driver = v; });
  read_setting("QUANTJIT_MATH", [&](const std::string& v) { options.math = parse_math_mode(v); });
  read_setting("QUANTJIT_CODE", [&](const std::string& v) { options.code = parse_code_kind(v); });
  read_setting("QUANTJIT_CAPTURE_POLICY",
               [&](const std::string& v) { options.capture_policy = parse_capture_policy(v); });
  read_setting("QUANTJIT_JIT", [&](const std::string& v) { options.jit = parse_on_off(v); });
  read_setting("QUANTJIT_RECORD", [&](const std::string& v) { options.record = v; });
  options.remote = read_remote();
  return options;
}

}  // namespace quantjit
