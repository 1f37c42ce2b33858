// SPDX-License-Identifier: Apache-2.0
// Statistics as Prometheus reads them.
#include "src/base/exposition.hpp"
#include "src/base/time_histogram.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/exposition_reader.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"

#include <quantjit/error.hpp>
#include <quantjit/metrics.hpp>
#include <quantjit/version.hpp>

#include <chrono>
#include <stdexcept>

using namespace quantjit;
using quantjit::base::Exposition;
using quantjit::test::Family;
using quantjit::test::read_exposition;

namespace {

using Families = std::map<std::string, Family>;

double value_of(const Families& families, const std::string& name, const std::string& label = {},
                const std::string& value = {}) {
  for (const test::Sample& sample : families.at(name).samples) {
    if (label.empty() || sample.labels.at(label) == value) {
      return sample.value;
    }
  }
  throw std::runtime_error(name + " has no sample with " + label + "=" + value);
}

}  // namespace

TEST_CASE("Exposition: texts of any kind come back as they were", "[base][metrics]") {
  const std::string hostile = "a\\b\"c\nd{e=\"f\"} \xc3\xa4 \\n";
  Exposition text;
  text.family("quantjit_x_total", Exposition::Kind::kCounter, hostile);
  text.sample(std::uint64_t{18446744073709551615u}, {{"tier", hostile}, {"host", ""}});
  text.gauge("quantjit_y", "A value.", 0.1);
  const Families families = read_exposition(text.take());
  REQUIRE(families.size() == 2);
  CHECK(families.at("quantjit_x_total").help == hostile);
  const test::Sample& sample = families.at("quantjit_x_total").samples.at(0);
  CHECK(sample.labels == std::map<std::string, std::string>{{"tier", hostile}, {"host", ""}});
  CHECK(sample.value == 18446744073709551615.0);
  CHECK(value_of(families, "quantjit_y") == 0.1);
}

TEST_CASE("Exposition: numbers are written as the format has them", "[base][metrics]") {
  CHECK(base::exposition_number(0.25) == "0.25");
  CHECK(base::exposition_number(INFINITY) == "+Inf");
  CHECK(base::exposition_number(-INFINITY) == "-Inf");
  CHECK(base::exposition_number(std::nan("")) == "NaN");
}

TEST_CASE("the reader of the tests refuses what breaks the format", "[metrics]") {
  const std::string head = "# HELP a A.\n# TYPE a gauge\n";
  CHECK_NOTHROW(read_exposition(head + "a 1\n"));
  for (const std::string bad :
       {"a 1", "b 1\n", "a{x=\"1\",x=\"2\"} 1\n", "a{x=\"\\t\"} 1\n", "a{0=\"\"} 1\n", "a one\n",
        "a 1\na 1\n", "# TYPE a gauge\n", "# HELP a A.\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read_exposition(head + bad), std::runtime_error);
  }
  CHECK_THROWS_AS(read_exposition("# HELP a A.\n# TYPE a counter\na 1\n"), std::runtime_error);
  CHECK_THROWS_AS(read_exposition("# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\n"
                                  "a_count 1\n"),
                  std::runtime_error);
}

TEST_CASE("TimeHistogram: a time on a bound is within it", "[base][metrics]") {
  base::TimeHistogram times;
  for (const double seconds : {0.0, 0.0005, 0.000501, 60.0, 61.0}) {
    times.add(seconds);
  }
  const base::TimeHistogram::Counts counts = times.counts();
  CHECK(counts[0] == 2);
  CHECK(counts[1] == 1);
  CHECK(counts[15] == 1);
  CHECK(counts[16] == 1);
  CHECK(times.seconds() == 121.001001);
}

TEST_CASE("prometheus_text: remote tiers in lookup order, also two of one name",
          "[service][metrics]") {
  test::FakeNvrtc compiler("ptx");
  compiler.add_builtins();
  const test::TemporaryDirectory shared;
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{};
  options.nvrtc = compiler.path().string();
  const std::string url = "file://" + shared.path().string();
  options.remote = {url + "?readonly=1", url};
  KernelService service(options);
  service.get_image(parse_descriptor("per_token_quant"), Arch::parse("sm_90a"));
  REQUIRE(service.flush_remote(std::chrono::seconds(60)));
  const Families families = read_exposition(prometheus_text(service));
  CHECK(value_of(families, "quantjit_remote_puts_total", "place", "0") == 0);
  CHECK(value_of(families, "quantjit_remote_puts_total", "place", "1") == 1);
  CHECK(value_of(families, "quantjit_remote_written_bytes_total", "place", "1") > 100);
  CHECK(value_of(families, "quantjit_remote_benched", "place", "0") == 0);
  KernelService second(options);
  second.get_image(parse_descriptor("per_token_quant"), Arch::parse("sm_90a"));
  const Families found = read_exposition(prometheus_text(second));
  CHECK(value_of(found, "quantjit_hits_total", "tier", "remote") == 1);
  CHECK(value_of(found, "quantjit_remote_hits_total", "place", "0") == 1);
  CHECK(value_of(found, "quantjit_compiles_total") == 0);
}

TEST_CASE("prometheus_text: the counters of a service, in the format's rules",
          "[service][metrics]") {
  test::FakeNvrtc compiler("ptx");
  compiler.add_builtins();
  test::TemporaryDirectory root;
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{root.path().string()};
  options.nvrtc = compiler.path().string();
  KernelService service(options);
  CHECK(value_of(read_exposition(prometheus_text(service)), "quantjit_requests_total") == 0);

  const Arch arch = Arch::parse("sm_90a");
  for (const char* const traits :
       {"per_token_quant", "per_token_quant", "per_token_quant:in=f16"}) {
    service.get_image(parse_descriptor(traits), arch);
  }
  // The fake compiler does not know this one.
  CHECK_THROWS_AS(service.get_image(parse_descriptor("per_token_quant"), Arch::parse("sm_120a")),
                  CompileError);
  KernelService second(options);
  second.get_image(parse_descriptor("per_token_quant"), arch);
  second.seal();
  CHECK_THROWS_AS(second.get_image(parse_descriptor("per_token_quant:in=f32"), arch), SealedMiss);

  const Families first = read_exposition(prometheus_text(service));
  CHECK(value_of(first, "quantjit_build_info", "version", kVersion) == 1);
  CHECK(value_of(first, "quantjit_requests_total") == 4);
  CHECK(value_of(first, "quantjit_hits_total", "tier", "memory") == 1);
  CHECK(value_of(first, "quantjit_compiles_total") == 3);
  CHECK(value_of(first, "quantjit_compile_failures_total") == 1);
  CHECK(value_of(first, "quantjit_nvrtc_loaded") == 1);
  const std::vector<test::Sample>& seconds = first.at("quantjit_compile_seconds").samples;
  CHECK(seconds.back().value == 2);
  const Families other = read_exposition(prometheus_text(second));
  CHECK(value_of(other, "quantjit_hits_total", "tier", "disk") == 1);
  CHECK(value_of(other, "quantjit_sealed_misses_total") == 1);
  CHECK(other.at("quantjit_compile_seconds").samples.back().value == 0);
}
