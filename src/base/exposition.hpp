// SPDX-License-Identifier: Apache-2.0
// Writes metrics in the Prometheus text format (version 0.0.4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit::base {

/// Collects metrics, one family after the other.
class Exposition {
 public:
  /// Name and value, in the order they are written; values may hold any text.
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  enum class Kind : std::uint8_t { kCounter, kGauge, kHistogram };

  /// Begins a family: what follows belongs to it, up to the next one.
  /// @param name matches [a-z_][a-z0-9_]*
  /// @param help one line of any text
  void family(std::string_view name, Kind kind, std::string_view help);

  void sample(std::uint64_t value, const Labels& labels = {});
  void sample(double value, const Labels& labels = {});

  /// A family of one counter or gauge without labels.
  void counter(std::string_view name, std::string_view help, std::uint64_t value);
  void gauge(std::string_view name, std::string_view help, double value);

  /// The samples of a histogram family: buckets, sum and count.
  /// @param bounds upper ends, ascending; the one without an end is added
  /// @param counts one for each bound and one more, not accumulated
  void histogram(std::span<const double> bounds, std::span<const std::uint64_t> counts, double sum);

  /// All of it. The object must not be used afterwards.
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string text_;
  std::string family_;
};

/// Text of a value as the format has it, e.g. "0.25" or "+Inf".
[[nodiscard]] std::string exposition_number(double value);

}  // namespace quantjit::base
