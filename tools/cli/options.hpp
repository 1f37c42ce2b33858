// SPDX-License-Identifier: Apache-2.0
// What the command line says, as plain data: one struct a command. parser.cpp fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace quantjit::cli {

/// A setting that an option gave in place of its environment variable.
struct SettingChoice {
  std::string option;    ///< e.g. "--cache-dir"
  std::string variable;  ///< e.g. "QUANTJIT_CACHE_DIR"
  std::string value;
};

struct GlobalOptions {
  bool json = false;
  std::vector<SettingChoice> settings;
};

struct DemoOptions {
  std::optional<std::string> device;
};

struct DoctorOptions {
  bool load = false;   ///< load NVRTC and ask it for its targets
  bool probe = false;  ///< and compile a descriptor with it
};

struct TraitsOptions {
  std::string op;     ///< empty: all
  std::string check;  ///< a trait text to check; empty: none
  bool enumerate = false;
};

struct CompileOptions {
  std::string traits;
  std::string arch;
  std::string emit;    ///< "cubin", "ptx" or empty for the setting
  std::string output;  ///< file for the code, "-" for standard output; empty: none
  bool use_cache = true;
};

struct ExplainOptions {
  std::string traits;
  std::string arch;
};

struct RunOptions {
  std::string traits;
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> hidden;
  std::optional<std::int64_t> experts;
  std::vector<std::int64_t> masked_m;
  std::string mask_dtype = "int32";
  std::int64_t expected_m = 0;
  std::uint64_t seed = 1;
  std::string kind = "uniform";
  std::string input;
  std::string tensor;
  std::string device = "gpu";
  bool check = false;
  std::string dump;
};

struct GoldenOptions {
  std::string file;
  std::string device = "gpu";
  std::string filter;
  int jobs = 0;  ///< 0: by the machine
};

enum class CacheAction : std::uint8_t {
  kList,
  kStats,
  kInspect,
  kVerify,
  kEvict,
  kClear,
  kPin,
  kUnpin,
};

struct CacheOptions {
  CacheAction action = CacheAction::kList;
  std::string subject;             ///< inspect, pin: a key or a trait text
  std::string manifest;            ///< pin: a file in place of the subject
  std::vector<std::string> archs;  ///< with a trait text or a manifest
  std::string target_size;         ///< evict: bytes with suffix; empty: the low-water mark
  bool repair = false;             ///< verify: move bad entries aside
  bool dry_run = false;
};

struct BenchOptions {
  std::string cases;  ///< CSV file; empty: the recorded cases and more
  std::string out;    ///< JSON file; empty: none
  std::string device = "gpu";
  std::string filter;
  bool more = false;  ///< more cases beside those of the file
};

struct TuneOptions {
  std::string device = "gpu";
  bool dry_run = false;  ///< measure, keep nothing
};

/// How the model of a prewarm is served. See models::Request.
struct ModelOptions {
  std::string path;
  std::string engine = "sglang";
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  std::int64_t moe_dp = 1;
  std::optional<std::int64_t> attn_tp;
  std::string a2a = "none";
  std::string moe_runner = "auto";
  std::string fp8_gemm_backend = "auto";
  std::string dtype = "auto";
  std::string quantization;
  bool deepgemm = true;
  bool shared_expert_fusion = true;
  bool superset = false;
};

struct PrewarmOptions {
  std::vector<std::string> traits;
  std::string manifest;
  std::string trace;
  ModelOptions model;
  std::vector<std::string> archs;
  int jobs = 0;  ///< 0: by cores and memory
  bool isolate = false;
};

enum class BundleAction : std::uint8_t { kExport, kImport, kVerify, kList };

struct BundleOptions {
  BundleAction action = BundleAction::kList;
  std::string file;
  PrewarmOptions source;    ///< export: what to export; everywhere its `archs`: which targets
  bool all = false;         ///< export: everything
  std::string signing_key;  ///< export: PEM file; empty: not signed
  std::string verify_key;   ///< import, verify: PEM file; empty: any or none
};

/// A process of `prewarm --isolate`.
struct PrewarmWorkerOptions {};

struct CoverageOptions {
  std::vector<std::string> traces;
  std::string manifest;
  std::vector<std::string> archs;
};

struct ServeOptions {
  std::string listen = "127.0.0.1:9871";
  std::string port_file;   ///< receives the port; empty: none
  std::string token_file;  ///< serve: tokens that are accepted; status: the one to show
  bool no_token = false;   ///< others than this machine may ask without a token
  bool open_metrics = false;
  bool allow_sources = false;
  int jobs = 0;
  std::int64_t queue = 1024;
  std::int64_t max_connections = 4096;
  std::string max_request;         ///< bytes with suffix; empty: by what is allowed
  double client_timeout = 30;      ///< seconds
  double drain = 30;               ///< seconds
  std::string status;              ///< URL of a service to report on, in place of serving
  std::optional<double> interval;  ///< status: seconds between reports, 0: one
};

struct VersionOptions {};

/// A command is the struct that describes it.
using CommandOptions =
    std::variant<VersionOptions, DemoOptions, DoctorOptions, TraitsOptions, CompileOptions,
                 ExplainOptions, RunOptions, GoldenOptions, CacheOptions, BundleOptions,
                 BenchOptions, TuneOptions, PrewarmOptions, PrewarmWorkerOptions, CoverageOptions,
                 ServeOptions>;

struct Invocation {
  GlobalOptions global;
  CommandOptions command;
};

}  // namespace quantjit::cli
