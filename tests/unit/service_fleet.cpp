// SPDX-License-Identifier: Apache-2.0
// Machines that compile for each other, and tiers as settings name them.
#include "tests/support/catch.hpp"
#include "tests/support/remote_machine.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <stdlib.h>  // setenv

using namespace quantjit;
using namespace quantjit::test;
using remote::Outcome;
using std::chrono::milliseconds;

namespace fs = std::filesystem;

TEST_CASE("remote: a compile service is asked before this machine compiles, and its answer shared",
          "[service][remote]") {
  const Machine builder;
  KernelService maker(builder.options);
  MemoryServer service_of_compiles;
  service_of_compiles.compiles = true;
  nlohmann::json seen;
  const auto compile = [&](std::string_view order) {
    seen = nlohmann::json::parse(order);
    const Image image = maker.get_image(parse_descriptor(seen.at("traits").get<std::string>()),
                                        Arch::parse(seen.at("arch").get<std::string>()));
    std::ifstream file(image.info().path, std::ios::binary);
    return remote::Reply{Outcome::kFound, {std::istreambuf_iterator<char>(file), {}}, {}};
  };
  service_of_compiles.faults.compile = compile;
  MemoryServer redis;
  redis.leases = true;
  const std::string key = entry_key();
  SECTION("with a compiler here, of its toolchain") {
    const Machine machine;
    KernelService service = machine.with(tier(redis), tier(service_of_compiles));
    CHECK(get(service).source == ImageSource::kRemote);
    CHECK(service.flush_remote(kLong));
    CHECK(seen == nlohmann::json{{"traits", to_text(parse_descriptor(kText))},
                                 {"arch", "sm_90a"},
                                 {"math", "fast"},
                                 {"code", "cubin"},
                                 {"request", key.substr(0, 64)},
                                 {"toolchain", key.substr(65)},
                                 {"at_once", true}});  // since it has the lease of the fleet
    CHECK(service.stats().compiles == 0);
    CHECK(service.stats().service_compiles == 1);
    CHECK(redis.items().contains(key));
    CHECK(redis.calls("release") == 1);
  }
  SECTION("without one, of any; a busy one is asked again") {
    Machine machine;
    int busy = 2;
    service_of_compiles.faults.compile = [&](std::string_view order) {
      return busy-- > 0 ? remote::Reply{Outcome::kRefused, {}, "the queue is full", true}
                        : compile(order);
    };
    KernelService service = machine.without_nvrtc().with(tier(redis), tier(service_of_compiles));
    const Got got = get(service);
    CHECK(got.source == ImageSource::kRemote);
    CHECK(code_of(got.image) == right_code());
    CHECK_FALSE(seen.contains("toolchain"));
    CHECK(service_of_compiles.calls("compile") == 3);
  }
  SECTION("what it refuses is compiled here; operations of the program are not sent") {
    service_of_compiles.faults.compile = [](std::string_view) {
      return remote::Reply{Outcome::kRefused, {}, "other sources"};
    };
    const Machine machine;
    KernelService service = machine.with(tier(redis), tier(service_of_compiles));
    CHECK(get(service).source == ImageSource::kCompiled);
    CHECK(get(service, "per_token_quant").source == ImageSource::kCompiled);
    CHECK(service_of_compiles.calls("compile") == 1);
    CHECK(service.flush_remote(kLong));
    CHECK(service.remote_stats()[0].puts == 2);
  }
}

TEST_CASE("remote: of many machines that want the same kernels each is compiled once",
          "[service][remote]") {
  MemoryServer server;
  server.leases = true;
  const remote::RemoteOptions how{.flush_limit = kLong,
                                  .fleet = {.duration = kLong,
                                            .limit = kLong,
                                            .poll_first = milliseconds(1),
                                            .poll_last = milliseconds(5)}};
  const std::vector<PrewarmItem> items = first_items(12);
  const std::vector<Machine> machines(8);
  std::vector<std::future<ServiceStats>> results;
  for (const Machine& machine : machines) {
    results.push_back(std::async(std::launch::async, [&] {
      KernelService service = machine.with(how, tier(server));
      const PrewarmReport report = service.prewarm(items, {.jobs = 2});
      if (!report.complete() || report.requested != items.size()) {
        throw std::runtime_error("not all could be had");
      }
      return service.stats();
    }));
  }
  std::uint64_t compiles = 0;
  std::uint64_t hits = 0;
  for (std::future<ServiceStats>& result : results) {
    const ServiceStats stats = result.get();
    compiles += stats.compiles;
    hits += stats.remote_hits;
  }
  CHECK(compiles == items.size());
  CHECK(hits == items.size() * (machines.size() - 1));
  for (const Machine& machine : machines) {
    CHECK(CacheAdmin(machine.options).list().size() == items.size());
  }
}

TEST_CASE("remote: a failed compile gives the lease back", "[service][remote]") {
  MemoryServer server;
  server.leases = true;
  const FakeNvrtc broken("alone");  // lacks a part
  Machine machine;
  machine.options.nvrtc = broken.path().string();
  KernelService service = machine.with(tier(server));
  CHECK_THROWS_AS(get(service), CompileError);
  CHECK_THROWS_AS(get(service), CompileError);
  CHECK(server.calls("acquire") == 2);
  CHECK(server.calls("release") == 2);
}

TEST_CASE("remote: directories as tiers, by option and by variable", "[service][remote]") {
  const TemporaryDirectory share;
  Machine first;
  Machine second;
  const std::string url = "file://" + share.path().string();
  first.options.remote = {url};
  second.options.remote = {"file:///nonexistent?readonly=1", url + "?readonly=1"};
  {
    KernelService service(first.options);
    CHECK(get(service).source == ImageSource::kCompiled);
  }  // flushes
  KernelService service(second.options);
  const Got got = get(service);
  CHECK(got.source == ImageSource::kRemote);
  CHECK(code_of(got.image) == right_code());
  CHECK(service.remote_stats().size() == 2);
  CHECK(service.remote_stats()[1].label == url);
  CHECK_FALSE(service.remote_stats()[1].writable);

  REQUIRE(::setenv("QUANTJIT_REMOTE", ("  " + url + "  redis://cache:1234 ").c_str(), 1) == 0);
  CHECK(ServiceOptions::from_environment().remote ==
        std::vector<std::string>{url, "redis://cache:1234"});
  REQUIRE(::setenv("QUANTJIT_REMOTE", "redis://user:secret@cache:1234?no_such=1", 1) == 0);
  try {
    static_cast<void>(ServiceOptions::from_environment());
    FAIL("it is not valid");
  } catch (const InvalidArgument& error) {
    CHECK(error.parameter() == "QUANTJIT_REMOTE");
    CHECK_THAT(error.what(), ContainsSubstring("no_such") && !ContainsSubstring("secret"));
  }
  REQUIRE(::unsetenv("QUANTJIT_REMOTE") == 0);
  ServiceOptions wrong = first.options;
  wrong.remote = {"gopher://host"};
  CHECK_THROWS_AS(KernelService(wrong), InvalidArgument);
}

TEST_CASE("remote: with a key file only entries sealed under it are taken", "[service][remote]") {
  const TemporaryDirectory share;
  const TemporaryDirectory secrets;
  const auto key_file = [&](const std::string& name, const std::string& text) {
    const fs::path file = secrets.path() / name;
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file.string();
  };
  const std::string url = "file://" + share.path().string();
  const std::string ours = url + "?mac=" + key_file("ours", "0123456789abcdef");
  const std::string theirs = url + "?mac=" + key_file("theirs", "fedcba9876543210");
  const auto source = [&](const std::string& remote) {
    Machine machine;
    machine.options.remote = {remote};
    KernelService service(machine.options);
    const Got got = get(service);
    CHECK(code_of(got.image) == right_code());
    return got.source;
  };
  CHECK(source(ours) == ImageSource::kCompiled);
  CHECK(source(ours) == ImageSource::kRemote);
  CHECK(source(url + "?readonly=1") == ImageSource::kCompiled);
  CHECK(source(theirs + "&readonly=1") == ImageSource::kCompiled);
  const std::string open = key_file("open", "0123456789abcdef");
  fs::permissions(open, fs::perms::others_read, fs::perm_options::add);
  CHECK(source(url + "?readonly=1&mac=" + open) == ImageSource::kCompiled);
  CHECK(source(ours + "&readonly=1") == ImageSource::kRemote);
}
