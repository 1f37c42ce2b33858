// SPDX-License-Identifier: Apache-2.0
// What the simulated GPUs answer to device queries.
#include "device.hpp"

#include <algorithm>
#include <array>

namespace quantjit::simdriver {

namespace {

// The data-center parts share their limits; the sm_120 part has smaller multiprocessors.
constexpr std::array<ArchSpec, 4> kArchs{{
    {"sm_90a", 90, "Simulated NVIDIA H200 (sm_90a)", 143771, 132, 62914560, 1980000, 3201000, 6016,
     2048, 32, 233472, 232448, 0x233510de},
    {"sm_100a", 100, "Simulated NVIDIA B200 (sm_100a)", 183359, 148, 132644864, 1965000, 3996000,
     8192, 2048, 32, 233472, 232448, 0x290110de},
    {"sm_103a", 103, "Simulated NVIDIA B300 (sm_103a)", 275040, 148, 132644864, 1920000, 3996000,
     8192, 2048, 32, 233472, 232448, 0x318210de},
    {"sm_120a", 120, "Simulated NVIDIA GeForce RTX 5090 (sm_120a)", 32607, 170, 100663296, 2407000,
     14001000, 512, 1536, 24, 102400, 101376, 0x2b8510de},
}};

// Attributes 0 to 147 as driver 580.159 answers them on an H200; arch_attribute replaces what
// differs.
constexpr std::array<int, 148> kH200Attributes{
    0,        1024,      1024,       1024,   64,        2147483647, 65535,     65535,  49152,
    65536,    32,        2147483647, 65536,  1980000,   512,        1,         132,    0,
    0,        1,         0,          131072, 131072,    65536,      16384,     16384,  16384,
    32768,    32768,     2048,       512,    1,         1,          0,         6,      0,
    3201000,  6016,      62914560,   2048,   3,         1,          32768,     2048,   1,
    32768,    32768,     8192,       8192,   32768,     0,          32,        32768,  32768,
    2046,     32768,     131072,     65536,  16384,     16384,      16384,     32768,  2048,
    32768,    32768,     2048,       32768,  32768,     2046,       268435456, 131072, 65000,
    2097120,  32768,     32768,      9,      0,         32768,      1,         1,      1,
    233472,   65536,     1,          0,      0,         0,          2,         0,      1,
    1,        1,         0,          0,      0,         1,          1,         232448, 0,
    1,        0,         0,          1,      1,         0,          0,         32,     1,
    39321600, 134217728, 1,          1024,   1,         1,          1,         1,      1,
    1,        100,       9,          1,      1,         1,          1,         1,      1,
    4,        1,         1,          1,      0,         -1,         0,         0,      0,
    0,        0,         0,          0,      590680286, 415174878,  1,         1,      0,
    1,        1,         0,          0};

// What the arch has and the simulator does not: answering "no" keeps programs off those paths.
constexpr std::array kNotSimulated{
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY,
    CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
    static_cast<CUdevice_attribute>(96),  // the retired multi-device cooperative launch
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH,
    CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR,
    CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS,
};

}  // namespace

const ArchSpec* find_arch(std::string_view arch) {
  for (const ArchSpec& spec : kArchs) {
    const std::string_view full = spec.arch;
    if (arch == full || arch == full.substr(0, full.size() - 1)) {
      return &spec;
    }
  }
  return nullptr;
}

std::string known_archs() {
  std::string list;
  for (const ArchSpec& spec : kArchs) {
    list += list.empty() ? "" : ", ";
    list += spec.arch;
  }
  return list;
}

std::optional<int> arch_attribute(const ArchSpec& spec, int attribute) {
  if (attribute < 1 || attribute >= static_cast<int>(kH200Attributes.size())) {
    return std::nullopt;
  }
  const bool absent = std::any_of(kNotSimulated.begin(), kNotSimulated.end(),
                                  [&](CUdevice_attribute entry) { return entry == attribute; });
  if (absent) {
    return 0;
  }
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return spec.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return spec.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return spec.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return spec.memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return spec.l2_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE: return spec.l2_bytes / 8 * 5;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return spec.threads_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return spec.blocks_per_sm;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return static_cast<int>(spec.sm / 10);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return static_cast<int>(spec.sm % 10);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return spec.shared_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return spec.shared_per_block;
    case 139: return spec.pci_device_id;
    default: return kH200Attributes[static_cast<std::size_t>(attribute)];
  }
}

}  // namespace quantjit::simdriver
