// SPDX-License-Identifier: Apache-2.0
// Devices, entry points and error texts of the simulated driver.
#include "driver_support.hpp"

#include <array>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace quantjit::simtest;
using quantjit::test::ContainsSubstring;

namespace {

int attribute(CUdevice_attribute which, CUdevice device) {
  int value = -1;
  REQUIRE_OK(CU(cuDeviceGetAttribute)(&value, which, device));
  return value;
}

std::string name_of(CUdevice device) {
  std::array<char, 128> name{};
  REQUIRE_OK(CU(cuDeviceGetName)(name.data(), static_cast<int>(name.size()), device));
  return name.data();
}

struct Found {
  CUresult result;
  void* address;
  CUdriverProcAddressQueryResult status;
};

Found find(const char* name, int version, cuuint64_t flags) {
  Found found{CUDA_ERROR_UNKNOWN, nullptr, CU_GET_PROC_ADDRESS_SUCCESS};
  found.result = CU(cuGetProcAddress)(name, &found.address, version, flags, &found.status);
  return found;
}

/// Runs the lister with an environment and returns the archs it printed, or the error line.
std::string listed(const std::vector<std::string>& environment) {
  int status = 0;
  return run_program({QUANTJIT_DRIVER_DEVICES, QUANTJIT_SIMCUDA_LIBRARY}, environment, status);
}

}  // namespace

TEST_CASE("Simulated devices: each answers with the properties of its arch", "[sim]") {
  const TestDevice device;
  int count = 0;
  REQUIRE_OK(CU(cuDeviceGetCount)(&count));
  REQUIRE(count == kDevices);
  const std::array<int, kDevices> capability{90, 100, 120, 90};
  const std::array<int, kDevices> multiprocessors{132, 148, 170, 132};
  for (int i = 0; i < kDevices; ++i) {
    CAPTURE(i, name_of(i));
    const auto at = static_cast<std::size_t>(i);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i) * 10 +
              attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i) ==
          capability[at]);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i) == multiprocessors[at]);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, i) == 32);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, i) == 0);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, i) == 0);
  }
  CHECK(name_of(0) == "Simulated NVIDIA H200 (sm_90a)");
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0) == 232448);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 2) == 101376);
  CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2) == 1536);
  std::size_t bytes = 0;
  REQUIRE_OK(CU(cuDeviceTotalMem)(&bytes, 0));
  CHECK(bytes == std::size_t{143771} << 20);
}

TEST_CASE("Simulated devices: two of one arch have different identities", "[sim]") {
  const TestDevice device;
  std::set<std::string> uuids;
  std::set<std::string> buses;
  for (int i = 0; i < kDevices; ++i) {
    CUuuid uuid{};
    std::array<char, 32> bus{};
    REQUIRE_OK(CU(cuDeviceGetUuid)(&uuid, i));
    REQUIRE_OK(CU(cuDeviceGetPCIBusId)(bus.data(), static_cast<int>(bus.size()), i));
    uuids.insert(std::string(uuid.bytes, sizeof(uuid.bytes)));
    buses.insert(bus.data());
  }
  CHECK(uuids.size() == kDevices);
  CHECK(buses.size() == kDevices);
}

TEST_CASE("Simulated devices: the environment chooses, hides and reorders them", "[sim]") {
  CHECK(listed({}) == "0 sm_90 slot 1\n");
  CHECK(listed({"QUANTJIT_SIM_DEVICES=sm_100a,sm_90,sm_103a"}) ==
        "0 sm_100 slot 1\n1 sm_90 slot 2\n2 sm_103 slot 3\n");
  const std::string three = "QUANTJIT_SIM_DEVICES=sm_90a,sm_100a,sm_120a";
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=2,0"}) == "0 sm_120 slot 3\n1 sm_90 slot 1\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=1,-1,0"}) == "0 sm_100 slot 2\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=1,1"}) == "CUDA_ERROR_NO_DEVICE\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES="}) == "CUDA_ERROR_NO_DEVICE\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=GPU-716a2d73-696d-0000-7800"}) == "0 sm_120 slot 3\n");
  CHECK(listed({three,
                "CUDA_VISIBLE_DEVICES=GPU-716a2d73-696d-0000-7800,GPU-716a2d73-696d-0000-5a00"}) ==
        "0 sm_120 slot 3\n1 sm_90 slot 1\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=1,GPU-716a2d73-696d-0000-7800"}) ==
        "0 sm_100 slot 2\n1 sm_120 slot 3\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=2,3,0"}) == "0 sm_120 slot 3\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=2,none,0"}) == "0 sm_120 slot 3\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=-1"}) == "CUDA_ERROR_NO_DEVICE\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=3"}) == "CUDA_ERROR_NO_DEVICE\n");
  CHECK(listed({three, "CUDA_VISIBLE_DEVICES=GPU-716a"}) == "CUDA_ERROR_NO_DEVICE\n");
  CHECK(listed({"QUANTJIT_SIM_DEVICES=sm_80"}) == "CUDA_ERROR_NO_DEVICE\n");
}

TEST_CASE("cuGetProcAddress: the version asked for decides between the forms", "[sim]") {
  const TestDevice device;
  const auto exported = [](const char* name) { return driver().get(name); };
  CHECK(find("cuMemAlloc", 13000, 0).address == exported("cuMemAlloc_v2"));
  CHECK(find("cuCtxCreate", 12040, 0).address == exported("cuCtxCreate_v2"));
  CHECK(find("cuCtxCreate", 12050, 0).address == exported("cuCtxCreate_v4"));
  CHECK(find("cuStreamGetCaptureInfo", 11040, 0).address == exported("cuStreamGetCaptureInfo_v2"));
  CHECK(find("cuStreamGetCaptureInfo", 13000, 0).address == exported("cuStreamGetCaptureInfo_v3"));
  CHECK(find("cuGetProcAddress", 11030, 0).address == exported("cuGetProcAddress"));
  CHECK(find("cuGetProcAddress", 12000, 0).address == exported("cuGetProcAddress_v2"));
  CHECK(find("cuMemAlloc", 2000, 0).status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  CHECK(find("cuNoSuchCall", 13000, 0).status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK(find("cuNoSuchCall", 13000, 0).address == nullptr);
}

TEST_CASE("cuGetProcAddress: the flags decide what a null stream means", "[sim]") {
  const TestDevice device;
  const auto plain = find("cuMemcpyAsync", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  const auto own = find("cuMemcpyAsync", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  CHECK(plain.address == driver().get("cuMemcpyAsync"));
  CHECK(own.address == driver().get("cuMemcpyAsync_ptsz"));
  const auto same = find("cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  CHECK(same.address == driver().get("cuMemAlloc_v2"));
}

TEST_CASE("The driver library: README lists exactly the exported entry points", "[sim]") {
  std::ifstream file(QUANTJIT_SIMCUDA_README);
  REQUIRE(file.good());
  std::set<std::string> listed_names;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| ", 0) != 0) {
      continue;
    }
    for (std::size_t at = line.find("`cu"); at != std::string::npos;
         at = line.find("`cu", at + 1)) {
      listed_names.insert(line.substr(at + 1, line.find('`', at + 1) - at - 1));
    }
  }
  const std::set<std::string> table{
#define QUANTJIT_SIM_ENTRY(name, version, symbol) #symbol,
#define QUANTJIT_SIM_STREAM_ENTRY(name, version, symbol, suffix) #symbol,
#include "tools/simcuda/driver/entry_points.inc"
#undef QUANTJIT_SIM_ENTRY
#undef QUANTJIT_SIM_STREAM_ENTRY
  };
  CHECK(listed_names == table);
  for (const std::string& name : table) {
    CAPTURE(name);
    CHECK(driver().find(name.c_str()) != nullptr);
  }
}

TEST_CASE("The driver library: only driver names are visible", "[sim]") {
  CHECK(driver().find("qj_wants_ptx") != nullptr);
  CHECK(SIM(qj_wants_ptx)() == 1);
  CHECK(driver().find("_ZN8quantjit3sim4GridD1Ev") == nullptr);
  CHECK(driver().find("cuLaunchKernelEx_ptsz") != nullptr);
}

TEST_CASE("The driver library: a child forked after cuInit has no driver", "[sim]") {
  const TestDevice device;
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    const bool refused = CU(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED &&
                         CU(cuDeviceGetCount)(&count) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("Error texts: every result has its enumerator's name", "[sim]") {
  const char* text = nullptr;
  REQUIRE_OK(CU(cuGetErrorName)(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  REQUIRE_OK(CU(cuGetErrorString)(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(std::string(text) == "out of memory");
  CHECK_ANSWER(CUDA_ERROR_INVALID_VALUE, CU(cuGetErrorName)(static_cast<CUresult>(998), &text));
  CHECK(text == nullptr);
}
