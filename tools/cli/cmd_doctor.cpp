// SPDX-License-Identifier: Apache-2.0
#include "src/base/settings.hpp"
#include "src/driver/device.hpp"
#include "src/driver/driver_api.hpp"
#include "src/serve/server.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/image_report.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/diagnose.hpp>
#include <quantjit/version.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quantjit::cli {
namespace {

struct KnownSetting {
  const char* variable;
  const char* fallback;
};

constexpr KnownSetting kSettings[] = {
    {"QUANTJIT_CACHE_DIR", "$XDG_CACHE_HOME/quantjit or ~/.cache/quantjit"},
    {"QUANTJIT_CACHE_SHARED", "none"},
    {"QUANTJIT_CACHE_MAX_SIZE", "2G"},
    {"QUANTJIT_KERNEL_DIR", "embedded"},
    {"QUANTJIT_NVRTC", "searched"},
    {"QUANTJIT_CUDA_DRIVER", "libcuda.so.1"},
    {"QUANTJIT_LOG_LEVEL", "warn"},
    {"QUANTJIT_MATH", "auto"},
    {"QUANTJIT_CODE", "auto"},
    {"QUANTJIT_CAPTURE_POLICY", "error"},
    {"QUANTJIT_JIT", "on"},
    {"QUANTJIT_RECORD", "none"},
    {"QUANTJIT_REMOTE", "none"},
};

struct DriverReport {
  std::string path;
  int version = 0;
  bool wants_ptx = false;
  std::string problem;
  std::vector<driver::DeviceInfo> devices;
};

struct ProbeReport {
  bool done = false;
  std::string arch;
  double milliseconds = 0;
  std::string problem;
};

struct Report {
  DriverReport driver;
  Diagnosis diagnosis;
  CacheStats cache;
  std::vector<RemoteDiagnosis> remote;
  ProbeReport probe;
  std::string code;
  std::string verdict;
  bool usable = false;
};

DriverReport look_at_driver(const ServiceOptions& options) {
  DriverReport report;
  try {
    const driver::DriverApi& api = driver::DriverApi::load(options.cuda_driver.value_or(""));
    report.path = api.path();
    report.version = api.version();
    report.wants_ptx = api.wants_ptx();
    api.initialize();
    for (int i = 0; i < driver::device_count(api); ++i) {
      report.devices.push_back(driver::device_info(api, i));
    }
  } catch (const DriverError& error) {
    report.problem = error.what();
  }
  return report;
}

ProbeReport probe(KernelService& service, const DriverReport& driver) {
  const Arch arch = driver.devices.empty() ? Arch{} : driver.devices.front().arch;
  ProbeReport report{.done = true, .arch = arch.to_string(), .milliseconds = 0, .problem = {}};
  try {
    report.milliseconds = service.compile(Descriptor{}, arch).info().compile_ms;
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

std::string code_text(const ServiceOptions& options, const DriverReport& driver) {
  if (options.code != CodeKind::kAuto) {
    return std::string(to_string(options.code)) + " (as set)";
  }
  return driver.wants_ptx ? "ptx (the driver library asks for it)"
                          : "cubin (PTX for a GPU newer than NVRTC knows)";
}

bool answers(const RemoteDiagnosis& remote) {
  return std::all_of(remote.problems.begin(), remote.problems.end(),
                     [](const std::string& problem) { return problem.empty(); });
}

/// Whether any kernel can be served here, and the one sentence that says why.
void judge(const ServiceOptions& options, Report& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::string problem;
  if (!options.jit) {
    problem = "compiling is off (QUANTJIT_JIT)";
  } else if (!diagnosis.kernel_sources_problem.empty()) {
    problem = diagnosis.kernel_sources_problem;
  } else if (!report.probe.problem.empty()) {
    problem = report.probe.problem;
  } else {
    problem = diagnosis.nvrtc.problem;
  }
  problem = problem.substr(0, problem.find('\n'));
  const bool shared = std::any_of(report.remote.begin(), report.remote.end(), answers);
  report.usable = problem.empty() || report.cache.entries > 0 || shared;
  if (problem.empty()) {
    report.verdict = "ready: kernels are compiled when they are needed";
  } else if (shared) {
    report.verdict = fmt::format(
        "usable: {} cached kernels can be loaded, and others come from remote tiers; {}",
        report.cache.entries, problem);
  } else if (report.usable) {
    report.verdict =
        fmt::format("usable: {} cached kernels can be loaded, nothing new can be compiled: {}",
                    report.cache.entries, problem);
  } else {
    report.verdict = "not usable: the cache is empty; " + problem;
  }
}

std::string origin_of(const Context& context, const std::string& variable) {
  for (const SettingChoice& choice : context.global.settings) {
    if (choice.variable == variable) {
      return "option";
    }
  }
  const std::optional<std::string> value = base::environment(variable.c_str());
  return value && !value->empty() ? "environment" : "default";
}

std::string value_of(const KnownSetting& setting) {
  const std::optional<std::string> value = base::environment(setting.variable);
  if (value && !value->empty() && setting.variable == std::string_view("QUANTJIT_REMOTE")) {
    return "(set)";  // it may hold passwords
  }
  return value && !value->empty() ? *value : setting.fallback;
}

Value describe(const RemoteDiagnosis& remote) {
  return Value::Object{
      {"label", remote.tier.label},
      {"reachable", answers(remote)},
      {"writable", remote.tier.writable},
      {"leases", remote.tier.leases},
      {"compiles", remote.tier.compiles},
      {"problems",
       array_of(remote.problems, [](const std::string& problem) -> Value { return problem; })}};
}

Value describe(const DriverReport& driver) {
  return Value::Object{
      {"path", driver.path},
      {"version", driver.version == 0 ? std::string() : driver::version_text(driver.version)},
      {"wants_ptx", driver.wants_ptx},
      {"problem", driver.problem},
      {"gpus", array_of(driver.devices, [](const driver::DeviceInfo& gpu) -> Value {
         return Value::Object{{"ordinal", gpu.ordinal},
                              {"name", gpu.name},
                              {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                              {"arch", gpu.arch.to_string()},
                              {"sm_count", gpu.sm_count},
                              {"l2_bytes", gpu.l2_bytes},
                              {"memory_bytes", gpu.memory_bytes}};
       })}};
}

Value describe(const Diagnosis::Nvrtc& nvrtc) {
  return Value::Object{
      {"path", nvrtc.path},
      {"origin", nvrtc.origin},
      {"build_id", nvrtc.identity},
      {"build_id_is_hash", nvrtc.identity_is_hash},
      {"builtins", nvrtc.builtins},
      {"version", nvrtc.version},
      {"archs", array_of(nvrtc.archs, [](const Arch& arch) -> Value { return arch.to_string(); })},
      {"problem", nvrtc.problem}};
}

Value describe_settings(const Context& context) {
  return array_of(kSettings, [&](const KnownSetting& setting) -> Value {
    return Value::Object{{"name", setting.variable},
                         {"value", value_of(setting)},
                         {"origin", origin_of(context, setting.variable)}};
  });
}

Value describe(const Context& context, const Report& report) {
  Value probe;
  if (report.probe.done) {
    probe = Value::Object{{"arch", report.probe.arch},
                          {"compile_ms", report.probe.milliseconds},
                          {"problem", report.probe.problem}};
  }
  const std::optional<std::string> simulator = find_simulator();
  return Value::Object{
      {"version", kVersion},
      {"usable", report.usable},
      {"verdict", report.verdict},
      {"driver", describe(report.driver)},
      {"simulated_device", simulator.value_or("")},
      {"nvrtc", describe(report.diagnosis.nvrtc)},
      {"probe", std::move(probe)},
      {"kernel_sources", report.diagnosis.kernel_sources},
      {"code", report.code},
      {"cache", Value::Object{{"entries", report.cache.entries},
                              {"bytes", report.cache.bytes},
                              {"max_bytes", report.cache.max_bytes},
                              {"roots", array_of(report.cache.roots, root_value)}}},
      {"remote",
       array_of(report.remote, [](const RemoteDiagnosis& remote) { return describe(remote); })},
      {"features", array_of(report.diagnosis.features,
                            [](const Feature& feature) -> Value {
                              return Value::Object{{"name", feature.name},
                                                   {"available", feature.available},
                                                   {"detail", feature.detail}};
                            })},
      {"settings", describe_settings(context)}};
}

void print_driver(Console& console, const DriverReport& driver) {
  if (!driver.path.empty()) {
    console.line(
        fmt::format("driver    {} (CUDA {})", driver.path, driver::version_text(driver.version)));
  }
  if (!driver.problem.empty()) {
    console.line("driver    " + driver.problem);
  }
  for (const driver::DeviceInfo& gpu : driver.devices) {
    console.line(fmt::format("gpu:{}     {}, {}, {} SMs, {} MiB", gpu.ordinal, gpu.name,
                             gpu.arch.to_string(), gpu.sm_count, gpu.memory_bytes >> 20));
  }
  console.line("simulator " + find_simulator().value_or("(not found beside the executable)"));
}

void print_nvrtc(Console& console, const Diagnosis::Nvrtc& nvrtc) {
  if (!nvrtc.path.empty()) {
    console.line(fmt::format("nvrtc     {} (found by: {}), {} {}", nvrtc.path, nvrtc.origin,
                             nvrtc.identity_is_hash ? "hash" : "build-id", nvrtc.identity));
    console.line("builtins  " + (nvrtc.builtins.empty() ? "(not found)" : nvrtc.builtins));
  }
  if (!nvrtc.version.empty()) {
    std::string archs;
    for (const Arch& arch : nvrtc.archs) {
      archs += " " + arch.to_string();
    }
    console.line(fmt::format("version   {}, targets{}", nvrtc.version, archs));
  }
  if (!nvrtc.problem.empty()) {
    console.line("nvrtc     " + nvrtc.problem);
  }
}

void print(Console& console, const RemoteDiagnosis& remote) {
  console.line(fmt::format("remote    {}: {}, {}{}", remote.tier.label,
                           answers(remote) ? "answers" : "does not answer",
                           remote.tier.compiles   ? "compiles"
                           : remote.tier.writable ? "reads and writes"
                                                  : "reads",
                           remote.tier.leases ? ", leases" : ""));
  for (const std::string& problem : remote.problems) {
    if (!problem.empty()) {
      console.line("remote    " + problem);
    }
  }
}

void print(const Context& context, const Report& report) {
  Console& console = context.console;
  console.line(std::string("quantjit  ") + kVersion);
  print_driver(console, report.driver);
  print_nvrtc(console, report.diagnosis.nvrtc);
  if (report.probe.done && report.probe.problem.empty()) {
    console.line(fmt::format("probe     a kernel for {} compiled in {:.1f} ms", report.probe.arch,
                             report.probe.milliseconds));
  } else if (report.probe.done) {
    console.line("probe     " + report.probe.problem);
  }
  console.line("sources   " + report.diagnosis.kernel_sources);
  if (!report.diagnosis.kernel_sources_problem.empty()) {
    console.line("sources   " + report.diagnosis.kernel_sources_problem);
  }
  console.line("code      " + report.code);
  console.line(
      fmt::format("cache     {} entries, {} bytes", report.cache.entries, report.cache.bytes));
  for (const CacheRootStatus& root : report.cache.roots) {
    console.line("root      " + root_text(root));
  }
  for (const RemoteDiagnosis& remote : report.remote) {
    print(console, remote);
  }
  for (const Feature& feature : report.diagnosis.features) {
    console.line(fmt::format("feature   {}: {} ({})", feature.name,
                             feature.available ? "on" : "off", feature.detail));
  }
  for (const KnownSetting& setting : kSettings) {
    console.line(fmt::format("setting   {} = {} ({})", setting.variable, value_of(setting),
                             origin_of(context, setting.variable)));
  }
  if (report.usable) {
    console.line(report.verdict);
  }
}

}  // namespace

int execute(Context& context, const DoctorOptions& options) {
  const ServiceOptions service_options = context.service_options();
  KernelService service(service_options);
  Report report;
  report.driver = look_at_driver(service_options);
  report.diagnosis = diagnose(
      service, options.load || options.probe ? DiagnosisDepth::kLoad : DiagnosisDepth::kFiles);
  const std::string server = serve::http_server_version();
  report.diagnosis.features.push_back(
      {.name = "serve",
       .available = !server.empty(),
       .detail = server.empty() ? "needs libmicrohttpd: install libmicrohttpd-dev and build again"
                                : "libmicrohttpd " + server});
  report.cache = CacheAdmin(service_options).stats();
  report.remote = diagnose_remote(service);
  report.code = code_text(service_options, report.driver);
  if (options.probe) {
    report.probe = probe(service, report.driver);
  }
  judge(service_options, report);
  context.console.document(describe(context, report));
  print(context, report);
  if (!report.usable) {
    context.console.message(report.verdict);
  }
  return report.usable ? 0 : 1;
}

}  // namespace quantjit::cli
