// SPDX-License-Identifier: Apache-2.0
#include "src/base/exposition.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace quantjit::base {
namespace {

std::string_view kind_name(Exposition::Kind kind) {
  switch (kind) {
    case Exposition::Kind::kCounter: return "counter";
    case Exposition::Kind::kGauge: return "gauge";
    case Exposition::Kind::kHistogram: break;
  }
  return "histogram";
}

/// Help texts leave quotes alone, label values escape them too.
void append_escaped(std::string& to, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      to += "\\\\";
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '"' && quotes) {
      to += "\\\"";
    } else {
      to += c;
    }
  }
}

}  // namespace

std::string exposition_number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  std::array<char, 64> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

void Exposition::family(std::string_view name, Kind kind, std::string_view help) {
  family_ = name;
  text_ += "# HELP " + family_ + " ";
  append_escaped(text_, help, false);
  text_ += "\n# TYPE " + family_ + " ";
  text_ += kind_name(kind);
  text_ += '\n';
}

void Exposition::sample(std::uint64_t value, const Labels& labels) {
  line({}, labels, std::to_string(value));
}

void Exposition::sample(double value, const Labels& labels) {
  line({}, labels, exposition_number(value));
}

void Exposition::counter(std::string_view name, std::string_view help, std::uint64_t value) {
  family(name, Kind::kCounter, help);
  sample(value);
}

void Exposition::gauge(std::string_view name, std::string_view help, double value) {
  family(name, Kind::kGauge, help);
  sample(value);
}

void Exposition::histogram(std::span<const double> bounds, std::span<const std::uint64_t> counts,
                           double sum) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string bound = exposition_number(i < bounds.size() ? bounds[i] : INFINITY);
    line("_bucket", {{"le", bound}}, std::to_string(total));
  }
  line("_sum", {}, exposition_number(sum));
  line("_count", {}, std::to_string(total));
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_ += family_;
  text_ += suffix;
  const char* separator = "{";
  for (const auto& [name, content] : labels) {
    text_ += separator;
    text_ += name;
    text_ += "=\"";
    append_escaped(text_, content, true);
    text_ += '"';
    separator = ",";
  }
  text_ += labels.empty() ? " " : "} ";
  text_ += value;
  text_ += '\n';
}

}  // namespace quantjit::base
