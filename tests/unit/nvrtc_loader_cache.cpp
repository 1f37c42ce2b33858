// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.hpp"
#include "src/nvrtc/find_nvrtc.hpp"
#include "src/nvrtc/loader_cache.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace quantjit;
using nvrtc::libraries_in_loader_cache;

namespace fs = std::filesystem;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kThisMachine = 0x0303;
#else
constexpr std::uint32_t kThisMachine = 0x0a03;
#endif
constexpr std::uint32_t kOtherMachine = 0x0803;  // x32

struct CacheEntry {
  std::uint32_t flags;
  std::string name;
  std::string path;
};

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A loader cache as ldconfig writes it.
std::string cache_of(const std::vector<CacheEntry>& entries) {
  std::string table;
  std::string strings;
  const std::size_t strings_at = 48 + entries.size() * 24;
  const auto keep = [&](const std::string& text) {
    const auto at = static_cast<std::uint32_t>(strings_at + strings.size());
    strings += text + '\0';
    return at;
  };
  for (const CacheEntry& entry : entries) {
    append(table, entry.flags);
    append(table, keep(entry.name));
    append(table, keep(entry.path));
    append(table, std::uint32_t{0});
    append(table, std::uint64_t{0});
  }
  std::string cache = "glibc-ld.so.cache1.1";
  append(cache, static_cast<std::uint32_t>(entries.size()));
  append(cache, static_cast<std::uint32_t>(strings.size()));
  cache.append(20, '\0');
  return cache + table + strings;
}

/// With the part for very old programs in front.
std::string with_old_part(const std::string& cache, std::uint32_t entry_count) {
  std::string old("ld.so-1.7.0\0", 12);
  append(old, entry_count);
  old.append(entry_count * std::size_t{12}, '\x01');
  old.append((8 - old.size() % 8) % 8, '\0');
  return old + cache;
}

std::vector<fs::path> read(const std::string& cache) {
  return libraries_in_loader_cache(std::as_bytes(std::span(cache.data(), cache.size())),
                                   "libnvrtc.so");
}

const std::vector<CacheEntry> kEntries = {
    {kThisMachine, "libm.so.6", "/lib/libm.so.6"},
    {kOtherMachine, "libnvrtc.so.13", "/libx32/libnvrtc.so.13"},
    {kThisMachine, "libnvrtc.so.13", "/opt/new/libnvrtc.so.13"},
    {kThisMachine, "libnvrtc.so.12", "/opt/old/libnvrtc.so.12"}};

}  // namespace

TEST_CASE("libraries_in_loader_cache: gives this machine's libraries in the cache's order",
          "[nvrtc]") {
  const std::vector<fs::path> expected{"/opt/new/libnvrtc.so.13", "/opt/old/libnvrtc.so.12"};
  CHECK(read(cache_of(kEntries)) == expected);
  CHECK(read(with_old_part(cache_of(kEntries), 0)) == expected);
  CHECK(read(with_old_part(cache_of(kEntries), 3)) == expected);
}

TEST_CASE("libraries_in_loader_cache: gives nothing for what is no such cache", "[nvrtc]") {
  CHECK(read("").empty());
  CHECK(read("glibc-ld.so.cache1.1").empty());
  CHECK(read("glibc-ld.so.cache2.0" + cache_of(kEntries).substr(20)).empty());
  CHECK(read(with_old_part("", 1000000)).empty());
}

TEST_CASE("libraries_in_loader_cache: survives cut and damaged caches", "[nvrtc]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string good = cache_of(kEntries);
  std::size_t most = 0;
  for (std::size_t size = 0; size < good.size(); ++size) {
    most = std::max(most, read(good.substr(0, size)).size());
  }
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (int change = 0; change < 3; ++change) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    most = std::max(most, read(bad).size());
  }
  CHECK(most <= kEntries.size());
}

TEST_CASE("find_nvrtc: uses the loader's cache without loading anything", "[nvrtc]") {
  const test::TemporaryDirectory root;
  fs::create_directories(root.path() / "etc");
  fs::create_directories(root.path() / "opt/new");
  std::ofstream(root.path() / "opt/new/libnvrtc.so.13") << "planted";
  std::ofstream(root.path() / "etc/ld.so.cache", std::ios::binary) << cache_of(kEntries);
  nvrtc::SearchOptions options;
  options.loaded = nvrtc::LoadedCopy::kIgnore;
  options.beside.clear();
  options.system_root = root.path();
  const auto found = nvrtc::find_nvrtc(options);
  REQUIRE(found);
  CHECK(found->path == root.path() / "opt/new/libnvrtc.so.13");
  CHECK(found->origin == nvrtc::Origin::kLoaderPath);
}

TEST_CASE("libraries_in_loader_cache: reads the cache of this system", "[nvrtc]") {
  const auto cache = base::read_file("/etc/ld.so.cache");
  if (!cache) {
    QUANTJIT_SKIP("this system has no loader cache");
  }
  const auto bytes = std::as_bytes(std::span(cache->data(), cache->size()));
  const auto found = libraries_in_loader_cache(bytes, "libc.so.6");
  REQUIRE_FALSE(found.empty());
  CHECK(fs::exists(found.front()));
}
