// SPDX-License-Identifier: Apache-2.0
// cuLaunchKernel and cuLaunchKernelEx.
#include "library.hpp"
#include "stream.hpp"

#include <cstring>

using namespace quantjit::simdriver;
namespace sim = quantjit::sim;

namespace {

constexpr std::uint32_t kMaxGridX = 2147483647;
constexpr std::uint32_t kMaxGridYz = 65535;
constexpr std::uint32_t kMaxBlockXy = 1024;
constexpr std::uint32_t kMaxBlockZ = 64;

bool within(const sim::Dim3& size, const sim::Dim3& most) {
  return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= most.x && size.y <= most.y &&
         size.z <= most.z;
}

void check_geometry(const KernelLaunch& launch, const KernelSettings& settings) {
  const sim::Kernel& kernel = *launch.kernel;
  require(within(launch.grid, {kMaxGridX, kMaxGridYz, kMaxGridYz}) &&
          within(launch.block, {kMaxBlockXy, kMaxBlockXy, kMaxBlockZ}) &&
          launch.block.count() <= kernel.max_threads &&
          (!kernel.has_required_block || launch.block == kernel.required_block));
  require(launch.shared_bytes <= static_cast<std::uint32_t>(settings.max_dynamic_shared));
}

/// The packed form: a list of keys and values that ends with CU_LAUNCH_PARAM_END.
std::vector<std::uint8_t> unpack_buffer(void** extra, std::uint32_t wanted) {
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else {
      require(*extra == CU_LAUNCH_PARAM_BUFFER_SIZE);
      size = static_cast<const std::size_t*>(extra[1]);
    }
  }
  require(buffer != nullptr && size != nullptr);
  // A buffer longer than the parameters is answered like this by a real driver.
  require(*size <= wanted, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  require(*size == wanted);
  const auto* bytes = static_cast<const std::uint8_t*>(buffer);
  return {bytes, bytes + *size};
}

std::vector<std::uint8_t> pack_parameters(const sim::Kernel& kernel, void** values, void** extra) {
  require(values == nullptr || extra == nullptr);
  if (extra != nullptr) {
    return unpack_buffer(extra, kernel.parameter_bytes);
  }
  require(values != nullptr || kernel.parameters.empty());
  std::vector<std::uint8_t> block(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    require(values[i] != nullptr);
    std::memcpy(block.data() + kernel.parameters[i].offset, values[i], kernel.parameters[i].size);
  }
  return block;
}

bool is_one(const CUlaunchAttributeValue& value) {
  return value.clusterDim.x == 1 && value.clusterDim.y == 1 && value.clusterDim.z == 1;
}

void check_cluster(const KernelLaunch& launch, const CUlaunchAttributeValue& value) {
  const auto& cluster = value.clusterDim;
  require(cluster.x > 0 && cluster.y > 0 && cluster.z > 0 && launch.grid.x % cluster.x == 0 &&
              launch.grid.y % cluster.y == 0 && launch.grid.z % cluster.z == 0,
          CUDA_ERROR_INVALID_CLUSTER_SIZE);
  require(is_one(value), CUDA_ERROR_NOT_SUPPORTED);
}

void apply(KernelLaunch& launch, const CUlaunchAttribute& attribute) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      launch.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
      return;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: check_cluster(launch, attribute.value); return;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      require(attribute.value.cooperative == 0, CUDA_ERROR_NOT_SUPPORTED);
      return;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: throw Failure(CUDA_ERROR_NOT_SUPPORTED);
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return;  // hints: they change speed, not results
    default: throw Failure(CUDA_ERROR_INVALID_VALUE);
  }
}

void launch_kernel(const CUlaunchConfig& config, CUfunction handle, void** values, void** extra) {
  const auto stream = resolve_stream(config.hStream);
  const auto function = resolve_function(handle, *stream->context);
  require(function->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
  require(config.numAttrs == 0 || config.attrs != nullptr);
  Device& device = stream->context->device;
  LoadedKernel& kernel = *function->kernel;
  KernelLaunch launch;
  launch.kernel = kernel.kernel;
  launch.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  launch.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  launch.shared_bytes = config.sharedMemBytes;
  check_geometry(launch, kernel.settings_for(device));
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    apply(launch, config.attrs[i]);
  }
  launch.parameters = pack_parameters(*launch.kernel, values, extra);
  launch.image = kernel.library->image(device);
  submit(stream, launch);
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                            unsigned int grid_y, unsigned int grid_z,
                                            unsigned int block_x, unsigned int block_y,
                                            unsigned int block_z, unsigned int shared_bytes,
                                            CUstream stream, void** parameters, void** extra) {
  return guard([&] {
    const CUlaunchConfig config{grid_x,  grid_y,       grid_z, block_x, block_y,
                                block_z, shared_bytes, stream, nullptr, 0};
    launch_kernel(config, function, parameters, extra);
  });
}

QUANTJIT_SIM_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                              void** parameters, void** extra) {
  return guard([&] {
    require(config != nullptr);
    launch_kernel(*config, function, parameters, extra);
  });
}
