// SPDX-License-Identifier: Apache-2.0
#include "src/capi/options.hpp"

#include "src/capi/text.hpp"

#include <quantjit/error.hpp>

#include <string>
#include <string_view>

namespace quantjit::capi {
namespace {

/// True for the second of two words. Throws: InvalidArgument for any other text.
bool is_second(const qj_text& text, const char* name, std::string_view first,
               std::string_view second) {
  const std::string_view value = view_of(text, name);
  if (value != first && value != second) {
    throw InvalidArgument(name, "\"" + std::string(value.substr(0, 40)) + "\"",
                          "it must be " + std::string(first) + " or " + std::string(second));
  }
  return value == second;
}

void read_roots(const qj_service_options& from, ServiceOptions& to) {
  const auto roots = array_of(from.cache_roots, from.num_cache_roots, "options.cache_roots");
  const auto shared = array_of(from.shared_roots, from.num_shared_roots, "options.shared_roots");
  if (from.memory_only != 0) {
    if (!roots.empty() || !shared.empty()) {
      throw InvalidArgument("options.memory_only", "1", "with it there may be no cache roots");
    }
    to.cache_roots.emplace();
    to.shared_roots.clear();
    return;
  }
  if (!roots.empty()) {
    to.cache_roots.emplace();
    for (const qj_text& root : roots) {
      to.cache_roots->emplace_back(view_of(root, "options.cache_roots"));
    }
  }
  if (!shared.empty()) {
    to.shared_roots.clear();
    for (const qj_shared_root& root : shared) {
      to.shared_roots.push_back({std::string(view_of(root.root, "options.shared_roots")),
                                 std::string(view_of(root.key_file, "options.shared_roots"))});
    }
  }
}

void read_remote(const qj_service_options& from, ServiceOptions& to) {
  const auto remote = array_of(from.remote, from.num_remote, "options.remote");
  if (!remote.empty()) {
    to.remote.clear();
    for (const qj_text& tier : remote) {
      to.remote.emplace_back(view_of(tier, "options.remote"));
    }
  }
}

}  // namespace

ServiceOptions options_of(const qj_service_options* options) {
  if (options == nullptr) {
    return ServiceOptions::from_environment();
  }
  const qj_service_options from = read_struct(options, "options");
  ServiceOptions to =
      from.ignore_environment != 0 ? ServiceOptions{} : ServiceOptions::from_environment();
  read_roots(from, to);
  if (from.cache_max_bytes != 0) {
    to.cache_max_bytes = from.cache_max_bytes;
  }
  if (from.kernel_dir.size != 0) {
    to.kernel_dir = view_of(from.kernel_dir, "options.kernel_dir");
  }
  if (from.nvrtc.size != 0) {
    to.nvrtc = view_of(from.nvrtc, "options.nvrtc");
  }
  if (from.cuda_driver.size != 0) {
    to.cuda_driver = view_of(from.cuda_driver, "options.cuda_driver");
  }
  if (from.math.size != 0) {
    to.math = parse_math_mode(view_of(from.math, "options.math"));
  }
  if (from.code.size != 0) {
    to.code = parse_code_kind(view_of(from.code, "options.code"));
  }
  if (from.capture_policy.size != 0) {
    to.capture_policy = is_second(from.capture_policy, "options.capture_policy", "error", "load")
                            ? CapturePolicy::kLoad
                            : CapturePolicy::kError;
  }
  if (from.jit.size != 0) {
    to.jit = is_second(from.jit, "options.jit", "off", "on");
  }
  if (from.record.size != 0) {
    to.record = view_of(from.record, "options.record");
  }
  read_remote(from, to);
  return to;
}

}  // namespace quantjit::capi
