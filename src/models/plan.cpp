// SPDX-License-Identifier: Apache-2.0
#include "src/models/plan.hpp"

#include "src/models/refused.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <array>

namespace quantjit::models {
namespace {

struct DTypeName {
  std::string_view name;
  DType dtype;
};

constexpr std::array kDTypeNames{
    DTypeName{"bfloat16", DType::kBF16}, DTypeName{"bf16", DType::kBF16},
    DTypeName{"float16", DType::kF16},   DTypeName{"half", DType::kF16},
    DTypeName{"f16", DType::kF16},       DTypeName{"float32", DType::kF32},
    DTypeName{"float", DType::kF32},     DTypeName{"f32", DType::kF32}};

DType parse_dtype(const std::string& text, const char* where) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.name == text) {
      return entry.dtype;
    }
  }
  throw InvalidArgument(where, traits::quote(text), "it must be bfloat16, float16 or float32");
}

/// What the engine computes in: checkpoints in float32, or without a word, follow its habit.
DType activation_dtype(const Plan& plan) {
  if (plan.request.dtype != "auto") {
    return parse_dtype(plan.request.dtype, "--dtype");
  }
  const std::optional<std::string> stored = plan.config.dtype();
  const bool gemma = plan.family.stem.rfind("Gemma", 0) == 0;
  const DType habit = plan.sglang() && !gemma ? DType::kF16 : DType::kBF16;
  const std::string engine(to_string(plan.request.engine));
  const std::string habit_name = habit == DType::kF16 ? "float16" : "bfloat16";
  if (!stored) {
    plan.result.warnings.push_back("the config has neither dtype nor torch_dtype: " + engine +
                                   " takes " + habit_name + " then");
    return habit;
  }
  const DType dtype = parse_dtype(*stored, "config.dtype");
  if (dtype == DType::kF32) {
    plan.result.warnings.push_back("the config says float32: " + engine + " takes " + habit_name +
                                   " then");
    return habit;
  }
  return dtype;
}

Generation generation_of(const Arch& arch) {
  switch (arch.major) {
    case 9: return Generation::kHopper;
    case 10: return Generation::kBlackwell;
    case 12: return Generation::kBlackwellRtx;
    default:
      throw Refused("the rules know sm_90, sm_100, sm_103 and sm_120, not " + arch.to_string());
  }
}

Traits make_group_traits(const Plan& plan, const Recipe& recipe) {
  PerTokenGroupQuant traits;
  traits.in = plan.dtype;
  traits.out = plan.scheme.int8 ? DType::kInt8 : DType::kE4M3;
  traits.group = static_cast<std::uint16_t>(std::min<std::int64_t>(plan.group, 65535));
  traits.scale = recipe.scale;
  traits.layout = recipe.layout;
  traits.silu = recipe.silu;
  traits.schedule = recipe.schedule;
  if (!plan.sglang()) {
    // Only vLLM's packed kernel has bits of its own here; elsewhere its users get the exact ones.
    const bool packed = recipe.scale == ScaleFormat::kUE8M0 && !recipe.silu &&
                        recipe.schedule == Schedule::kFlat && plan.dtype != DType::kF32;
    traits.numerics = packed ? Numerics::kVllm : Numerics::kExact;
    traits.fill = packed ? Fill::kZero : Fill::kNone;
  }
  return traits;
}

Traits make_token_traits(const Plan& plan) {
  PerTokenQuant traits;
  traits.in = plan.dtype;
  if (!plan.sglang()) {
    traits.numerics = Numerics::kExact;
    traits.zero_rows = ZeroRows::kZero;
  }
  return traits;
}

Traits make_traits(const Plan& plan, const Recipe& recipe) {
  Traits traits = recipe.per_token ? make_token_traits(plan) : make_group_traits(plan, recipe);
  try {
    validate(traits);
  } catch (const InvalidArgument& error) {
    throw Refused(std::string("there is no such kernel: ") + error.what());
  }
  return traits;
}

/// Adds the descriptor of these traits unless it is there; its canonical text.
std::string note_descriptor(Derivation& result, const Traits& traits) {
  const Descriptor descriptor{traits, MathMode::kAuto};
  if (std::find(result.descriptors.begin(), result.descriptors.end(), descriptor) ==
      result.descriptors.end()) {
    result.descriptors.push_back(descriptor);
  }
  return to_text(traits);
}

void check_width(const Plan& plan, const std::string& name, std::int64_t k, const Recipe& recipe) {
  const std::int64_t unit = recipe.per_token ? 4 : plan.group;
  if (k % unit != 0) {
    throw Refused(name + " input width per rank " + std::to_string(k) + " is not a multiple of " +
                  std::to_string(unit));
  }
}

}  // namespace

void prepare(Plan& plan) {
  plan.generation = generation_of(plan.request.arch);
  plan.dtype = activation_dtype(plan);
  plan.group = plan.sglang() ? plan.scheme.columns : plan.scheme.rows;
  plan.tp = plan.request.tp;
  plan.attn_tp = plan.request.attn_tp == 0 ? plan.tp : plan.request.attn_tp;
  plan.ep = plan.all_to_all() ? plan.tp : plan.request.ep;
  plan.deepgemm = plan.request.deepgemm && plan.generation != Generation::kBlackwellRtx;
  plan.ignored = IgnoreList(plan.scheme.ignored, plan.result.warnings);
}

bool ignored_everywhere(const Plan& plan, const std::vector<std::int64_t>& layers,
                        const std::vector<std::string>& parts) {
  if (plan.ignored.empty() || layers.empty()) {
    return false;
  }
  // A model beside a vision tower has its text layers under a name of their own.
  static const std::vector<std::string> kPlain{"model.layers."};
  static const std::vector<std::string> kNested{"model.layers.", "model.language_model.layers.",
                                                "language_model.model.layers."};
  const std::vector<std::string>& prefixes = plan.config.nested() ? kNested : kPlain;
  const auto ignored = [&](std::int64_t layer, const std::string& part) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
      return plan.ignored.matches(prefix + std::to_string(layer) + "." + part);
    });
  };
  bool everywhere = true;
  for (const std::int64_t layer : layers) {
    const bool first = ignored(layer, parts.front());
    for (const std::string& part : parts) {
      if (ignored(layer, part) != first) {
        throw Refused(parts.front() + " and " + part + " of layer " + std::to_string(layer) +
                      " are one linear for the engine, but only one of them is ignored");
      }
    }
    everywhere = everywhere && first;
  }
  return everywhere;
}

void add_site(Plan& plan, const std::string& name, std::int64_t k, std::int64_t n,
              const std::vector<Recipe>& recipes, const std::string& note) {
  Site site{name, k, plan.token_scheme() ? 1 : k / plan.group, n, {}, note};
  for (const Recipe& recipe : recipes) {
    check_width(plan, name, k, recipe);
    site.traits.push_back(note_descriptor(plan.result, make_traits(plan, recipe)));
  }
  plan.result.sites.push_back(std::move(site));
}

void add_descriptor(Plan& plan, const Recipe& recipe) {
  static_cast<void>(note_descriptor(plan.result, make_traits(plan, recipe)));
}

void add_not_covered(Plan& plan, const std::string& what) {
  plan.result.not_covered.push_back(what);
}

Recipe row_or_whole(const Plan& plan, std::int64_t k) {
  return k == plan.group && !plan.scheme.int8 ? kWholeRow : kF32Row;
}

}  // namespace quantjit::models
