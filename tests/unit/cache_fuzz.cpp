// SPDX-License-Identifier: Apache-2.0
// The inputs that fuzzing found worth keeping, and some fresh ones, through the same entry point.
#include "cache/entry.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <random>

namespace quantjit::cache {

void fuzz_entry(const std::uint8_t* data, std::size_t size);

static void feed(const std::string& bytes) {
  fuzz_entry(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

TEST_CASE("Fuzz: the kept inputs of the entry reader pass", "[cache]") {
  std::size_t fed = 0;
  for (const auto& item : std::filesystem::directory_iterator(cache_test_data() + "/fuzz_entry")) {
    feed(read_all(item.path().string()));
    ++fed;
  }
  CHECK(fed >= 10);
}

TEST_CASE("Fuzz: mutated entries keep the reader's promises", "[cache]") {
  const std::uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string whole = serialize(make_entry(1, 200));
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = whole.substr(0, whole.size() - kSealBytes);
    for (auto change = random() % 6; change > 0; --change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, random() % 40); break;
        default: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40)); break;
      }
      bytes.resize(std::max<std::size_t>(bytes.size(), 1));
    }
    feed(bytes);
  }
  SUCCEED("no promise was broken");
}

}  // namespace quantjit::cache
