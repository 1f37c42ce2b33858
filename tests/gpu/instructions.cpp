// SPDX-License-Identifier: Apache-2.0
// Runs every instruction of the table on a GPU and in the simulator with the same operands:
//   gpu_instructions [--device N] [--count N] [--seed N] [--filter TEXT] [--record FILE]
// One line for each instruction that differs, with the first differences; then the counts.
// --record writes the hash of every exact instruction's results on the GPU: what the simulator's
// own tests compare with.
#include "tests/sim/instruction_table.hpp"
#include "tests/sim/simulator.hpp"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quantjit;
using test::InstructionCase;

namespace {

struct Settings {
  int device = 0;
  std::size_t count = 1U << 16;
  std::uint64_t seed = 1;
  std::string filter;
  std::string record;
};

/// The few driver entry points that are needed, found by name.
class Gpu {
 public:
  explicit Gpu(int ordinal) : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
      throw std::runtime_error("libcuda.so.1 cannot be loaded");
    }
    check(find<decltype(&cuInit)>("cuInit")(0), "cuInit");
    CUdevice device = 0;
    check(find<decltype(&cuDeviceGet)>("cuDeviceGet")(&device, ordinal), "cuDeviceGet");
    const auto attribute = find<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
    check(attribute(&major_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "attribute");
    check(attribute(&minor_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "attribute");
    char name[256] = {};
    check(find<decltype(&cuDeviceGetName)>("cuDeviceGetName")(name, sizeof name, device), "name");
    name_ = name;
    CUcontext context = nullptr;
    check(find<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, device),
          "cuDevicePrimaryCtxRetain");
    check(find<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  }

  [[nodiscard]] unsigned sm() const { return static_cast<unsigned>(major_ * 10 + minor_); }

  [[nodiscard]] const std::string& name() const { return name_; }

  CUdeviceptr upload(const std::vector<std::uint8_t>& bytes) {
    CUdeviceptr at = 0;
    check(find<decltype(&cuMemAlloc)>("cuMemAlloc_v2")(&at, bytes.size()), "cuMemAlloc");
    check(find<decltype(&cuMemcpyHtoD)>("cuMemcpyHtoD_v2")(at, bytes.data(), bytes.size()),
          "cuMemcpyHtoD");
    owned_.push_back(at);
    return at;
  }

  std::vector<std::uint8_t> download(CUdeviceptr at, std::size_t bytes) {
    std::vector<std::uint8_t> result(bytes);
    check(find<decltype(&cuMemcpyDtoH)>("cuMemcpyDtoH_v2")(result.data(), at, bytes),
          "cuMemcpyDtoH");
    return result;
  }

  void run(const std::string& ptx, std::size_t count, std::vector<std::uint64_t> parameters) {
    CUmodule module = nullptr;
    check(find<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module, ptx.c_str()),
          "cuModuleLoadData");
    CUfunction function = nullptr;
    check(find<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(&function, module, "run"),
          "cuModuleGetFunction");
    std::vector<void*> pointers;
    for (std::uint64_t& parameter : parameters) {
      pointers.push_back(&parameter);
    }
    const auto blocks = static_cast<unsigned>((count + 255) / 256);
    check(find<decltype(&cuLaunchKernel)>("cuLaunchKernel")(function, blocks, 1, 1, 256, 1, 1, 0,
                                                            nullptr, pointers.data(), nullptr),
          "cuLaunchKernel");
    check(find<decltype(&cuCtxSynchronize)>("cuCtxSynchronize")(), "cuCtxSynchronize");
    check(find<decltype(&cuModuleUnload)>("cuModuleUnload")(module), "cuModuleUnload");
  }

  void free_all() {
    for (const CUdeviceptr at : owned_) {
      check(find<decltype(&cuMemFree)>("cuMemFree_v2")(at), "cuMemFree");
    }
    owned_.clear();
  }

 private:
  template <class F>
  F find(const char* symbol) const {
    void* const address = dlsym(library_, symbol);
    if (address == nullptr) {
      throw std::runtime_error(std::string("the driver lacks ") + symbol);
    }
    return reinterpret_cast<F>(address);
  }

  static void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
      throw std::runtime_error(std::string(what) + " failed with error " +
                               std::to_string(static_cast<int>(result)));
    }
  }

  void* library_;
  int major_ = 0;
  int minor_ = 0;
  std::string name_;
  std::vector<CUdeviceptr> owned_;
};

std::uint64_t value_at(const std::vector<std::uint8_t>& bytes, std::size_t i, unsigned width) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + i * width, width);
  return value;
}

struct Totals {
  std::size_t instructions = 0;
  std::size_t agreeing = 0;
  std::size_t failing = 0;
  std::uint64_t elements = 0;
  std::uint64_t differences = 0;
};

void report(const InstructionCase& instruction, const Settings& settings,
            const std::vector<std::vector<std::uint64_t>>& inputs,
            const std::vector<std::uint8_t>& gpu, const std::vector<std::uint8_t>& simulated,
            Totals& totals) {
  const unsigned width = test::operand_bytes(instruction.output);
  std::size_t different = 0;
  std::size_t shown[3] = {};
  for (std::size_t i = 0; i < settings.count; ++i) {
    if (value_at(gpu, i, width) != value_at(simulated, i, width)) {
      if (different < 3) {
        shown[different] = i;
      }
      ++different;
    }
  }
  ++totals.instructions;
  totals.agreeing += different == 0 ? 1 : 0;
  totals.elements += settings.count;
  totals.differences += different;
  if (different == 0) {
    return;
  }
  std::printf("%s%s: %zu of %zu differ\n", instruction.name.c_str(),
              instruction.approximate ? " (approximate)" : "", different, settings.count);
  for (std::size_t k = 0; k < different && k < 3; ++k) {
    std::printf("  ");
    for (const auto& input : inputs) {
      std::printf("%llx ", static_cast<unsigned long long>(input[shown[k]]));
    }
    std::printf("-> gpu %llx, simulated %llx\n",
                static_cast<unsigned long long>(value_at(gpu, shown[k], width)),
                static_cast<unsigned long long>(value_at(simulated, shown[k], width)));
  }
}

void compare(Gpu& gpu, const InstructionCase& instruction, const std::string& target,
             const Settings& settings, std::FILE* record, Totals& totals) {
  const auto inputs = test::instruction_operands(instruction, settings.seed, settings.count);
  const std::string ptx = test::instruction_ptx(instruction, target);
  const unsigned width = test::operand_bytes(instruction.output);
  const std::vector<std::uint8_t> empty(settings.count * width, 0xA5);
  std::vector<std::uint64_t> on_gpu{settings.count, gpu.upload(empty)};
  test::Simulator device(ptx);
  std::vector<std::uint64_t> on_simulator{settings.count, device.upload(empty)};
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto bytes = test::operand_array(inputs[k], test::operand_bytes(instruction.inputs[k]));
    on_gpu.push_back(gpu.upload(bytes));
    on_simulator.push_back(device.upload(bytes));
  }
  gpu.run(ptx, settings.count, on_gpu);
  const auto blocks = static_cast<std::uint32_t>((settings.count + 255) / 256);
  if (const auto fault = device.run("run", {blocks, 1, 1}, {256, 1, 1}, on_simulator)) {
    throw std::runtime_error(fault->message);
  }
  const std::vector<std::uint8_t> results = gpu.download(on_gpu[1], empty.size());
  if (record != nullptr && !instruction.approximate) {
    std::fprintf(record, "%016llx %s\n",
                 static_cast<unsigned long long>(test::result_hash(results)),
                 instruction.name.c_str());
  }
  report(instruction, settings, inputs, results,
         device.download<std::uint8_t>(on_simulator[1], empty.size()), totals);
  gpu.free_all();
}

Settings read_arguments(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--device") {
      settings.device = std::atoi(argv[i + 1]);
    } else if (option == "--count") {
      settings.count = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (option == "--seed") {
      settings.seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (option == "--record") {
      settings.record = argv[i + 1];
    } else if (option == "--filter") {
      settings.filter = argv[i + 1];
    } else {
      throw std::runtime_error("unknown option " + option);
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = read_arguments(argc, argv);
    Gpu gpu(settings.device);
    const std::string target = "sm_" + std::to_string(gpu.sm()) + "a";
    std::printf("%s, %s, %zu operands each, seed %llu\n", gpu.name().c_str(), target.c_str(),
                settings.count, static_cast<unsigned long long>(settings.seed));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> record(
        settings.record.empty() ? nullptr : std::fopen(settings.record.c_str(), "w"), std::fclose);
    if (record != nullptr) {
      std::fprintf(record.get(), "# %s, %s, %zu operands each, seed %llu\n", gpu.name().c_str(),
                   target.c_str(), settings.count, static_cast<unsigned long long>(settings.seed));
    }
    Totals totals;
    for (const InstructionCase& instruction : test::instruction_cases()) {
      if (instruction.min_sm > gpu.sm() ||
          instruction.name.find(settings.filter) == std::string::npos) {
        continue;
      }
      try {
        compare(gpu, instruction, target, settings, record.get(), totals);
      } catch (const std::exception& e) {
        ++totals.failing;
        std::printf("%s: %s\n", instruction.name.c_str(), e.what());
      }
    }
    std::printf(
        "%zu instructions, %zu agree on all operands, %zu could not be compared; "
        "%llu of %llu results differ\n",
        totals.instructions, totals.agreeing, totals.failing,
        static_cast<unsigned long long>(totals.differences),
        static_cast<unsigned long long>(totals.elements));
    return totals.failing == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_instructions: %s\n", e.what());
    return 2;
  }
}
