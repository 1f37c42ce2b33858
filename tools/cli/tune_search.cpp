// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/tune_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace quantjit::cli {
namespace {

constexpr double kWorthChanging = 0.99;
constexpr std::int64_t kExperts = 32;
constexpr std::int64_t kFewestPaddedRows = 64;

/// What the size classes of a kernel count, for `tokens` rows.
double size_of(GeometryKernel kernel, const TuneSubject& subject, std::int64_t tokens,
               std::int64_t multiprocessors) {
  constexpr std::int64_t kWarpElements = 512;  // 32 lanes of 16
  const std::int64_t halves = kernel == GeometryKernel::kFlatSilu ? 2 : 1;
  const std::int64_t total = kernel == GeometryKernel::kRows ? tokens
                             : is_masked(kernel)
                                 ? tokens * kExperts * subject.hidden / kWarpElements
                                 : tokens * subject.hidden * 2 * halves;
  return static_cast<double>(total) / static_cast<double>(multiprocessors);
}

const GeometryRule& rule_at(const std::vector<GeometryRule>& rules, double size) {
  const auto found = std::find_if(rules.begin(), rules.end(), [size](const GeometryRule& rule) {
    return rule.at_most == kNoSizeLimit || size <= static_cast<double>(rule.at_most);
  });
  return found != rules.end() ? *found : rules.back();
}

bool same_launch(GeometryRule a, const GeometryRule& b) {
  a.at_most = b.at_most;
  return a == b;
}

}  // namespace

TuneSubject tune_subject(GeometryKernel kernel) {
  const std::string group = "per_token_group_quant:scale=ue8m0,layout=col";
  switch (kernel) {
    case GeometryKernel::kFlat: return {group, 7168};
    case GeometryKernel::kFlatSilu: return {group + ",silu=true", 2048};
    case GeometryKernel::kMasked: return {group + ",schedule=masked", 2048};
    case GeometryKernel::kMaskedSilu: return {group + ",silu=true,schedule=masked", 2048};
    case GeometryKernel::kRows: break;
  }
  return {"per_token_quant", 7168};
}

std::vector<TuneStep> tune_ladder(GeometryKernel kernel, const TuneSubject& subject,
                                  std::int64_t multiprocessors) {
  std::vector<TuneStep> steps;
  if (is_masked(kernel)) {
    for (const std::int64_t rows : {1, 4, 16, 64, 256}) {
      steps.push_back({std::max(rows, kFewestPaddedRows), kExperts, rows,
                       size_of(kernel, subject, rows, multiprocessors)});
    }
    return steps;
  }
  for (std::int64_t tokens = 1; tokens <= 16384; tokens *= 4) {
    steps.push_back({tokens, 0, 0, size_of(kernel, subject, tokens, multiprocessors)});
  }
  return steps;
}

std::vector<GeometryRule> tune_candidates(GeometryKernel kernel, const Arch& arch) {
  std::vector<GeometryRule> rules;
  if (is_masked(kernel)) {
    for (const std::uint32_t threads : {64U, 128U, 256U}) {
      for (const std::uint32_t blocks : {2U, 4U, 8U, 16U}) {
        if (threads * blocks <= 2048) {
          rules.push_back({kernel, 0, threads, blocks, 0, 0, false});
        }
      }
    }
  } else if (kernel == GeometryKernel::kRows) {
    for (const bool prefetch : {true, false}) {
      for (const std::uint32_t rows : {1U, 2U, 4U}) {
        rules.push_back({kernel, 0, 512, 0, 0, rows, prefetch});
      }
    }
  } else {
    for (const bool prefetch : {true, false}) {
      for (const std::uint32_t threads : {64U, 128U, 256U, 512U}) {
        rules.push_back({kernel, 0, threads, 0, 16, 0, prefetch});
        if (arch.is_blackwell_or_later()) {
          rules.push_back({kernel, 0, threads, 0, 32, 0, prefetch});
        }
      }
    }
  }
  return rules;
}

std::vector<TuneChoice> tune(GeometryKernel kernel, const Arch& arch, std::int64_t multiprocessors,
                             const std::vector<GeometryRule>& present, const TuneMeasure& measure) {
  std::vector<TuneChoice> choices;
  for (const TuneStep& step : tune_ladder(kernel, tune_subject(kernel), multiprocessors)) {
    const GeometryRule& now = rule_at(present, step.size);
    TuneChoice choice{step, now, measure(step, now), 0};
    choice.present_us = choice.us;
    std::optional<GeometryRule> best;
    double best_us = choice.us * kWorthChanging;
    for (const GeometryRule& candidate : tune_candidates(kernel, arch)) {
      if (same_launch(candidate, now)) {
        continue;
      }
      if (const double us = measure(step, candidate); us < best_us) {
        best = candidate;
        best_us = us;
      }
    }
    if (best) {
      choice.rule = *best;
      choice.us = best_us;
    }
    choices.push_back(choice);
  }
  return choices;
}

std::vector<GeometryRule> tuned_rules(const std::vector<TuneChoice>& choices) {
  std::vector<GeometryRule> rules;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    GeometryRule rule = choices[i].rule;
    rule.at_most =
        i + 1 < choices.size()
            ? std::max<std::int64_t>(static_cast<std::int64_t>(std::sqrt(choices[i].step.size *
                                                                         choices[i + 1].step.size)),
                                     1)
            : kNoSizeLimit;
    // Sizes below one unit a multiprocessor fall into one class: the later, larger one decides.
    if (!rules.empty() &&
        (same_launch(rules.back(), rule) || rules.back().at_most == rule.at_most)) {
      rules.back() = rule;
    } else {
      rules.push_back(rule);
    }
  }
  return rules;
}

}  // namespace quantjit::cli
