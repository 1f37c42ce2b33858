// SPDX-License-Identifier: Apache-2.0
// A service with remote tiers: whatever they do, every request gets the right kernel.
#include "tests/support/catch.hpp"
#include "tests/support/remote_machine.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>

using namespace quantjit;
using namespace quantjit::test;
using remote::Outcome;

TEST_CASE(
    "remote: what one machine compiled the next one takes, stores on disk and need not ask for",
    "[service][remote]") {
  MemoryServer server;
  const Machine first;
  const Machine second;
  {
    KernelService service = first.with(tier(server));
    const Got got = get(service);
    CHECK(got.source == ImageSource::kCompiled);
    CHECK(service.flush_remote(kLong));
    CHECK(service.stats().remote_puts == 1);
    CHECK(service.stats().remote_misses == 1);
  }
  KernelService service = second.with(tier(server));
  const Got got = get(service);
  CHECK(got.source == ImageSource::kRemote);
  CHECK(code_of(got.image) == right_code());
  CHECK(got.image.info().key == entry_key());
  CHECK(got.image.info().toolchain_match);
  CHECK(got.image.info().path.starts_with(second.root.path().string()));
  CHECK(get(service).source == ImageSource::kMemory);
  CHECK(service.stats().compiles == 0);
  CHECK(service.stats().remote_hits == 1);
  CHECK_FALSE(service.stats().nvrtc_loaded);
  REQUIRE(service.remote_stats().size() == 1);
  CHECK(service.remote_stats()[0].hits == 1);
  KernelService next = second.with(tier(server));
  CHECK(get(next).source == ImageSource::kDisk);
  CHECK(next.stats().remote_hits + next.stats().remote_misses == 0);
  CHECK(CacheAdmin(second.options).verify().bad.empty());
}

TEST_CASE("remote: a hit in a later tier is put into those before, and a compile into all",
          "[service][remote]") {
  MemoryServer near;
  MemoryServer far;
  const Machine first;
  const Machine second;
  KernelService writer = first.with(tier(far));
  get(writer);
  CHECK(writer.flush_remote(kLong));
  KernelService service = second.with(tier(near), tier(far));
  CHECK(get(service).source == ImageSource::kRemote);
  CHECK(get(service, "per_token_quant").source == ImageSource::kCompiled);
  CHECK(service.flush_remote(kLong));
  CHECK(service.remote_stats()[0].puts == 2);
  CHECK(service.remote_stats()[1].puts == 1);
  CHECK(near.items() == far.items());
}

TEST_CASE("remote: damaged, foreign and oversized answers are compiled around and repaired",
          "[service][remote]") {
  MemoryServer server;
  const Machine writer;
  std::string good;
  {
    KernelService service = writer.with(tier(server));
    get(service);
    get(service, "per_token_quant");
    REQUIRE(service.flush_remote(kLong));
  }
  const std::string name = entry_key();
  const std::string other = server.items().at(entry_key("per_token_quant"));
  good = server.items().at(name);
  std::vector<std::string> bodies = {"", good.substr(0, good.size() / 2), good + "x", other,
                                     std::string(100, '\0')};
  std::string flipped = good;
  flipped[good.size() - 100] = static_cast<char>(flipped[good.size() - 100] ^ 4);
  bodies.push_back(flipped);
  // Whole and of the right key, but of other metadata: only this side can tell.
  cache::Entry lying = cache::parse(good).entry.value();
  lying.metadata = cache::parse(other).entry.value().metadata;
  bodies.push_back(cache::serialize(lying));
  for (const std::string& body : bodies) {
    CAPTURE(body.size());
    const Machine machine;
    const std::size_t dash = name.find('-');
    server.store({name.substr(0, dash), name.substr(dash + 1)}, body);
    KernelService service = machine.with(tier(server));
    const Got got = get(service);
    CHECK(got.source == ImageSource::kCompiled);
    CHECK(code_of(got.image) == right_code());
    CHECK(service.flush_remote(kLong));
    CHECK(service.stats().remote_rejected == 1);
    CHECK(cache::parse(server.items().at(name)).entry.has_value());
    CHECK(server.items().at(name) != body);
  }
  const Machine machine;
  KernelService service = machine.with(tier(server, {.max_entry = 1000}));
  CHECK(get(service).source == ImageSource::kCompiled);
  CHECK(service.stats().remote_failures == 1);
}

TEST_CASE("remote: a dead tier costs one call, and the requests after it none",
          "[service][remote]") {
  MemoryServer dead;
  dead.faults.get = [] { return Outcome::kFailed; };
  dead.faults.put = [] { return Outcome::kFailed; };
  MemoryServer good;
  const Machine machine;
  KernelService service = machine.with(tier(dead), tier(good));
  const std::vector<PrewarmItem> items = first_items(20);
  const PrewarmReport report = service.prewarm(items, {.jobs = 1});
  CHECK(report.compiled == 20);
  CHECK(service.flush_remote(kLong));
  CHECK(dead.calls("get") + dead.calls("put") == 1);
  CHECK(service.remote_stats()[0].failures == 1);
  CHECK(service.remote_stats()[0].benched);
  CHECK(service.remote_stats()[1].puts == 20);
}

TEST_CASE("remote: prewarming counts what tiers have as hits", "[service][remote]") {
  MemoryServer server;
  const std::vector<PrewarmItem> items = first_items(30);
  const Machine first;
  {
    KernelService service = first.with(tier(server));
    CHECK(service.prewarm(items, {.jobs = 4}).compiled == 30);
    CHECK(service.flush_remote(kLong));
  }
  const Machine second;
  KernelService service = second.with(tier(server));
  const PrewarmReport report = service.prewarm(items, {.jobs = 4});
  CHECK(report.hits == 30);
  CHECK(report.compiled == 0);
  CHECK(report.complete());
  CHECK(CacheAdmin(second.options).list().size() == 30);
  CHECK(KernelService(second.options).prewarm(items).hits == 30);
}

TEST_CASE("remote: a machine without a compiler takes the newest entry of any",
          "[service][remote]") {
  MemoryServer server;
  const Machine first;
  KernelService writer = first.with(tier(server));
  get(writer);
  CHECK(writer.flush_remote(kLong));
  Machine second;
  {
    KernelService service = second.without_nvrtc().with(tier(server));
    const Got got = get(service);
    CHECK(got.source == ImageSource::kRemote);
    CHECK_FALSE(got.image.info().toolchain_match);
    CHECK(code_of(got.image) == right_code());
    CHECK_THROWS_AS(get(service, "per_token_quant"), CompileError);
    CHECK_THROWS_WITH(get(service, "per_token_quant"),
                      ContainsSubstring("Nor could it be had from a remote tier") &&
                          ContainsSubstring("memory://server"));
  }
  KernelService next(second.options);
  CHECK(get(next).source == ImageSource::kDisk);
}

TEST_CASE("remote: with jit off tiers are asked, and nobody compiles; sealed, nobody is asked",
          "[service][remote]") {
  MemoryServer server;
  server.compiles = false;
  const Machine first;
  KernelService writer = first.with(tier(server));
  get(writer);
  CHECK(writer.flush_remote(kLong));
  MemoryServer service_of_compiles;
  service_of_compiles.compiles = true;
  Machine second;
  second.options.jit = false;
  {
    KernelService service = second.with(tier(server), tier(service_of_compiles));
    CHECK(get(service).source == ImageSource::kRemote);
    CHECK_THROWS_AS(get(service, "per_token_quant"), SealedMiss);
    CHECK(service_of_compiles.calls("compile") == 0);
    const PrewarmReport report = service.prewarm(
        {{parse_descriptor(kText), kHopper}, {parse_descriptor("per_token_quant"), kHopper}});
    CHECK(report.hits == 1);
    CHECK(report.failures.size() == 1);
  }
  const Machine third;
  KernelService sealed = third.with(tier(server));
  sealed.seal();
  const int before = server.calls("get");
  CHECK_THROWS_AS(get(sealed), SealedMiss);
  CHECK(sealed.prewarm({{parse_descriptor(kText), kHopper}}).failures.size() == 1);
  CHECK(server.calls("get") == before);
}
