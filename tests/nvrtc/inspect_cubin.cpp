// SPDX-License-Identifier: Apache-2.0
// What is read from real cubins, on kernels whose properties follow from how they are written.
#include "src/nvrtc/inspect.hpp"
#include "src/nvrtc/nvrtc.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/real_nvrtc.hpp"

#include <quantjit/error.hpp>

#include <random>
#include <string>
#include <vector>

using namespace quantjit;
using nvrtc::CodeKind;
using nvrtc::CodeProperties;

namespace {

const std::string kKernels = R"(
extern "C" __global__ void waits(float* p) {
  float x = p[0];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  p[threadIdx.x] = x;
}
extern "C" __global__ void waits_sometimes(float* p, int n) {
  if (n > 3) { asm volatile("griddepcontrol.wait;" ::: "memory"); p[1] = 2; }
  p[threadIdx.x] = 1;
}
extern "C" __global__ void only_triggers(float* p) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  p[threadIdx.x] = 1;
}
extern "C" __global__ void shares(float* p, int n) {
  __shared__ float s[100];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[n];
}
struct Parameters { char bytes[152]; };
extern "C" __global__ void takes(const __grid_constant__ Parameters p, int* out) {
  out[0] = p.bytes[out[1]];
}
// 96 values live across a barrier do not fit into the 32 registers that 2048 threads leave each.
extern "C" __global__ void __launch_bounds__(1024, SPILL_BLOCKS) spills(float* p, int n) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = p[i * n];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) p[i * 7 * n] = v[i] * v[(i * 5) % 96];
}
// Without the bound the same values stay in registers.
extern "C" __global__ void __launch_bounds__(128, 1) keeps(float* p, int n) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = p[i * n];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) p[i * 7 * n] = v[i] * v[(i * 5) % 96];
}
extern "C" __global__ void indexes_locally(float* p, int n) {
  float v[1000];
  for (int i = 0; i < 1000; ++i) v[(i * 7) % 1000] = p[i];
  p[0] = v[n];
}
)";

std::vector<std::byte> code_for(const std::string& arch, CodeKind kind) {
  const nvrtc::Nvrtc compiler(test::nvrtc_path_of_tests());
  nvrtc::CompileRequest request;
  request.source = {"kernels.cu", kKernels};
  request.arch = Arch::parse(arch);
  request.kind = kind;
  // Two blocks of 1024 threads fill a multiprocessor of sm_9x and sm_10x; sm_12x has half the
  // threads, where the bound of one block leaves 64 registers, still fewer than the 96 values.
  request.options = {request.arch.major >= 12 ? "--define-macro=SPILL_BLOCKS=1"
                                              : "--define-macro=SPILL_BLOCKS=2"};
  return compiler.compile(request).code;
}

}  // namespace

TEST_CASE("inspect_cubin: registers, local, shared and parameter bytes are those of the kernel",
          "[nvrtc]") {
  for (const char* const arch : {"sm_90a", "sm_100a", "sm_120a"}) {
    CAPTURE(arch);
    const CodeProperties properties = nvrtc::inspect_cubin(code_for(arch, CodeKind::kCubin));
    CHECK(properties.sm == Arch::parse(arch).number());
    REQUIRE(properties.entries.size() == 8);

    const auto& spills = *properties.find("spills");
    CHECK(spills.registers == (Arch::parse(arch).major >= 12 ? 64 : 32));
    CHECK(spills.spill_bytes > 0);
    CHECK(spills.spill_bytes % 4 == 0);
    CHECK(spills.parameter_bytes == 12);

    const auto& keeps = *properties.find("keeps");
    CHECK(keeps.registers > 96);
    CHECK(keeps.registers <= 255);
    CHECK(keeps.spill_bytes == 0);

    CHECK(properties.find("indexes_locally")->spill_bytes == 1000 * 4);
    CHECK(properties.find("shares")->shared_bytes == 100 * 4);
    CHECK(properties.find("waits")->shared_bytes == 0);
    CHECK(properties.find("waits")->parameter_bytes == 8);
    CHECK(properties.find("takes")->parameter_bytes == 160);
    for (const auto& entry : properties.entries) {
      CAPTURE(entry.name);
      CHECK(entry.registers > 0);
    }
  }
}

TEST_CASE("inspect_code: cubin and PTX agree on which kernels wait for the grid before them",
          "[nvrtc]") {
  for (const char* const arch : {"sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120a"}) {
    for (const CodeKind kind : {CodeKind::kCubin, CodeKind::kPtx}) {
      CAPTURE(arch, nvrtc::to_string(kind));
      const CodeProperties properties = nvrtc::inspect_code(code_for(arch, kind));
      CHECK(properties.sm == Arch::parse(arch).number());
      REQUIRE(properties.entries.size() == 8);
      for (const auto& entry : properties.entries) {
        CAPTURE(entry.name);
        CHECK(entry.dependency_wait == (entry.name == "waits" || entry.name == "waits_sometimes"));
      }
    }
  }
}

TEST_CASE("inspect_cubin: a cubin that is cut off is refused", "[nvrtc]") {
  const auto good = code_for("sm_90a", CodeKind::kCubin);
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < good.size(); size += 61) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<long>(size));
    try {
      (void)nvrtc::inspect_cubin(cut);
      ++accepted;
    } catch (const InvalidArgument&) {
    }
  }
  CHECK(accepted == 0);
}

TEST_CASE("inspect_cubin: a damaged cubin is read or refused, never worse", "[nvrtc]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto good = code_for("sm_100a", CodeKind::kCubin);
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    auto bad = good;
    // Half of the damage goes into the tables, which a flip somewhere in the code would not reach.
    for (int change = 0; change < 8; ++change) {
      const std::size_t range = change % 2 == 0 ? bad.size() : std::size_t{2560};
      const std::size_t from_end = random() % range;
      bad[bad.size() - 1 - from_end] = static_cast<std::byte>(random());
      bad[random() % 64] = round % 8 == 0 ? static_cast<std::byte>(random()) : bad[random() % 64];
    }
    try {
      (void)nvrtc::inspect_cubin(bad);
      ++read;
    } catch (const InvalidArgument&) {
      ++refused;
    }
  }
  CHECK(read + refused == 2000);
  CHECK(refused > 0);
}
