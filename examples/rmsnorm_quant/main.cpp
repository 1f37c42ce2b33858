// SPDX-License-Identifier: Apache-2.0
// A kernel of the engine itself, fused RMSNorm and quantization, through the library's service: it
// is specialized, compiled, cached and launched like the kernels that come with it. What comes out
// is compared with a CPU computation, bit for bit.
#include "../engine_driver.h"
#include "cpu.hpp"
#include "rmsnorm_params.h"

#include <quantjit/quantjit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace qj = quantjit;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The trait schema: what a descriptor may say, and which template arguments that gives.
qj::Source source_in(const std::string& folder) {
  return {.op = "rmsnorm_quant",
          .path = "rmsnorm_quant.cuh",
          .file = folder + "/rmsnorm_quant.cuh",
          .includes = {{"rmsnorm_params.h", read_file(folder + "/rmsnorm_params.h")}},
          .keys = {{"in", {{"bf16", "quantjit::device::kBF16"}, {"f16", "quantjit::device::kF16"}}},
                   {"threads", {{"128"}, {"256"}, {"512"}}}},
          .entries = {{"engine::rmsnorm_quant", {"in", "threads", "pdl"}}},
          .parameter_bytes = sizeof(engine::RmsNormParams)};
}

/// Device memory with the content of a vector.
template <typename T>
class Buffer {
 public:
  Buffer(const engine_driver& driver, const std::vector<T>& content)
      : driver_(driver),
        bytes_(content.size() * sizeof(T)),
        address_(engine_allocate(&driver, bytes_)) {
    engine_check(driver_.copy_in(number(), content.data(), bytes_), "cuMemcpyHtoD");
  }

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ~Buffer() { driver_.release(number()); }

  [[nodiscard]] T* get() const { return static_cast<T*>(address_); }

  [[nodiscard]] std::vector<T> content() const {
    std::vector<T> copy(bytes_ / sizeof(T));
    engine_check(driver_.copy_out(copy.data(), number(), bytes_), "cuMemcpyDtoH");
    return copy;
  }

 private:
  [[nodiscard]] std::uint64_t number() const { return reinterpret_cast<std::uintptr_t>(address_); }

  const engine_driver& driver_;
  std::size_t bytes_;
  void* address_;
};

std::vector<std::uint16_t> random_bf16(std::uint64_t seed, std::size_t count) {
  std::vector<std::uint16_t> values(count);
  qj::reference::generate(qj::reference::InputKind::kNormal, qj::DType::kBF16, seed, count, count,
                          values.data());
  return values;
}

bool run_one(const engine_driver& driver, qj::KernelService& service, unsigned threads,
             std::size_t rows, std::size_t hidden) {
  constexpr float kEpsilon = 1e-6F;
  std::vector<std::uint16_t> input = random_bf16(rows, rows * hidden);
  std::fill_n(input.begin(), hidden, std::uint16_t{0});  // a row of zeros
  const std::vector<std::uint16_t> weight = random_bf16(hidden, hidden);
  const Buffer<std::uint16_t> device_input(driver, input);
  const Buffer<std::uint16_t> device_weight(driver, weight);
  const Buffer<std::uint8_t> q(driver, std::vector<std::uint8_t>(rows * hidden));
  const Buffer<float> s(driver, std::vector<float>(rows));

  const qj::Kernel kernel = service.get("rmsnorm_quant:threads=" + std::to_string(threads), 0);
  const engine::RmsNormParams params{.input = device_input.get(),
                                     .weight = device_weight.get(),
                                     .output_q = q.get(),
                                     .output_s = s.get(),
                                     .hidden = static_cast<unsigned>(hidden),
                                     .epsilon = kEpsilon};
  qj::launch(kernel, {.grid = {static_cast<std::uint32_t>(rows), 1, 1}, .block = {threads, 1, 1}},
             params, nullptr);
  engine_check(driver.synchronize(nullptr), "cuStreamSynchronize");

  const engine::Quantized wanted = engine::rmsnorm_quant_on_cpu(input, weight, threads, kEpsilon);
  const bool same = q.content() == wanted.q && s.content() == wanted.s;
  std::printf("%s, %zu x %zu: device and CPU %s\n", kernel.info().traits.c_str(), rows, hidden,
              same ? "agree" : "DIFFER");
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: rmsnorm_quant FOLDER_OF_THE_KERNEL\n");
    return 2;
  }
  try {
    const engine_driver driver = engine_open_driver();
    qj::KernelService service;
    service.register_source(source_in(argv[1]));
    const bool same = run_one(driver, service, 128, 3, 1024) &&
                      run_one(driver, service, 256, 2, 5128) &&
                      run_one(driver, service, 512, 2, 4096);
    return same ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
