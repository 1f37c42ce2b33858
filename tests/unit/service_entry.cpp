// SPDX-License-Identifier: Apache-2.0
// Entries as bytes, with a compiler that gives its input back.
#include "cache/entry.hpp"
#include "cache/store.hpp"
#include "src/service/body.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/entry.hpp>
#include <quantjit/error.hpp>

using namespace quantjit;
using quantjit::test::FakeNvrtc;
using quantjit::test::TemporaryDirectory;

namespace {

const EntryQuery kQuery{parse_descriptor("per_token_quant"), Arch::parse("sm_90a")};

struct Place {
  Place() {
    compiler.add_builtins();
    options.cache_roots = std::vector<std::string>{root.path().string()};
    options.nvrtc = compiler.path().string();
  }

  TemporaryDirectory root;
  FakeNvrtc compiler{"ptx"};
  ServiceOptions options;
};

}  // namespace

TEST_CASE("entries: what is handed on is the file of the cache, and nothing stays in memory",
          "[service][entry]") {
  const Place place;
  KernelService service(place.options);
  CHECK_FALSE(find_entry(service, kQuery));
  const EntryBytes made = get_entry(service, kQuery);
  CHECK(made.source == ImageSource::kCompiled);
  const EntryId id = identify_entry(service, kQuery);
  CHECK(made.key == id.request + "-" + id.toolchain);
  const std::string path = CacheAdmin(place.options).inspect(made.key).value().info.path;
  CHECK(made.bytes == cache::read_all(path));
  CHECK(service.body().images.empty());

  for (const std::string& name : {made.key, id.request}) {
    const std::optional<EntryBytes> read = read_entry(service, name);
    REQUIRE(read);
    CHECK(read->key == made.key);
    CHECK(read->bytes == made.bytes);
  }
  const std::optional<EntryBytes> found = find_entry(service, kQuery);
  REQUIRE(found);
  CHECK(found->source == ImageSource::kDisk);
  CHECK(found->bytes == made.bytes);
  const cache::ParsedEntry parsed = cache::parse(found->bytes);
  REQUIRE(parsed.entry);
  CHECK(parsed.entry->key.name() == made.key);
  CHECK(service.stats().requests == 2);
  CHECK(service.stats().compiles == 1);
}

TEST_CASE("entries: without a disk they come from memory", "[service][entry]") {
  Place place;
  place.options.cache_roots = std::vector<std::string>{};
  KernelService service(place.options);
  const EntryBytes made = get_entry(service, kQuery);
  const EntryBytes again = get_entry(service, kQuery);
  CHECK(again.source == ImageSource::kMemory);
  CHECK(again.bytes == made.bytes);
  CHECK(find_entry(service, kQuery).value().source == ImageSource::kMemory);
  CHECK_FALSE(read_entry(service, made.key));
}

TEST_CASE("entries: the code kind is part of what is asked for", "[service][entry]") {
  const Place place;
  KernelService service(place.options);
  EntryQuery ptx = kQuery;
  ptx.code = CodeKind::kPtx;
  CHECK(identify_entry(service, ptx).request != identify_entry(service, kQuery).request);
  CHECK(get_entry(service, ptx).key != get_entry(service, kQuery).key);
}

TEST_CASE("entries: by request alone the newest toolchain's that is whole", "[service][entry]") {
  const Place place;
  KernelService service(place.options);
  cache::CubinStore& store = service.body().store;
  const cache::Entry entry = cache::make_entry(1);
  const cache::Entry newer = cache::with_toolchain(entry, 2, 13001);
  const cache::Entry newest = cache::with_toolchain(entry, 3, 13002);
  for (const cache::Entry* const one : {&newer, &entry, &newest}) {
    REQUIRE(store.publish(*one).status == cache::PublishStatus::kPublished);
  }
  CHECK(store.keys_of(entry.key.request) ==
        std::vector<cache::EntryKey>{newest.key, newer.key, entry.key});
  CHECK(read_entry(service, entry.key.request).value().key == newest.key.name());
  const std::string path = store.peek(newest.key).path;
  std::string damaged = cache::read_all(path);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  cache::write_file(path, damaged);
  CHECK(read_entry(service, entry.key.request).value().key == newer.key.name());
  CHECK_FALSE(read_entry(service, newest.key.name()));
}

TEST_CASE("entries: one whose key text does not make its key is not handed on",
          "[service][entry]") {
  const Place place;
  KernelService service(place.options);
  cache::Entry entry = cache::make_entry(1);
  entry.key_text += "arch=sm_100a\n";
  REQUIRE(service.body().store.publish(entry).status == cache::PublishStatus::kPublished);
  CHECK_FALSE(read_entry(service, entry.key.name()));
  CHECK_FALSE(read_entry(service, entry.key.request));
}

TEST_CASE("entries: what is no key is refused", "[service][entry]") {
  const Place place;
  KernelService service(place.options);
  const std::string request(64, 'a');
  for (const std::string& text :
       {std::string(), std::string("x"), request + "-", request + "-" + std::string(16, 'g'),
        std::string(64, 'A'), request + "-" + std::string(16, '0') + ".qjc", "../" + request,
        request + "/../../etc/passwd", std::string(1 << 20, 'a')}) {
    CHECK_THROWS_AS(read_entry(service, text), InvalidArgument);
  }
}

TEST_CASE("entries: warming loads the compiler and counts nowhere", "[service][entry]") {
  const Place place;
  KernelService service(place.options);
  CHECK(warm_compiler(service));
  CHECK(service.stats().nvrtc_loaded);
  CHECK(service.stats().compiles == 0);
  ServiceOptions without = place.options;
  without.nvrtc = "/nonexistent/libnvrtc.so";
  KernelService other(without);
  CHECK_FALSE(warm_compiler(other));
  CHECK(identify_entry(other, kQuery).toolchain.empty());
}
