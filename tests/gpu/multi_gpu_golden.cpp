// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/multi_gpu_golden.hpp"

#include "src/driver/device_memory.hpp"
#include "src/driver/stream.hpp"
#include "src/io/golden_case.hpp"
#include "tests/support/caller.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

namespace quantjit::test {
namespace {

constexpr int kWorkers = 8;
constexpr std::int64_t kSmall = 100000;  // elements

driver::DeviceBuffer upload(const GoldenRun& run, const std::vector<std::byte>& bytes) {
  driver::DeviceBuffer buffer(run.api, run.device, bytes.size());
  buffer.upload(bytes);
  return buffer;
}

std::vector<std::byte> download(const driver::DeviceBuffer& buffer) {
  std::vector<std::byte> bytes(buffer.size());
  buffer.download(bytes);
  return bytes;
}

/// Why the case failed; empty if it passed.
std::string run_case(const GoldenRun& run, const io::GoldenCase& recorded, Stream stream) {
  const io::ProblemBuffers host = io::make_buffers(recorded.problem);
  const driver::DeviceBuffer input = upload(run, host.input);
  const driver::DeviceBuffer q = upload(run, host.q);
  const driver::DeviceBuffer s = upload(run, host.s);
  const driver::DeviceBuffer mask = upload(run, host.mask);
  const Descriptor descriptor{recorded.problem.traits, recorded.math};
  const TensorView x = io::rebased(host.input_view, input.data(), run.device);
  const TensorView codes = io::rebased(host.q_view, q.data(), run.device);
  const TensorView scales = io::rebased(host.s_view, s.data(), run.device);
  const Caller caller(run.api, run.current);
  if (std::holds_alternative<PerTokenGroupQuant>(recorded.problem.traits)) {
    GroupQuantArgs args{.input = x, .output_q = codes, .output_s = scales};
    if (host.mask_view.ndim != 0) {
      args.masked_m = io::rebased(host.mask_view, mask.data(), run.device);
    }
    per_token_group_quant(run.service, descriptor, args, stream);
  } else {
    per_token_quant(run.service, descriptor, {.input = x, .output_q = codes, .output_s = scales},
                    stream);
  }
  if (!caller.unchanged()) {
    return recorded.name + ": the current context has changed";
  }
  driver::synchronize(run.api, stream);
  const auto mismatch = io::golden_mismatch(recorded, download(q), download(s));
  return mismatch ? recorded.name + ": " + *mismatch : std::string();
}

}  // namespace

std::vector<std::string> run_golden(const GoldenRun& run, const std::string& file) {
  std::vector<io::GoldenCase> cases = io::read_golden_cases(file);
  if (run.is_short) {
    std::erase_if(cases, [](const io::GoldenCase& recorded) {
      const io::Problem& problem = recorded.problem;
      return std::max<std::int64_t>(problem.experts, 1) * problem.tokens * problem.hidden > kSmall;
    });
  }
  if (cases.empty()) {
    throw InvalidArgument("golden", file, "it must hold a case");
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < (run.is_short ? 1 : kWorkers); ++worker) {
    threads.emplace_back([&] {
      const driver::StreamOwner stream(run.api, run.device);
      for (std::size_t at = next++; at < cases.size(); at = next++) {
        std::string failure;
        try {
          failure = run_case(run, cases[at], stream.get());
        } catch (const std::exception& error) {
          failure = cases[at].name + ": " + error.what();
        }
        if (!failure.empty()) {
          const std::lock_guard lock(mutex);
          failures.push_back(std::move(failure));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("recorded cases: %zu passed, %zu failed\n", cases.size() - failures.size(),
              failures.size());
  return failures;
}

}  // namespace quantjit::test
