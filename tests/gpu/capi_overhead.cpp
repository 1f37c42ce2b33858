// SPDX-License-Identifier: Apache-2.0
// What the C ABI costs over the C++ interface, on one stream of one process, as JSON:
//   capi_overhead [--device N]
#include "src/driver/device.hpp"
#include "src/driver/device_memory.hpp"
#include "src/driver/stream.hpp"

#include <quantjit/quantjit.h>
#include <quantjit/quantjit.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace quantjit;

namespace {

constexpr int kRounds = 60;
constexpr int kCalls = 256;  // below the depth of the launch queue

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void require(qj_status status) {
  if (status != QJ_OK) {
    std::fprintf(stderr, "capi_overhead: %s: %s\n", qj_status_name(status), qj_last_error());
    std::exit(1);
  }
}

/// Mean time of a call in nanoseconds.
template <typename Call>
double time_block(Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    call();
  }
  const auto time = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::nano>(time).count() / kCalls;
}

/// A tensor of the C ABI over a view, which must outlive it.
qj_dltensor tensor_of(TensorView& view, qj_dldatatype dtype) {
  return {.data = view.data,
          .device = {QJ_DEVICE_CUDA, view.device},
          .ndim = view.ndim,
          .dtype = dtype,
          .shape = view.shape.data(),
          .strides = view.strides.data(),
          .byte_offset = 0};
}

/// One shape, by both interfaces: blocks of calls take turns, so that drift hits all alike.
void measure(KernelService& service, qj_service* c_service, int device, std::int64_t tokens,
             bool is_last) {
  constexpr std::int64_t kHidden = 7168;
  static const std::string text =
      "per_token_group_quant:in=bf16,out=e4m3,group=128,scale=ue8m0,layout=col";
  const driver::DriverApi& api =
      driver::DriverApi::get(service.options().cuda_driver.value_or(std::string{}));
  const driver::ContextGuard context(api, device);
  const driver::StreamOwner stream(api, device);
  const driver::DeviceBuffer input(api, device, static_cast<std::size_t>(tokens * kHidden * 2));
  input.fill(0x3F);
  TensorView x = TensorView::contiguous(input.data(), DType::kBF16, {tokens, kHidden}, device);
  const Kernel kernel = service.get(text, device);
  const OutputSpecs specs = output_specs(kernel.traits(), x);
  const driver::DeviceBuffer q_memory(api, device, specs.q.storage_bytes());
  const driver::DeviceBuffer s_memory(api, device, specs.s.storage_bytes());
  TensorView q = specs.q.over(q_memory.data(), device);
  TensorView s = specs.s.over(s_memory.data(), device);

  qj_kernel* c_kernel = nullptr;
  require(qj_kernel_get(c_service, text.data(), text.size(), device, nullptr, &c_kernel));
  const qj_dltensor c_x = tensor_of(x, {QJ_CODE_BFLOAT, 16, 1});
  const qj_dltensor c_q = tensor_of(q, {QJ_CODE_FLOAT8_E4M3FN, 8, 1});
  const qj_dltensor c_s = tensor_of(s, {QJ_CODE_INT, 32, 1});
  qj_operands operands{};
  operands.struct_size = sizeof(operands);
  operands.input = &c_x;
  operands.output_q = &c_q;
  operands.output_s = &c_s;

  std::vector<double> times[4];
  for (int round = 0; round < kRounds + 5; ++round) {
    const double block[4] = {
        time_block([&] {
          per_token_group_quant(kernel, {.input = x, .output_q = q, .output_s = s}, stream.get());
        }),
        time_block([&] {
          require(qj_per_token_group_quant(c_kernel, &c_x, &c_q, &c_s, nullptr, 0, stream.get()));
        }),
        time_block([&] { require(qj_kernel_launch(c_kernel, &operands, stream.get())); }),
        time_block([&] {
          require(qj_launch(c_service, text.data(), text.size(), &operands, stream.get()));
        })};
    stream.synchronize();
    for (int i = 0; i < 4 && round >= 5; ++i) {
      times[i].push_back(block[i]);
    }
  }
  const double cpp = median(times[0]);
  std::printf(
      "    {\"tokens\": %d, \"cpp_ns\": %.1f, \"typed_more_ns\": %.1f, \"operands_more_ns\": %.1f, "
      "\"by_text_more_ns\": %.1f}%s\n",
      static_cast<int>(tokens), cpp, median(times[1]) - cpp, median(times[2]) - cpp,
      median(times[3]) - cpp, is_last ? "" : ",");
  qj_kernel_release(c_kernel);
}

}  // namespace

int main(int argc, char** argv) {
  const int device = argc == 3 && std::strcmp(argv[1], "--device") == 0 ? std::atoi(argv[2]) : 0;
  KernelService service;
  qj_service* c_service = nullptr;
  require(qj_service_open(nullptr, &c_service));
  std::printf("{\n  \"launch\": [\n");
  measure(service, c_service, device, 1, false);
  measure(service, c_service, device, 64, true);
  std::printf("  ]\n}\n");
  qj_service_close(c_service);
  return 0;
}
