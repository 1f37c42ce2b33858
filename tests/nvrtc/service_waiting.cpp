// SPDX-License-Identifier: Apache-2.0
// A service that finds another process at work on its kernel.
#include "cache/store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/service.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace quantjit;
using quantjit::test::TemporaryDirectory;

namespace fs = std::filesystem;

namespace {

ServiceOptions options_in(const fs::path& root) {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{root.string()};
  return options;
}

cache::StoreOptions store_in(const fs::path& root) {
  cache::StoreOptions options;
  options.roots = {{root.string(), {}}};
  return options;
}

}  // namespace

TEST_CASE("KernelService: an image that another process compiled meanwhile carries its path",
          "[nvrtc]") {
  const Descriptor descriptor = parse_descriptor("per_token_quant");
  const Arch arch = Arch::parse("sm_90a");
  const TemporaryDirectory elsewhere;
  const Image original = KernelService(options_in(elsewhere.path())).get_image(descriptor, arch);
  const auto key = cache::EntryKey::parse(original.info().key);
  REQUIRE(key.has_value());
  const auto entry = cache::CubinStore(store_in(elsewhere.path())).peek(*key).entry;
  REQUIRE(entry.has_value());

  const TemporaryDirectory root;
  cache::CubinStore other(store_in(root.path()));
  const cache::LeaseAttempt attempt = other.acquire_lease(*key);
  REQUIRE(attempt.status == cache::LeaseStatus::kAcquired);
  // Damage at the entry's place tells when the service has looked there: it is moved away.
  const fs::path path = other.publish(*entry).path;
  fs::resize_file(path, 10);
  KernelService service(options_in(root.path()));
  ImageSource source{};
  Image image;
  std::jthread waiter([&] { image = service.get_image(descriptor, arch, &source); });
  while (fs::exists(path)) {  // ends by the test's own time limit if it never looks
    std::this_thread::yield();
  }
  REQUIRE(other.publish(*entry).status == cache::PublishStatus::kPublished);
  waiter.join();
  CHECK(source == ImageSource::kDisk);
  CHECK(service.stats().compiles == 0);
  CHECK(service.stats().rejected_entries == 1);
  CHECK(image.info().path == path.string());
  CHECK(image.info().toolchain_match);
}
