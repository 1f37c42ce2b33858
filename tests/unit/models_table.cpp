// SPDX-License-Identifier: Apache-2.0
// Every row of the recorded table, and nothing beyond its rows.
#include "tests/support/catch.hpp"
#include "tests/unit/models_fixture.hpp"

#include <array>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

using namespace quantjit;
using test::derive_model;

namespace {

enum Column {
  kModel,
  kArch,
  kTp,
  kEp,
  kA2a,
  kRunner,
  kOp,
  kGroup,
  kScale,
  kMajor,
  kAligned,
  kSilu,
  kSchedule,
  kSites,
  kColumns
};

using Row = std::array<std::string, kColumns>;

std::vector<Row> read_table() {
  std::istringstream file(test::model_file("expected_traits.tsv"));
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);  // names of the columns
  while (std::getline(file, line)) {
    Row row;
    std::istringstream fields(line);
    for (std::string& field : row) {
      std::getline(fields, field, '\t');
    }
    REQUIRE_FALSE(row[kSites].empty());
    rows.push_back(row);
  }
  return rows;
}

/// The rows of one request.
std::map<std::string, std::vector<Row>> requests_of(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> requests;
  for (const Row& row : rows) {
    std::string key;
    for (const int column : {kModel, kArch, kTp, kEp, kA2a, kRunner}) {
      key += row[static_cast<std::size_t>(column)] + " ";
    }
    requests[key].push_back(row);
  }
  return requests;
}

models::Request request_of(const Row& row) {
  models::Request request = test::sglang(row[kArch], std::stoll(row[kTp]), std::stoll(row[kEp]));
  request.a2a = row[kA2a];
  // The table holds the runner that was resolved; this one is never the default without a dispatch.
  if (row[kRunner] == "deep_gemm" && row[kA2a] == "none") {
    request.moe_runner = "deep_gemm";
  }
  return request;
}

std::string traits_of(const Row& row) {
  if (row[kOp] == "per_token_quant_fp8") {
    return to_text(parse_descriptor("per_token_quant:in=bf16,out=e4m3").traits);
  }
  const std::string scale = row[kScale] == "ue8m0_packed" ? "ue8m0" : "f32";
  return to_text(parse_descriptor("per_token_group_quant:in=bf16,out=e4m3,group=" + row[kGroup] +
                                  ",scale=" + scale + ",layout=" + row[kMajor] +
                                  ",silu=" + (row[kSilu] == "1" ? "true" : "false") +
                                  ",schedule=" + row[kSchedule])
                     .traits);
}

struct TableSite {
  std::string name;
  std::int64_t k = 0;
  std::int64_t groups = 0;  ///< 0: not said
};

/// "a(K=7168,G=56); moe in (K=7168), T>1" and the like.
std::vector<TableSite> sites_of(const std::string& column) {
  std::vector<TableSite> sites;
  for (std::size_t begin = 0; begin < column.size();) {
    const std::size_t end = std::min(column.find("; ", begin), column.size());
    const std::string text = column.substr(begin, end - begin);
    const std::size_t open = text.find("(K=");
    REQUIRE(open != std::string::npos);
    TableSite site;
    site.name = text.substr(0, text.find_last_not_of(' ', open - 1) + 1);
    site.k = std::stoll(text.substr(open + 3));
    const std::size_t groups = text.find(",G=", open);
    site.groups = groups == std::string::npos ? 0 : std::stoll(text.substr(groups + 3));
    sites.push_back(site);
    begin = end + 2;
  }
  return sites;
}

using SiteUse = std::tuple<std::string, std::int64_t, std::string>;  // name, K, traits

void check_row(const Row& row, const models::Derivation& derived, std::set<SiteUse>& uses) {
  for (const TableSite& expected : sites_of(row[kSites])) {
    INFO("site " << expected.name << " for " << traits_of(row));
    const models::Site found = test::site(derived, expected.name);
    CHECK(found.k == expected.k);
    if (expected.groups != 0) {
      CHECK(found.groups == expected.groups);
    }
    if (row[kScale] == "ue8m0_packed") {
      CHECK((found.groups % 4 == 0) == (row[kAligned] == "1"));
    }
    uses.emplace(expected.name, expected.k, traits_of(row));
  }
}

void check_request(const std::vector<Row>& rows) {
  const models::Derivation derived = derive_model(rows.front()[kModel], request_of(rows.front()));
  if (rows.front()[kOp] == "REFUSE") {
    REQUIRE(derived.refusal.has_value());
    CHECK(*derived.refusal == rows.front()[kSites]);
    CHECK(derived.descriptors.empty());
    return;
  }
  REQUIRE(derived.refusal.value_or("") == "");
  if (rows.front()[kOp] == "NONE") {
    CHECK(derived.scheme == "none");
    CHECK(derived.descriptors.empty());
    CHECK(derived.sites.empty());
    return;
  }
  std::set<std::string> expected;
  std::set<SiteUse> uses;
  for (const Row& row : rows) {
    expected.insert(traits_of(row));
    check_row(row, derived, uses);
  }
  CHECK(test::texts(derived) == expected);
  std::set<SiteUse> found;
  for (const models::Site& site : derived.sites) {
    for (const std::string& traits : site.traits) {
      found.emplace(site.name, site.k, traits);
    }
  }
  CHECK(found == uses);
  // Experts in another number format have a runner that is none of ours; dense models have none.
  const std::string& runner = rows.front()[kRunner];
  CHECK(derived.moe_runner == (runner == "-" || runner == "fp4_experts" ? "" : runner));
}

}  // namespace

TEST_CASE("models: every row of the recorded table is derived, and nothing else", "[models]") {
  const std::vector<Row> rows = read_table();
  CHECK(rows.size() == 197);
  const auto requests = requests_of(rows);
  for (const auto& [key, group] : requests) {
    INFO(key);
    check_request(group);
  }
  CHECK(requests.size() == 98);
}
