// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/parse_prewarm.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace quantjit::cli {
namespace {

constexpr const char* kModelGroup = "How the model of --model is served";

void add_model_options(CLI::App& app, ModelOptions& model) {
  std::vector<CLI::Option*> options;
  const auto keep = [&options](CLI::Option* option) {
    option->group(kModelGroup);
    options.push_back(option);
    return option;
  };
  keep(app.add_option("--engine", model.engine, "sglang or vllm"))
      ->check(CLI::IsMember({"sglang", "vllm"}))
      ->type_name("ENGINE");
  keep(app.add_option("--tp", model.tp, "tensor parallel ranks"))->type_name("N");
  keep(app.add_option("--ep", model.ep, "expert parallel ranks; with --a2a always those of --tp"))
      ->type_name("N");
  keep(app.add_option("--a2a", model.a2a, "all-to-all backend: none, deepep, mooncake or nixl"))
      ->type_name("BACKEND");
  keep(app.add_option("--moe-runner", model.moe_runner, "what computes the experts; auto"))
      ->type_name("RUNNER");
  keep(app.add_option("--fp8-gemm-backend", model.fp8_gemm_backend, "what computes linears; auto"))
      ->type_name("BACKEND");
  keep(app.add_option("--dtype", model.dtype, "auto, bfloat16, float16 or float32"))
      ->type_name("DTYPE");
  keep(app.add_option("--quantization", model.quantization,
                      "as typed for the engine; by default what the config says"))
      ->type_name("METHOD");
  keep(app.add_option("--attn-tp", model.attn_tp, "ranks of attention; by default those of --tp"))
      ->type_name("N");
  keep(app.add_option("--moe-dp", model.moe_dp, "data parallel ranks of the experts"))
      ->type_name("N");
  keep(app.add_flag("!--no-deepgemm", model.deepgemm, "DeepGEMM is not installed, or off"));
  keep(app.add_flag("!--no-shared-fusion", model.shared_expert_fusion,
                    "shared experts are not fused into the routed ones"));
  keep(app.add_flag("--superset", model.superset,
                    "all that a model of this scheme may need, whatever its shapes"));
  for (CLI::Option* const option : options) {
    option->needs("--model");
  }
}

}  // namespace

std::vector<CLI::Option*> add_sources(CLI::App& app, PrewarmOptions& prewarm) {
  std::vector<CLI::Option*> sources{
      app.add_option("traits", prewarm.traits,
                     "trait texts, such as per_token_group_quant:group=128,scale=ue8m0,layout=col")
          ->type_name("TRAITS"),
      app.add_option("--manifest", prewarm.manifest, "a JSON manifest of descriptors and targets")
          ->type_name("FILE"),
      app.add_option("--from-trace", prewarm.trace, "what QUANTJIT_RECORD wrote")
          ->type_name("FILE"),
      app.add_option("--model", prewarm.model.path,
                     "a model's config.json, or the folder that holds it")
          ->type_name("FILE")};
  for (CLI::Option* const source : sources) {
    for (CLI::Option* const other : sources) {
      if (other != source) {
        source->excludes(other);
      }
    }
  }
  add_model_options(app, prewarm.model);
  return sources;
}

void add_prewarm_commands(CLI::App& app, CommandOptions& command, PrewarmOptions& prewarm,
                          PrewarmWorkerOptions& worker) {
  CLI::App* const warming = app.add_subcommand(
      "prewarm", "Compile ahead what a list, a manifest, a trace or a model needs");
  add_sources(*warming, prewarm);
  warming
      ->add_option("--arch", prewarm.archs,
                   "targets, separated by commas; a manifest or trace may name its own")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ARCH");
  warming->add_option("-j,--jobs", prewarm.jobs, "compiles at a time; 0 = by cores and memory")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  warming->add_flag("--isolate", prewarm.isolate,
                    "compile in processes of their own, which a crash of the compiler ends alone");
  warming->callback([&command, &prewarm] {
    if (prewarm.traits.empty() && prewarm.manifest.empty() && prewarm.trace.empty() &&
        prewarm.model.path.empty()) {
      throw CLI::ValidationError("prewarm",
                                 "name trait texts, --manifest, --from-trace or --model");
    }
    command = prewarm;
  });

  CLI::App* const working = app.add_subcommand("prewarm-worker", "A process of prewarm --isolate");
  working->group("");  // in no help text
  working->callback([&command, &worker] { command = worker; });
}

}  // namespace quantjit::cli
