// SPDX-License-Identifier: Apache-2.0
// Registers, spills and shared memory of every entry point of every valid descriptor:
//   registers ARCH >table.tsv
// Needs NVRTC and no GPU. Exits 1 if anything spills or does not compile.
#include <quantjit/quantjit.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: registers ARCH\n");
    return 2;
  }
  const Arch arch = Arch::parse(argv[1]);
  ServiceOptions options = ServiceOptions::from_environment();
  options.cache_roots = std::vector<std::string>{};
  KernelService service(options);
  const std::vector<Traits> space = enumerate_traits();
  std::vector<std::string> lines(space.size());
  std::atomic<std::size_t> next{0};
  std::atomic<int> bad{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([&] {
        for (std::size_t at = next++; at < space.size(); at = next++) {
          std::string& line = lines[at];
          line = to_text(space[at]);
          try {
            for (const EntryPointInfo& entry :
                 service.compile({space[at], MathMode::kAuto}, arch).info().entry_points) {
              line += "\t" + std::to_string(entry.registers) + "/" +
                      std::to_string(entry.spill_bytes) + "/" + std::to_string(entry.shared_bytes);
              bad += entry.spill_bytes != 0 ? 1 : 0;
            }
          } catch (const Error& error) {
            line += std::string("\t") + error.what();
            ++bad;
          }
        }
      });
    }
  }
  std::printf("# %s: registers/spill bytes/shared bytes of each entry point\n",
              arch.to_string().c_str());
  for (const std::string& line : lines) {
    std::printf("%s\n", line.c_str());
  }
  std::fprintf(stderr, "%zu descriptors, %d spill or fail\n", space.size(), bad.load());
  return bad == 0 ? 0 : 1;
}
