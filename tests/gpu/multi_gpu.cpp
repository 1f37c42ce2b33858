// SPDX-License-Identifier: Apache-2.0
// One service on two GPUs of one host:
//   multi_gpu [--golden FILE.jsonl] [--short] [--devices A,B]
// - the recorded cases on the second device while the first one is current
// - both devices from two threads at once, and from one thread in turn
// - a CUDA graph on each, default streams, threads without a context, operands of the wrong device
// - eviction of one device while the other one works
// The caller's current context is compared around every call. Prints a line a check, then
// "N passed, N failed"; exits 1 if one failed and 2 without two devices. --short takes few rounds
// and the small recorded cases, for compute-sanitizer. QUANTJIT_CUDA_DRIVER chooses the driver.
#include "src/driver/device.hpp"
#include "src/driver/driver_table.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/stream.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/gpu/multi_gpu_golden.hpp"
#include "tests/support/caller.hpp"
#include "tests/support/device_call.hpp"

#include <quantjit/quantjit.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;
using quantjit::test::DeviceCall;

namespace {

struct Options {
  std::string golden;
  bool is_short = false;
  int first = 0;
  int second = 1;
};

const std::vector<std::string> kDescriptors = {
    "per_token_group_quant", "per_token_group_quant:scale=ue8m0,layout=col", "per_token_quant",
    "per_token_group_quant:group=64,pdl=false"};

using quantjit::test::Caller;

void require(bool holds, const std::string& what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

void require_unchanged(const Caller& caller) {
  require(caller.unchanged(), "the current context has changed");
}

void require_equal(const DeviceCall& call) {
  const std::string difference = call.difference();
  require(difference.empty(), to_text(call.descriptor().traits) + " on device " +
                                  std::to_string(call.ordinal()) + ": " + difference);
}

class MultiGpu {
 public:
  MultiGpu(const Options& options, const ServiceOptions& service_options)
      : options_(options),
        api_(driver::DriverApi::get(service_options.cuda_driver.value_or(""))),
        service_(service_options),
        rounds_(options.is_short ? 3 : 300) {}

  [[nodiscard]] bool has_two_devices() const {
    const int count = driver::device_count(api_);
    std::printf("%d devices\n", count);
    return options_.first < count && options_.second < count && options_.first != options_.second;
  }

  int run() {
    check("one service, one image and one library for both", [&] { share_code(); });
    check("the current device changes between request and launch", [&] { switch_current(); });
    check("default streams are of the tensors' device", [&] { use_default_streams(); });
    check("a mismatch is refused and nothing is written", [&] { mismatch(); });
    check("one thread in turn", [&] { alternate(); });
    check("two threads at once", [&] { in_parallel(); });
    check("a graph on each", [&] { graphs(); });
    check("eviction of one device while the other one works", [&] { evict(); });
    if (!options_.golden.empty()) {
      check("recorded cases on the second device, the first one current", [&] { golden(); });
    }
    std::printf("%d passed, %d failed\n", passed_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  void check(const char* name, const std::function<void()>& body) {
    std::string failure;
    try {
      body();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    ++(failure.empty() ? passed_ : failed_);
    std::printf("%s: %s\n", name, failure.empty() ? "passed" : ("FAILED: " + failure).c_str());
    std::fflush(stdout);
  }

  [[nodiscard]] DeviceCall make_call(int device, std::size_t descriptor, std::uint64_t seed) const {
    return {api_, device, test::small_problem(kDescriptors[descriptor], seed, 16, 2048)};
  }

  [[nodiscard]] std::vector<int> devices() const { return {options_.first, options_.second}; }

  void share_code() {
    const Kernel one = service_.get(kDescriptors[1], options_.first);
    const Kernel two = service_.get(kDescriptors[1], options_.second);
    require(one.device() == options_.first && two.device() == options_.second, "wrong device");
    if (one.info().arch == two.info().arch) {
      require(one.state()->library == two.state()->library, "the image was loaded twice");
      require(service_.stats().compiles + service_.stats().disk_hits == 1, "more than one image");
    } else {
      require(one.info().key != two.info().key, "both archs have one image");
    }
    for (const int device : devices()) {
      require(service_.device_stats(device).loads == 1, "a device has more or less than one load");
    }
  }

  void switch_current() {
    for (const int requested_with : {-1, options_.first, options_.second}) {
      for (const int launched_with : {-1, options_.first, options_.second}) {
        for (const int device : devices()) {
          const DeviceCall call = make_call(device, 1, 5);
          const driver::StreamOwner stream(api_, device);
          Kernel kernel;
          {
            const Caller caller(api_, requested_with);
            kernel = service_.get(kDescriptors[1], kCurrentDevice, stream.get());
            require_unchanged(caller);
          }
          require(kernel.device() == device, "the kernel is not on the stream's device");
          {
            const Caller caller(api_, launched_with);
            call.launch(kernel, stream.get());
            require_unchanged(caller);
          }
          stream.synchronize();
          require_equal(call);
        }
      }
    }
  }

  void use_default_streams() {
    for (const std::uintptr_t handle : {0, 1, 2}) {
      const auto stream = reinterpret_cast<Stream>(handle);
      for (const int current : {-1, options_.first, options_.second}) {
        for (const int device : devices()) {
          const DeviceCall call = make_call(device, 0, 7);
          {
            const Caller caller(api_, current);
            call.launch(service_, stream);
            require_unchanged(caller);
          }
          const driver::ContextGuard context(api_, device);
          driver::synchronize(api_, stream);
          require_equal(call);
        }
      }
    }
  }

  void mismatch() {
    const DeviceCall here = make_call(options_.second, 0, 3);
    const DeviceCall there = make_call(options_.first, 0, 3);
    const Kernel kernel = service_.get(kDescriptors[0], options_.second);
    const driver::StreamOwner wrong(api_, options_.first);
    const driver::StreamOwner right(api_, options_.second);
    const Caller caller(api_, options_.first);
    const auto refuse = [&](const std::function<void()>& call, const char* parameter) {
      try {
        call();
      } catch (const InvalidArgument& error) {
        require(error.parameter() == parameter, error.what());
        require_unchanged(caller);
        return;
      }
      throw std::runtime_error(std::string("taken: a wrong ") + parameter);
    };
    refuse([&] { here.launch(kernel, wrong.get()); }, "stream");
    refuse([&] { there.launch(kernel, right.get()); }, "input.device");
    refuse([&] { (void)service_.get("per_token_quant:in=f16", options_.second, wrong.get()); },
           "stream");
    right.synchronize();
    wrong.synchronize();
    require(here.is_poisoned() && there.is_poisoned(), "outputs were written");
  }

  void alternate() {
    std::vector<driver::StreamOwner> streams;
    std::vector<DeviceCall> calls;
    for (std::size_t i = 0; i < 2 * kDescriptors.size(); ++i) {
      const int device = devices()[i % 2];
      streams.emplace_back(api_, device);
      calls.push_back(make_call(device, i / 2, i));
    }
    const Caller caller(api_, options_.first);
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        calls[i].launch(service_, streams[i].get());
      }
    }
    require_unchanged(caller);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      streams[i].synchronize();
      require_equal(calls[i]);
    }
  }

  /// Runs `body(device)` on a thread a device, and throws what one of them threw.
  void on_two_threads(const std::function<void(int)>& body) const {
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (const int device : devices()) {
      threads.emplace_back([&, device] {
        try {
          body(device);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (failure) {
      std::rethrow_exception(failure);
    }
  }

  void in_parallel() {
    on_two_threads([&](int device) {
      // One of them with its own device current, the other one without any context.
      const Caller caller(api_, device == options_.first ? device : -1);
      const driver::StreamOwner stream(api_, device);
      for (int round = 0; round < rounds_; ++round) {
        const auto at = static_cast<std::size_t>(round);
        const DeviceCall call = make_call(device, at % kDescriptors.size(), at);
        call.launch(service_, stream.get());
        require_unchanged(caller);
        stream.synchronize();
        require_equal(call);
      }
    });
  }

  void graphs() {
    const Caller caller(api_, options_.first);
    std::vector<driver::StreamOwner> streams;
    std::vector<DeviceCall> calls;
    std::vector<driver::ExecutableGraph> executables;
    for (const int device : devices()) {
      streams.emplace_back(api_, device);
      calls.push_back(make_call(device, 1, 31));
      driver::GraphCapture capture(api_, streams.back().get());
      for (int launches = 0; launches < 3; ++launches) {
        calls.back().launch(service_, streams.back().get());
      }
      require_unchanged(caller);
      executables.push_back(capture.end());
      require(executables.back().node_count() == 3, "the graph has not three nodes");
      require(calls.back().is_poisoned(), "a captured launch ran");
    }
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < executables.size(); ++i) {
        executables[i].launch(streams[i].get());
      }
    }
    require_unchanged(caller);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      streams[i].synchronize();
      require_equal(calls[i]);
    }
  }

  void evict() {
    const Kernel in_use = service_.get(kDescriptors[0], options_.first);
    std::atomic<bool> stop{false};
    on_two_threads([&](int device) {
      const driver::StreamOwner stream(api_, device);
      if (device == options_.first) {
        for (int round = 0; round < rounds_ / 3 + 1; ++round) {
          service_.evict_memory(device);
          const DeviceCall call = make_call(device, 0, 17);
          call.launch(round % 2 == 0 ? in_use : service_.get(kDescriptors[0], device),
                      stream.get());
          stream.synchronize();
          require_equal(call);
        }
        stop = true;
        return;
      }
      while (!stop) {
        const DeviceCall call = make_call(device, 0, 19);
        call.launch(service_, stream.get());
        stream.synchronize();
        require_equal(call);
      }
    });
    require(service_.device_stats(options_.first).evictions != 0, "nothing was dropped");
    require(service_.device_stats(options_.second).evictions == 0, "the wrong device lost kernels");
  }

  void golden() {
    const auto failures = test::run_golden(
        {api_, service_, options_.second, options_.first, options_.is_short}, options_.golden);
    require(failures.empty(), failures.empty() ? "" : failures.front());
  }

  Options options_;
  const driver::DriverApi& api_;
  KernelService service_;
  int rounds_;
  int passed_ = 0;
  int failed_ = 0;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--short") {
      options.is_short = true;
    } else if (argument == "--golden" && i + 1 < argc) {
      options.golden = argv[++i];
    } else if (argument == "--devices" && i + 1 < argc &&
               std::sscanf(argv[i + 1], "%d,%d", &options.first, &options.second) == 2) {
      ++i;
    } else {
      std::fprintf(stderr, "usage: multi_gpu [--golden FILE] [--short] [--devices A,B]\n");
      std::exit(2);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  try {
    ServiceOptions service_options = ServiceOptions::from_environment();
    service_options.cache_roots = std::vector<std::string>{};  // counts are of this run
    MultiGpu multi_gpu(options, service_options);
    if (!multi_gpu.has_two_devices()) {
      std::fprintf(stderr, "multi_gpu: two devices are needed\n");
      return 2;
    }
    return multi_gpu.run();
  } catch (const Error& error) {
    std::fprintf(stderr, "multi_gpu: %s\n", error.what());
    return 2;
  }
}
