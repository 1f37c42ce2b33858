// SPDX-License-Identifier: Apache-2.0
// With parse_*.cpp the only files that see CLI11.
#include "tools/cli/parser.hpp"

#include "tools/cli/parse_bundle.hpp"
#include "tools/cli/parse_cache.hpp"
#include "tools/cli/parse_coverage.hpp"
#include "tools/cli/parse_prewarm.hpp"
#include "tools/cli/parse_serve.hpp"

#include <quantjit/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace quantjit::cli {
namespace {

struct SettingOption {
  const char* option;
  const char* variable;
  const char* value_name;
  const char* help;
};

constexpr SettingOption kSettingOptions[] = {
    {"--cache-dir", "QUANTJIT_CACHE_DIR", "DIRS", "cache roots, separated by colons"},
    {"--cache-shared", "QUANTJIT_CACHE_SHARED", "ROOT=KEYFILE",
     "cache roots that others may write, each with its MAC key file, separated by colons"},
    {"--cache-max-size", "QUANTJIT_CACHE_MAX_SIZE", "BYTES",
     "size limit of the cache, with suffix K, M, G or T"},
    {"--kernel-dir", "QUANTJIT_KERNEL_DIR", "DIR", "kernel sources in place of the embedded ones"},
    {"--nvrtc", "QUANTJIT_NVRTC", "FILE", "the libnvrtc to use; no such file means there is none"},
    {"--cuda-driver", "QUANTJIT_CUDA_DRIVER", "FILE", "the driver library to use"},
    {"--log-level", "QUANTJIT_LOG_LEVEL", "LEVEL", "trace, debug, info, warn, error or off"},
    {"--math", "QUANTJIT_MATH", "MODE", "auto, fast or precise"},
    {"--code", "QUANTJIT_CODE", "KIND", "auto, cubin or ptx"},
    {"--capture-policy", "QUANTJIT_CAPTURE_POLICY", "POLICY", "error or load"},
    {"--jit", "QUANTJIT_JIT", "SWITCH", "on, or off: never compile"},
    {"--record", "QUANTJIT_RECORD", "FILE", "file that what is asked for is appended to"},
    {"--remote", "QUANTJIT_REMOTE", "URLS",
     "remote tiers in lookup order, separated by blanks: redis://, http://, qj+http:// or file://"},
};

constexpr const char* kSettingsGroup = "Settings (each also an environment variable)";
constexpr const char* kTraitsHelp =
    "trait text, such as per_token_group_quant:group=128,scale=ue8m0,layout=col";
constexpr const char* kArchHelp = "target, such as sm_90a or sm_100f";
constexpr const char* kDeviceHelp = "gpu, gpu:N, sim or sim:ARCH[,ARCH...][:N]";

void choose_setting(GlobalOptions& global, const SettingOption& setting, const std::string& value) {
  global.settings.push_back({setting.option, setting.variable, value});
}

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.add_flag("--json", global.json, "write one JSON document to standard output");
  for (const SettingOption& setting : kSettingOptions) {
    app.add_option_function<std::string>(
           setting.option,
           [&global, &setting](const std::string& value) {
             choose_setting(global, setting, value);
           },
           std::string(setting.help) + " [" + setting.variable + "]")
        ->type_name(setting.value_name)
        ->group(kSettingsGroup);
  }
  app.add_flag_callback(
         "--no-jit",
         [&global] {
           choose_setting(global, {"--no-jit", "QUANTJIT_JIT", "", ""}, "off");
         },
         "the same as --jit off")
      ->group(kSettingsGroup);
}

/// Adds a command whose options live in `command` once it was chosen.
template <typename Options>
CLI::App* add_command(CLI::App& parent, CommandOptions& command, Options& options, const char* name,
                      const char* help) {
  CLI::App* const app = parent.add_subcommand(name, help);
  app->callback([&command, &options] { command = options; });
  return app;
}

void add_compiling_commands(CLI::App& app, CommandOptions& command, CompileOptions& compile,
                            ExplainOptions& explain) {
  CLI::App* const compiling =
      add_command(app, command, compile, "compile", "Compile a descriptor for a target");
  compiling->add_option("traits", compile.traits, kTraitsHelp)->type_name("TRAITS")->required();
  compiling->add_option("--arch", compile.arch, kArchHelp)->type_name("ARCH")->required();
  compiling->add_option("--emit", compile.emit, "cubin or ptx; by default what --code says")
      ->type_name("KIND")
      ->check(CLI::IsMember({"cubin", "ptx"}));
  compiling->add_option("-o,--output", compile.output, "write the code to this file, - is stdout")
      ->type_name("FILE");
  compiling->add_flag("!--no-cache", compile.use_cache, "compile, whatever the cache holds");

  CLI::App* const explaining = add_command(app, command, explain, "explain",
                                           "Show a descriptor's key, and why it hits or misses");
  explaining->add_option("traits", explain.traits, kTraitsHelp)->type_name("TRAITS")->required();
  explaining->add_option("--arch", explain.arch, kArchHelp)->type_name("ARCH")->required();
}

void add_run_command(CLI::App& app, CommandOptions& command, RunOptions& run) {
  CLI::App* const running =
      add_command(app, command, run, "run", "Quantize a generated tensor or a tensor of a file");
  running->add_option("traits", run.traits, kTraitsHelp)->type_name("TRAITS")->required();
  running->add_option("--device", run.device, kDeviceHelp)->type_name("DEVICE");
  running->add_flag("--check", run.check, "compare whole buffers with the CPU reference");
  running->add_option("--dump", run.dump, "write input, codes and scales into this directory")
      ->type_name("DIR");

  CLI::Option* const tokens =
      running->add_option("--tokens", run.tokens, "rows (an expert)")->type_name("T");
  CLI::Option* const hidden =
      running->add_option("--hidden", run.hidden, "output columns")->type_name("H");
  CLI::Option* const seed = running->add_option("--seed", run.seed, "seed of the generator");
  CLI::Option* const kind =
      running->add_option("--kind", run.kind, "uniform, bits, midpoint, special, rows or normal")
          ->type_name("KIND");
  CLI::Option* const experts =
      running->add_option("--experts", run.experts, "experts, with schedule=masked")
          ->type_name("E");
  running
      ->add_option("--masked-m", run.masked_m,
                   "live rows of each expert, separated by commas; by default all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  running->add_option("--mask-dtype", run.mask_dtype, "int32 or int64")
      ->check(CLI::IsMember({"int32", "int64"}))
      ->type_name("DTYPE");
  running->add_option("--expected-m", run.expected_m, "hint: expected live rows an expert")
      ->type_name("M");

  CLI::Option* const input =
      running->add_option("--input", run.input, "a .npy or .safetensors file")->type_name("FILE");
  running->add_option("--tensor", run.tensor, "tensor of a .safetensors file")
      ->type_name("NAME")
      ->needs(input);
  for (CLI::Option* const generated : {tokens, hidden, seed, kind, experts}) {
    input->excludes(generated);
  }
}

void add_golden_command(CLI::App& app, CommandOptions& command, GoldenOptions& golden) {
  CLI::App* const running =
      add_command(app, command, golden, "golden", "Run recorded cases and compare their bytes");
  running->add_option("file", golden.file, "cases, one JSON object a line")
      ->type_name("FILE.jsonl")
      ->required();
  running->add_option("--device", golden.device, std::string(kDeviceHelp) + ", or cpu")
      ->type_name("DEVICE");
  running->add_option("--filter", golden.filter, "only cases whose name matches this expression")
      ->type_name("REGEX");
  running->add_option("-j,--jobs", golden.jobs, "cases at a time; 0 = by the machine")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
}

void add_bench_command(CLI::App& app, CommandOptions& command, BenchOptions& bench) {
  CLI::App* const measuring =
      add_command(app, command, bench, "bench", "Time kernels on a GPU, beside recorded times");
  measuring
      ->add_option(
          "--cases", bench.cases,
          "cases and recorded times; by default those recorded for the originals, and more")
      ->type_name("FILE.csv");
  measuring->add_flag("--more", bench.more, "more cases beside those of --cases");
  measuring->add_option("--out", bench.out, "write the results to this file")
      ->type_name("FILE.json");
  measuring->add_option("--device", bench.device, kDeviceHelp)->type_name("DEVICE");
  measuring->add_option("--filter", bench.filter, "only cases whose name matches this expression")
      ->type_name("REGEX");
}

void add_tune_command(CLI::App& app, CommandOptions& command, TuneOptions& tune) {
  CLI::App* const tuning =
      add_command(app, command, tune, "tune",
                  "Measure launch geometries on a GPU and keep the best beside the cubins");
  tuning->add_option("--device", tune.device, kDeviceHelp)->type_name("DEVICE");
  tuning->add_flag("--dry-run", tune.dry_run, "measure, but keep nothing");
}

void add_other_commands(CLI::App& app, CommandOptions& command, DemoOptions& demo,
                        DoctorOptions& doctor, TraitsOptions& traits, VersionOptions& version) {
  CLI::App* const demonstration = add_command(
      app, command, demo, "demo", "Compile, cache, launch and check a few kernels on this machine");
  demonstration->add_option("--device", demo.device, kDeviceHelp)->type_name("DEVICE");

  CLI::App* const checkup =
      add_command(app, command, doctor, "doctor", "Show what quantjit finds on this machine");
  checkup->add_flag("--load", doctor.load, "load NVRTC and list its targets");
  checkup->add_flag("--probe", doctor.probe, "also compile a kernel, looking in no cache");

  CLI::App* const describing =
      add_command(app, command, traits, "traits", "List operations, keys, values and rules");
  describing->add_option("op", traits.op, "only this operation")->type_name("OP");
  CLI::Option* const enumerate =
      describing->add_flag("--enumerate", traits.enumerate, "list every valid canonical text");
  describing->add_option("--check", traits.check, "check a trait text and show its canonical form")
      ->type_name("TRAITS")
      ->excludes(enumerate);

  add_command(app, command, version, "version", "Show the version");
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The innermost command that was named, e.g. "quantjit cache inspect", for the hint after an
/// error.
std::string command_path(const CLI::App& app) {
  std::string path = app.get_name();
  const CLI::App* current = &app;
  while (!current->get_subcommands().empty()) {
    current = current->get_subcommands().front();
    path += " " + current->get_name();
  }
  return path;
}

/// All command structs: the parser binds its options to them and keeps the chosen one.
struct AllOptions {
  DemoOptions demo;
  DoctorOptions doctor;
  TraitsOptions traits;
  VersionOptions version;
  CompileOptions compile;
  ExplainOptions explain;
  RunOptions run;
  GoldenOptions golden;
  CacheOptions cache;
  BundleOptions bundle;
  BenchOptions bench;
  PrewarmOptions prewarm;
  PrewarmWorkerOptions worker;
  CoverageOptions coverage;
  TuneOptions tune;
  ServeOptions serve;
};

}  // namespace

ParseResult parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Quantization kernels, compiled for this machine when they are needed.", "quantjit");
  app.set_version_flag("--version", std::string("quantjit ") + kVersion);
  app.fallthrough();
  app.require_subcommand(1);
  Invocation invocation;
  AllOptions all;
  add_global_options(app, invocation.global);
  add_other_commands(app, invocation.command, all.demo, all.doctor, all.traits, all.version);
  add_compiling_commands(app, invocation.command, all.compile, all.explain);
  add_run_command(app, invocation.command, all.run);
  add_golden_command(app, invocation.command, all.golden);
  add_cache_command(app, invocation.command, all.cache);
  add_bundle_command(app, invocation.command, all.bundle);
  add_bench_command(app, invocation.command, all.bench);
  add_prewarm_commands(app, invocation.command, all.prewarm, all.worker);
  add_coverage_command(app, invocation.command, all.coverage);
  add_tune_command(app, invocation.command, all.tune);
  add_serve_command(app, invocation.command, all.serve);

  ParseResult result;
  result.json = std::any_of(
      argv, argv + argc, [](const char* argument) { return std::strcmp(argument, "--json") == 0; });
  try {
    app.parse(argc, argv);
    result.invocation = std::move(invocation);
  } catch (const CLI::Success& success) {  // help or version
    std::ostringstream output;
    app.exit(success, output, output);
    result.output = output.str();
  } catch (const CLI::RequiredError& error) {
    // A word where a command is missing is a command that does not exist.
    const std::vector<std::string> rest = app.remaining(true);
    const bool no_command = std::strstr(error.what(), "subcommand") != nullptr;
    result.error = rest.empty() || !no_command ? one_line(error.what())
                                               : "\"" + rest.front() + "\" is no command";
    result.error += " (see: " + command_path(app) + " --help)";
  } catch (const CLI::ParseError& error) {
    result.error = one_line(error.what()) + " (see: " + command_path(app) + " --help)";
  }
  return result;
}

}  // namespace quantjit::cli
