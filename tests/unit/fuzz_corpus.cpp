// SPDX-License-Identifier: Apache-2.0
// The kept inputs of all fuzz programs, and fresh mutations of them, through the same functions.
#include "cache/entry.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace quantjit::fuzz {

namespace {

struct Target {
  const char* name;  ///< folder of its kept inputs
  void (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target kTargets[] = {{"entry", fuzz_entry},
                               {"traits", fuzz_traits},
                               {"npy", fuzz_npy},
                               {"safetensors", fuzz_safetensors},
                               {"manifest", fuzz_manifest},
                               {"bundle", fuzz_bundle},
                               {"remote_url", fuzz_remote_url}};

void feed(const Target& target, const std::string& bytes) {
  target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

/// Kept inputs of a target by file name, in a fixed order.
std::vector<std::filesystem::path> kept_inputs(const Target& target) {
  const std::filesystem::path folder = QUANTJIT_FUZZ_CORPUS;
  std::vector<std::filesystem::path> paths;
  for (const auto& item : std::filesystem::directory_iterator(folder / target.name)) {
    paths.push_back(item.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A few random changes of bytes, runs and places.
std::string mutated(std::string bytes, std::mt19937& random) {
  for (auto change = 1 + random() % 5; change > 0 && !bytes.empty(); --change) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 3) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes.erase(at, random() % 40); break;
      default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40)); break;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("Fuzz: the kept inputs break no promise of any reader", "[fuzz]") {
  for (const Target& target : kTargets) {
    const std::vector<std::filesystem::path> inputs = kept_inputs(target);
    CHECK(inputs.size() >= 10);
    for (const std::filesystem::path& path : inputs) {
      INFO(path.string());
      CHECK_NOTHROW(feed(target, cache::read_all(path.string())));
    }
  }
}

TEST_CASE("Fuzz: mutations of the kept inputs break no promise of any reader", "[fuzz]") {
  const std::uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const Target& target : kTargets) {
    INFO(target.name);
    const std::vector<std::filesystem::path> paths = kept_inputs(target);
    REQUIRE_FALSE(paths.empty());
    std::vector<std::string> inputs;
    for (const std::filesystem::path& path : paths) {
      inputs.push_back(cache::read_all(path.string()));
    }
    for (int i = 0; i < 2000; ++i) {
      const std::string bytes = mutated(inputs[random() % inputs.size()], random);
      INFO("input " << Catch::StringMaker<std::string>::convert(bytes));
      REQUIRE_NOTHROW(feed(target, bytes));
    }
  }
}

TEST_CASE("Fuzz: nesting of any depth overflows no stack of a JSON reader", "[fuzz]") {
  const std::string deep(1000000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  for (const std::string& value : {deep, closed}) {
    for (const char* const key : {"quantjit_manifest", "quantjit_trace", "items", "traits", "x"}) {
      INFO(key);
      const std::string object = "{\"" + std::string(key) + "\":" + value + "}";
      CHECK_NOTHROW(feed({"manifest", fuzz_manifest}, object));
      std::string file(8, '\0');
      for (std::size_t i = 0; i < file.size(); ++i) {
        file[i] = static_cast<char>(object.size() >> (8 * i) & 0xFFU);
      }
      CHECK_NOTHROW(feed({"safetensors", fuzz_safetensors}, file + object));
    }
  }
}

TEST_CASE("Fuzz: mutations of an entry under a right checksum break no promise", "[fuzz][cache]") {
  const std::uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string whole = cache::serialize(cache::make_entry(1, 200));
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes =
        mutated(whole.substr(0, whole.size() - cache::kSealBytes), random);  // it puts one on
    REQUIRE_NOTHROW(feed({"entry", fuzz_entry}, bytes));
  }
}

}  // namespace quantjit::fuzz
