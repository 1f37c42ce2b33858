// SPDX-License-Identifier: Apache-2.0
// Host memory that kernels reach at its own address.
#include "tests/support/catch.hpp"
#include "tools/simcuda/memory.hpp"

#include <cstdint>
#include <vector>

using quantjit::sim::Allocation;
using quantjit::sim::Memory;

namespace {

struct alignas(16) Chunk {
  std::uint8_t bytes[16];
};

std::uint64_t at(const std::vector<Chunk>& chunks, std::size_t offset) {
  return reinterpret_cast<std::uint64_t>(chunks.data()) + offset;
}

}  // namespace

TEST_CASE("Memory: shared host memory is an allocation at its own address", "[sim]") {
  Memory memory(1 << 20);
  std::vector<Chunk> host(64);
  REQUIRE(memory.share(host.data(), 1000));
  const Allocation* const shared = memory.find(at(host, 500));
  REQUIRE(shared != nullptr);
  REQUIRE(shared->address == at(host, 0));
  REQUIRE(shared->bytes == 1000);
  REQUIRE(shared->data == host.front().bytes);
  REQUIRE_FALSE(shared->read_only);
  REQUIRE(memory.initialized(at(host, 0), 1000));
  REQUIRE(memory.find(at(host, 1000)) == nullptr);
  REQUIRE(memory.used() == 0);

  const std::uint8_t written[3] = {1, 2, 3};
  REQUIRE(memory.write(at(host, 17), written, sizeof(written)));
  REQUIRE(host[1].bytes[1] == 1);
  REQUIRE(host[1].bytes[3] == 3);
}

TEST_CASE("Memory: shared ranges that overlap grow together and stay valid", "[sim]") {
  Memory memory(1 << 20);
  std::vector<Chunk> host(64);
  REQUIRE(memory.share(host[10].bytes, 100));
  const Allocation* const first = memory.find(at(host, 160));
  REQUIRE(memory.share(host[10].bytes + 3, 40));
  REQUIRE(memory.find(at(host, 160)) == first);  // within: nothing changes

  REQUIRE(memory.share(host[2].bytes, 32));
  REQUIRE(memory.find(at(host, 160)) == first);  // apart
  REQUIRE(memory.share(host[3].bytes, 160));
  const Allocation* const grown = memory.find(at(host, 160));
  REQUIRE(grown->address == at(host, 32));
  REQUIRE(grown->address + grown->bytes == at(host, 260));
  REQUIRE(first->data == host[10].bytes);  // whoever uses it may go on
  REQUIRE(memory.find(at(host, 259)) == grown);
  REQUIRE(memory.find(at(host, 260)) == nullptr);
}

TEST_CASE("Memory: what cannot be shared is refused", "[sim]") {
  Memory memory(1 << 20);
  std::vector<Chunk> host(4);
  REQUIRE_FALSE(memory.share(host.data(), 0));
  REQUIRE_FALSE(memory.share(host.data(), ~std::uint64_t{0}));
  const std::uint64_t own = memory.allocate(256);
  REQUIRE_FALSE(memory.share(reinterpret_cast<void*>(own), 16));
  REQUIRE(memory.find(own)->bytes == 256);
}
