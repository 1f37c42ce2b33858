// SPDX-License-Identifier: Apache-2.0
// Prewarming with a compiler that gives its input back: what is counted, kept, skipped and said.
#include "kernels/embedded.hpp"
#include "src/service/prewarm_jobs.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

#include <atomic>
#include <fstream>
#include <set>
#include <stdexcept>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::FakeNvrtc;
using quantjit::test::TemporaryDirectory;

namespace fs = std::filesystem;

namespace {

const Arch kHopper = Arch::parse("sm_90a");
const Arch kBlackwell = Arch::parse("sm_100a");

/// A cache root and a compiler.
struct Workshop {
  explicit Workshop(const std::string& variant = "ptx") : compiler(variant) {
    compiler.add_builtins();
    options.cache_roots = std::vector<std::string>{root.path().string()};
    options.nvrtc = compiler.path().string();
  }

  TemporaryDirectory root;
  FakeNvrtc compiler;
  ServiceOptions options;
};

std::vector<PrewarmItem> first_items(std::size_t count, const Arch& arch = kHopper) {
  std::vector<PrewarmItem> items;
  for (const Traits& traits : enumerate_traits()) {
    if (items.size() < count) {
      items.push_back({{traits, MathMode::kAuto}, arch});
    }
  }
  return items;
}

std::size_t entries_of(const ServiceOptions& options) {
  return CacheAdmin(options).list().size();
}

}  // namespace

TEST_CASE("prewarm: distinct pairs are compiled once, and a second service finds them all",
          "[service][prewarm]") {
  const Workshop shop;
  std::vector<PrewarmItem> items = {
      {parse_descriptor("per_token_quant"), kHopper},
      {parse_descriptor("per_token_quant:pdl=true,in=bf16"), kHopper},  // the same
      {parse_descriptor("per_token_quant:math=fast"), kHopper},         // what sm_90a takes anyway
      {parse_descriptor("per_token_quant:math=precise"), kHopper},
      {parse_descriptor("per_token_quant"), kBlackwell},
      {parse_descriptor("per_token_group_quant"), kHopper}};
  for (const int jobs : {1, 4}) {
    INFO(jobs);
    KernelService service(shop.options);
    const PrewarmReport report = service.prewarm(items, {.jobs = jobs});
    CHECK(report.requested == 4);
    CHECK(report.compiled == (jobs == 1 ? 4 : 0));
    CHECK(report.hits == (jobs == 1 ? 0 : 4));
    CHECK(report.failures.empty());
    CHECK(report.complete());
    CHECK(service.stats().compiles == report.compiled);
  }
  CHECK(entries_of(shop.options) == 4);
  CHECK(KernelService(shop.options).prewarm({}).requested == 0);
}

TEST_CASE("prewarm: many jobs compile each pair once", "[service][prewarm]") {
  const Workshop shop;
  const std::vector<PrewarmItem> items = first_items(200);
  KernelService service(shop.options);
  const PrewarmReport report =
      service.prewarm(items, {.jobs = 8, .memory_limit = std::uint64_t{1} << 40U});
  CHECK(report.jobs == 8);
  CHECK(report.compiled == 200);
  CHECK(service.stats().compiles == 200);
  CHECK(entries_of(shop.options) == 200);
  // What is on disk is not kept in memory too.
  ImageSource source{};
  service.get_image(items.front().descriptor, kHopper, &source);
  CHECK(source == ImageSource::kDisk);
}

TEST_CASE("prewarm: an entry that is damaged is no hit", "[service][prewarm]") {
  const Workshop shop;
  const std::vector<PrewarmItem> items = first_items(20);
  REQUIRE(KernelService(shop.options).prewarm(items).complete());
  const std::vector<CacheEntry> entries = CacheAdmin(shop.options).list();
  {
    std::fstream file(entries.at(3).path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-40, std::ios::end);
    const int old = file.peek();
    file.seekp(-40, std::ios::end);
    file.put(static_cast<char>(old ^ 1));
  }
  fs::resize_file(entries.at(7).path, 100);
  fs::remove(entries.at(9).path);
  const PrewarmReport report = KernelService(shop.options).prewarm(items);
  CHECK(report.hits == 17);
  CHECK(report.compiled == 3);
  CHECK(CacheAdmin(shop.options).verify().bad.empty());
  CHECK(KernelService(shop.options).prewarm(items).hits == 20);
}

TEST_CASE("prewarm: one pair's failure leaves the others alone and is listed with its log",
          "[service][prewarm]") {
  const Workshop shop;
  const TemporaryDirectory kernels;
  for (const auto& source : kernels::embedded_sources()) {
    const fs::path file = kernels.path() / source.path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << source.text;
  }
  std::ofstream(kernels.path() / "per_token_quant.cuh", std::ios::app) << "#include NAME\n";
  ServiceOptions options = shop.options;
  options.kernel_dir = kernels.path().string();
  const PrewarmReport report =
      KernelService(options).prewarm({{parse_descriptor("per_token_group_quant"), kHopper},
                                      {parse_descriptor("per_token_quant:math=precise"), kHopper},
                                      {parse_descriptor("per_token_group_quant"), kBlackwell}});
  CHECK(report.requested == 3);
  CHECK(report.compiled == 2);
  CHECK_FALSE(report.complete());
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0].traits == to_text(parse_descriptor("per_token_quant:math=precise")));
  CHECK(report.failures[0].arch == kHopper);
  CHECK_THAT(report.failures[0].error, ContainsSubstring("per_token_quant.cuh"));

  const Workshop broken("alone");  // of a version whose companion does not exist
  const PrewarmReport all_failed = KernelService(broken.options).prewarm(first_items(5));
  CHECK(all_failed.requested == 5);
  REQUIRE(all_failed.failures.size() == 5);
  CHECK_THAT(all_failed.failures[4].log, ContainsSubstring("libnvrtc-builtins"));
  CHECK(entries_of(broken.options) == 0);
}

TEST_CASE("prewarm: what is no request at all is refused before anything is compiled",
          "[service][prewarm]") {
  const Workshop shop;
  KernelService service(shop.options);
  Descriptor invalid = parse_descriptor("per_token_group_quant");
  std::get<PerTokenGroupQuant>(invalid.traits).group = 77;
  CHECK_THROWS_AS(
      service.prewarm({{parse_descriptor("per_token_quant"), kHopper}, {invalid, kHopper}}),
      InvalidArgument);
  CHECK_THROWS_AS(service.prewarm({}, {.jobs = -1}), InvalidArgument);
  CHECK(service.stats().compiles == 0);
}

TEST_CASE("prewarm: cancelling begins nothing more and keeps what is done", "[service][prewarm]") {
  const Workshop shop;
  const std::vector<PrewarmItem> items = first_items(50);
  std::atomic<bool> cancel{false};
  PrewarmOptions options{.jobs = 1, .cancel = &cancel};
  options.progress = [&](const PrewarmProgress& progress) { cancel = progress.done() == 7; };
  const PrewarmReport report = KernelService(shop.options).prewarm(items, options);
  CHECK(report.cancelled);
  CHECK(report.requested == 50);
  CHECK(report.compiled == 7);
  CHECK(report.failures.empty());
  CHECK(entries_of(shop.options) == 7);
  CHECK(CacheAdmin(shop.options).verify().bad.empty());

  cancel = true;
  options.progress = nullptr;
  CHECK(KernelService(shop.options).prewarm(items, options).hits == 0);
  options.cancel = nullptr;
  const PrewarmReport rest = KernelService(shop.options).prewarm(items, options);
  CHECK(rest.hits == 7);
  CHECK(rest.compiled == 43);
  CHECK_FALSE(rest.cancelled);
}

TEST_CASE("prewarm: progress counts up to the end, by one thread at a time", "[service][prewarm]") {
  const Workshop shop;
  std::vector<PrewarmProgress> seen;
  std::atomic<int> inside{0};
  bool alone = true;
  PrewarmOptions options{.jobs = 4, .memory_limit = std::uint64_t{1} << 40U};
  options.progress = [&](const PrewarmProgress& progress) {
    alone = alone && ++inside == 1;
    seen.push_back(progress);
    --inside;
  };
  static_cast<void>(KernelService(shop.options).prewarm(first_items(10)));
  static_cast<void>(KernelService(shop.options).prewarm(first_items(30), options));
  CHECK(alone);
  REQUIRE(seen.size() == 31);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].requested == 30);
    CHECK(seen[i].done() == i);
  }
  CHECK(seen.back().hits == 10);
  CHECK(seen.back().compiled == 20);
}

TEST_CASE("prewarm: what the progress callback throws ends it", "[service][prewarm]") {
  const Workshop shop;
  PrewarmOptions options{.jobs = 2};
  options.progress = [](const PrewarmProgress& progress) {
    if (progress.done() == 3) {
      throw std::domain_error("enough");
    }
  };
  KernelService service(shop.options);
  CHECK_THROWS_AS(service.prewarm(first_items(40), options), std::domain_error);
  CHECK(service.stats().compiles < 40);
  options.progress = [](const PrewarmProgress&) { throw std::domain_error("at once"); };
  CHECK_THROWS_AS(service.prewarm(first_items(40), options), std::domain_error);
}

TEST_CASE("prewarm: where compiling is not allowed it only counts", "[service][prewarm]") {
  const Workshop shop;
  REQUIRE(KernelService(shop.options).prewarm(first_items(3)).complete());
  const auto check = [](KernelService& service) {
    const PrewarmReport report = service.prewarm(first_items(5));
    CHECK(report.requested == 5);
    CHECK(report.hits == 3);
    CHECK(report.compiled == 0);
    REQUIRE(report.failures.size() == 2);
    CHECK_THAT(report.failures[0].error, ContainsSubstring("compiling is not allowed"));
    CHECK(service.stats().compiles == 0);
  };
  ServiceOptions off = shop.options;
  off.jit = false;
  KernelService without_jit(off);
  check(without_jit);
  KernelService sealed(shop.options);
  sealed.seal();
  check(sealed);
}

TEST_CASE("prewarm: without a disk root the images stay in memory", "[service][prewarm]") {
  const Workshop shop;
  ServiceOptions options = shop.options;
  options.cache_roots = std::vector<std::string>{};
  KernelService service(options);
  CHECK(service.prewarm(first_items(4)).compiled == 4);
  CHECK(service.prewarm(first_items(4)).hits == 4);
  service.seal();
  ImageSource source{};
  service.get_image(first_items(4).back().descriptor, kHopper, &source);
  CHECK(source == ImageSource::kMemory);
}

TEST_CASE("prewarm: every valid descriptor", "[service][prewarm]") {
  const Workshop shop;
  const std::vector<PrewarmItem> items = first_items(100000, kBlackwell);
  CHECK(KernelService(shop.options).prewarm(items).compiled == items.size());
  KernelService next(shop.options);
  const PrewarmReport report = next.prewarm(items);
  CHECK(report.hits == items.size());
  CHECK_FALSE(next.stats().nvrtc_loaded);
}

TEST_CASE("prewarm: jobs are as many as wanted, and as memory allows", "[service][prewarm]") {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  CHECK(service::limit_jobs(16, std::nullopt) == 16);
  CHECK(service::limit_jobs(16, 1000000 * kMiB) == 16);
  CHECK(service::limit_jobs(16, 0) == 1);
  CHECK(service::limit_jobs(1, 0) == 1);
  int before = 1;
  for (std::uint64_t mib = 0; mib < 4096; mib += 64) {
    const int jobs = service::limit_jobs(16, mib * kMiB);
    INFO(mib);
    CHECK(jobs >= before);
    CHECK(jobs <= 16);
    before = jobs;
  }
  CHECK(before == 16);
}
