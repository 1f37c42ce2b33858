// SPDX-License-Identifier: Apache-2.0
// Lists the devices of a driver library, one line each, or the error of cuInit.
//
//   driver_devices LIBRARY
#include "driver_entry.hpp"

namespace quantjit::simtest {

namespace {

const char* library_path = nullptr;

}  // namespace

const DriverLibrary& driver() {
  static const DriverLibrary library(library_path);
  return library;
}

std::string result_name(CUresult result) {
  const char* name = nullptr;
  CU(cuGetErrorName)(result, &name);
  return name == nullptr ? "unnamed" : name;
}

}  // namespace quantjit::simtest

int main(int argc, char** argv) {
  using namespace quantjit::simtest;
  if (argc != 2) {
    return 2;
  }
  library_path = argv[1];
  if (const CUresult result = CU(cuInit)(0); result != CUDA_SUCCESS) {
    std::printf("%s\n", result_name(result).c_str());
    return 1;
  }
  int count = 0;
  CU(cuDeviceGetCount)(&count);
  for (int i = 0; i < count; ++i) {
    int major = 0;
    int minor = 0;
    int bus = 0;
    CU(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i);
    CU(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i);
    CU(cuDeviceGetAttribute)(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i);
    std::printf("%d sm_%d slot %d\n", i, major * 10 + minor, bus);
  }
  return 0;
}
