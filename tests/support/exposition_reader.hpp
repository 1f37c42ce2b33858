// SPDX-License-Identifier: Apache-2.0
// Reads the Prometheus text format and refuses what breaks its rules.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::test {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct Family {
  std::string type;
  std::string help;
  std::vector<Sample> samples;
};

/// Families by name. Throws: std::runtime_error naming the line and the rule: HELP and TYPE once,
/// in this order and before the samples of the family, names and labels of the right alphabet,
/// known escapes only, no sample twice, counters not negative and named `_total`, histograms with
/// ascending bounds, counts that do not fall, and an unbounded bucket that equals the count.
[[nodiscard]] std::map<std::string, Family> read_exposition(std::string_view text);

}  // namespace quantjit::test
