// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/bench_cases.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

namespace quantjit::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

/// One line of the CSV by column name.
class Row {
 public:
  Row(const std::vector<std::string_view>& header, std::string_view line, std::size_t number)
      : number_(number) {
    const std::vector<std::string_view> fields = split(line, ',');
    if (fields.size() != header.size()) {
      fail("columns", std::to_string(fields.size()),
           "the header names " + std::to_string(header.size()));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fields_[header[i]] = fields[i];
    }
  }

  [[nodiscard]] std::string text(std::string_view column) const {
    const auto found = fields_.find(column);
    if (found == fields_.end()) {
      fail(std::string(column), "missing", "the header must name this column");
    }
    return std::string(found->second);
  }

  [[nodiscard]] std::string text_or_empty(std::string_view column) const {
    return fields_.contains(column) ? std::string(fields_.at(column)) : std::string{};
  }

  /// An empty field is 0.
  [[nodiscard]] std::int64_t integer(std::string_view column) const {
    return integer_of(column, text(column));
  }

  [[nodiscard]] std::int64_t integer_of(std::string_view column, std::string_view value) const {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!value.empty() &&
        (status != std::errc{} || end != value.data() + value.size() || number < 0)) {
      fail(std::string(column), std::string(value), "it must be a whole number of 0 or more");
    }
    return number;
  }

  [[nodiscard]] double real(std::string_view column) const {
    const std::string value = text_or_empty(column);
    double number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
  }

  [[noreturn]] void fail(const std::string& column, const std::string& value,
                         const std::string& rule) const {
    throw InvalidArgument("line " + std::to_string(number_) + ", " + column, "\"" + value + "\"",
                          rule);
  }

 private:
  std::map<std::string_view, std::string_view> fields_;
  std::size_t number_;
};

Descriptor descriptor_of(const Row& row) {
  std::string text =
      row.text("op") + ":in=" + row.text("in_dtype") + ",out=" + row.text("out_dtype");
  const std::string scale_layout = row.text("scale_layout");
  if (scale_layout != "per_token") {
    const std::size_t underscore = std::min(scale_layout.rfind('_'), scale_layout.size());
    text += ",group=" + row.text("group") + ",scale=" + scale_layout.substr(0, underscore) +
            ",layout=" + scale_layout.substr(std::min(underscore + 1, scale_layout.size()));
    const std::string silu = row.text("silu");
    text += silu == "1" || silu == "true" ? ",silu=true" : ",silu=false";
    text += row.text("experts").empty() ? "" : ",schedule=masked";
  }
  try {
    return parse_descriptor(text);
  } catch (const InvalidArgument& error) {
    row.fail("traits", text, error.what());
  }
}

BenchCase case_of(const Row& row) {
  BenchCase result{.name = row.text("case"),
                   .descriptor = descriptor_of(row),
                   .tokens = row.integer("tokens"),
                   .hidden = row.integer("hidden"),
                   .experts = row.integer("experts"),
                   .masked_m = {},
                   .expected_m = row.integer("expected_m"),
                   .best_original_us = std::nullopt,
                   .best_original = {}};
  if (result.tokens == 0 || result.hidden == 0) {
    row.fail("tokens, hidden", row.text("tokens") + ", " + row.text("hidden"),
             "both must be positive");
  }
  if (result.experts != 0) {
    const std::string list = row.text("masked_m");
    for (const std::string_view value : split(list, ';')) {
      result.masked_m.push_back(std::min(row.integer_of("masked_m", value), result.tokens));
    }
    if (std::ssize(result.masked_m) != result.experts) {
      row.fail("masked_m", std::to_string(result.masked_m.size()) + " values",
               "there must be one an expert");
    }
  }
  return result;
}

/// masked_m of `experts` with Zipf-like load: expert i gets total / (i + 1) of the harmonic sum.
std::vector<std::int64_t> skewed_load(std::int64_t experts, std::int64_t total,
                                      std::int64_t limit) {
  double harmonic = 0;
  for (std::int64_t i = 0; i < experts; ++i) {
    harmonic += 1.0 / static_cast<double>(i + 1);
  }
  std::vector<std::int64_t> load;
  for (std::int64_t i = 0; i < experts; ++i) {
    const double share = static_cast<double>(total) / (static_cast<double>(i + 1) * harmonic);
    load.push_back(std::min(limit, static_cast<std::int64_t>(share)));
  }
  return load;
}

BenchCase flat_case(const std::string& name, const std::string& traits, std::int64_t tokens,
                    std::int64_t hidden) {
  return {.name = name,
          .descriptor = parse_descriptor(traits),
          .tokens = tokens,
          .hidden = hidden,
          .masked_m = {},
          .best_original_us = std::nullopt,
          .best_original = {}};
}

}  // namespace

std::int64_t BenchCase::live_tokens() const {
  return experts == 0 ? tokens : std::accumulate(masked_m.begin(), masked_m.end(), std::int64_t{0});
}

std::int64_t BenchCase::live_bytes() const {
  std::int64_t row = 0;
  if (const auto* const group = std::get_if<PerTokenGroupQuant>(&descriptor.traits)) {
    const std::int64_t groups = hidden / group->group;
    const std::int64_t scale_bytes = group->scale == ScaleFormat::kUE8M0  ? (groups + 3) / 4 * 4
                                     : group->scale == ScaleFormat::kE8M0 ? groups
                                                                          : groups * 4;
    row = hidden * (group->silu ? 2 : 1) * static_cast<std::int64_t>(size_in_bytes(group->in)) +
          hidden + scale_bytes;
  } else {
    row = hidden * static_cast<std::int64_t>(
                       size_in_bytes(std::get<PerTokenQuant>(descriptor.traits).in)) +
          hidden + 4;
  }
  return row * live_tokens();
}

BenchFile parse_bench_csv(std::string_view text) {
  BenchFile file;
  std::vector<std::string_view> header;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      continue;
    }
    if (header.empty()) {
      header = split(line, ',');
      continue;
    }
    const Row row(header, line, number);
    const std::string kernel = row.text_or_empty("kernel");
    if (row.text("op").empty()) {  // floors of the recording
      if (row.text("case") == "floor" && kernel == "empty_pdl") {
        file.empty_pdl_us = row.real("us_median");
      } else if (row.text("case") == "memcpy" && kernel == "2048") {
        file.copy_gb_per_s = row.real("gb_per_s");
      }
      continue;
    }
    BenchCase parsed = case_of(row);
    auto known = std::find_if(file.cases.begin(), file.cases.end(), [&](const BenchCase& other) {
      return other.name == parsed.name && other.tokens == parsed.tokens &&
             other.hidden == parsed.hidden;
    });
    if (known == file.cases.end()) {
      known = file.cases.insert(file.cases.end(), std::move(parsed));
    }
    const double us = row.real("us_median");
    if (us > 0 && us < known->best_original_us.value_or(us + 1)) {
      known->best_original_us = us;
      known->best_original = kernel;
    }
  }
  if (header.empty()) {
    throw InvalidArgument("cases", "empty", "there must be a header line and one line a case");
  }
  return file;
}

std::vector<BenchCase> additional_bench_cases() {
  std::vector<BenchCase> cases;
  const std::string ue_col = "per_token_group_quant:scale=ue8m0,layout=col";
  cases.push_back(flat_case("ue_col", ue_col, 65536, 2048));
  cases.push_back(flat_case("ue_col", ue_col, 65536, 7168));
  cases.push_back(flat_case("per_token", "per_token_quant", 65536, 7168));
  for (const std::int64_t hidden : {1536, 3072, 4096, 5120, 6144, 8192}) {
    for (const std::int64_t tokens : {1, 64, 1024, 16384}) {
      cases.push_back(flat_case("ue_col", ue_col, tokens, hidden));
      cases.push_back(flat_case("silu_ue_col", ue_col + ",silu=true", tokens, hidden));
      cases.push_back(flat_case("per_token", "per_token_quant", tokens, hidden));
    }
  }
  const std::pair<const char*, std::string> variants[] = {
      {"g32_f32_row", "per_token_group_quant:group=32"},
      {"g64_ue_col", ue_col + ",group=64"},
      {"f16_ue_col", ue_col + ",in=f16"},
      {"f32_ue_col", ue_col + ",in=f32"},
      {"int8_f32_row", "per_token_group_quant:out=int8"},
      {"mxfp8_row", "per_token_group_quant:group=32,scale=e8m0,numerics=exact"},
      {"mxfp8_swizzle",
       "per_token_group_quant:group=32,scale=e8m0,layout=swizzle128x4,numerics=exact"},
      {"exact_silu_ue_col", ue_col + ",silu=true,numerics=exact"},
      {"f16_per_token", "per_token_quant:in=f16"},
      {"f32_per_token", "per_token_quant:in=f32"}};
  for (const auto& [name, traits] : variants) {
    for (const std::int64_t tokens : {1, 64, 1024, 16384}) {
      cases.push_back(flat_case(name, traits, tokens, 7168));
    }
  }
  for (const std::int64_t total : {64, 1024, 8192}) {
    BenchCase skewed = flat_case("masked_silu_ue_col_skewed_" + std::to_string(total),
                                 ue_col + ",silu=true,schedule=masked", 2048, 2048);
    skewed.experts = 64;
    skewed.masked_m = skewed_load(skewed.experts, total, skewed.tokens);
    skewed.expected_m = total / skewed.experts;
    cases.push_back(std::move(skewed));
  }
  return cases;
}

}  // namespace quantjit::cli
