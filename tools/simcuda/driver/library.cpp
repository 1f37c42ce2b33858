// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include "registry.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace quantjit::simdriver {

namespace {

constexpr int kDefaultSharedLimit = 48 * 1024;
// The PTX ISA of CUDA 13.0.
constexpr unsigned kNewestPtxMajor = 9;
constexpr unsigned kNewestPtxMinor = 0;

[[noreturn]] void reject(std::string& log, CUresult result, const std::string& text) {
  log = text;
  throw Failure(result);
}

/// The numbers of the `.version` directive; {0, 0} when there is none.
std::pair<unsigned, unsigned> ptx_version(std::string_view text) {
  constexpr std::string_view kDirective = ".version";
  const std::size_t at = text.find(kDirective);
  std::pair<unsigned, unsigned> version{0, 0};
  if (at != std::string_view::npos) {
    const char* const end = text.data() + text.size();
    const char* cursor = text.data() + at + kDirective.size();
    while (cursor != end && (*cursor == ' ' || *cursor == '\t')) {
      ++cursor;
    }
    const auto major = std::from_chars(cursor, end, version.first);
    if (major.ec == std::errc() && major.ptr != end) {
      std::from_chars(major.ptr + 1, end, version.second);
    }
  }
  return version;
}

/// Binary images begin with a magic number; PTX is text.
void reject_binary(const void* code, std::string& log) {
  constexpr unsigned char kElf[4] = {0x7f, 'E', 'L', 'F'};
  constexpr unsigned char kFatbin[4] = {0x50, 0xed, 0x55, 0xba};
  constexpr unsigned char kFatbinWrapper[4] = {0xb1, 0x43, 0x62, 0x46};
  if (std::memcmp(code, kElf, 4) == 0) {
    reject(
        log, CUDA_ERROR_NO_BINARY_FOR_GPU,
        "the image is a cubin (ELF), and the simulated device executes PTX only: compile to PTX, "
        "for example with QUANTJIT_CODE=ptx");
  }
  if (std::memcmp(code, kFatbin, 4) == 0 || std::memcmp(code, kFatbinWrapper, 4) == 0) {
    reject(log, CUDA_ERROR_NO_BINARY_FOR_GPU,
           "the image is a fat binary, and the simulated device executes plain PTX only");
  }
}

std::shared_ptr<const sim::Module> parse_image(const void* code, std::string& log) {
  // A short text must not be read past its end: compare only what precedes a NUL.
  if (strnlen(static_cast<const char*>(code), 4) == 4) {
    reject_binary(code, log);
  }
  const std::string_view text(static_cast<const char*>(code));
  const auto version = ptx_version(text);
  if (version.first == 0) {
    reject(log, CUDA_ERROR_INVALID_IMAGE, "the image is neither PTX nor a known binary format");
  }
  if (version > std::pair(kNewestPtxMajor, kNewestPtxMinor)) {
    reject(log, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
           "PTX .version " + std::to_string(version.first) + "." + std::to_string(version.second) +
               " is newer than 9.0, the newest that this driver knows");
  }
  try {
    return sim::Module::parse(text);
  } catch (const sim::ParseError& error) {
    reject(log, CUDA_ERROR_INVALID_PTX, error.what());
  }
}

}  // namespace

bool target_runs_on(const sim::Target& target, unsigned sm) {
  if (target.suffix == 'a') {
    return sm == target.sm;
  }
  if (target.suffix == 'f') {
    return sm / 10 == target.sm / 10 && sm >= target.sm;
  }
  return sm >= target.sm;
}

void require_target(const Library& library, const Device& device) {
  require(target_runs_on(library.module().target(), device.spec.sm), CUDA_ERROR_INVALID_PTX);
}

std::shared_ptr<const sim::Image> Library::image(Device& device) {
  require_target(*this, device);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const sim::Image>& image = images_[&device];
  if (image == nullptr) {
    image = std::make_shared<sim::Image>(module_, device.memory);
  }
  return image;
}

CUlibrary load_image(const void* code, std::string& log) {
  auto library = std::make_shared<Library>(parse_image(code, log));
  const sim::Target& target = library->module().target();
  const auto& devices = visible_devices();
  if (std::none_of(devices.begin(), devices.end(),
                   [&](const Device* device) { return target_runs_on(target, device->spec.sm); })) {
    reject(log, CUDA_ERROR_INVALID_PTX,
           "PTX for " + target.text + " runs on none of the devices; device 0 is " +
               devices.front()->spec.arch);
  }
  for (const auto& [name, kernel] : library->module().kernels()) {
    auto loaded = std::make_shared<LoadedKernel>();
    loaded->library = library;
    loaded->kernel = &kernel;
    loaded->handle = registry().kernels.add(loaded);
    library->kernels[name] = loaded->handle;
  }
  return registry().libraries.add(std::move(library));
}

bool unload_library(CUlibrary handle) {
  const auto library = registry().libraries.take(handle);
  if (library == nullptr) {
    return false;
  }
  registry().functions.take_if(
      [&](const Function& function) { return function.kernel->library == library; });
  registry().kernels.take_if([&](const LoadedKernel& kernel) { return kernel.library == library; });
  return true;
}

KernelSettings LoadedKernel::settings_for(Device& device) {
  const std::lock_guard lock(mutex);
  const auto found = settings.find(&device);
  if (found != settings.end()) {
    return found->second;
  }
  const int static_bytes = static_cast<int>(kernel->static_shared_bytes);
  return {std::max(0, kDefaultSharedLimit - static_bytes), CU_SHAREDMEM_CARVEOUT_DEFAULT};
}

void LoadedKernel::set(Device& device, CUfunction_attribute attribute, int value) {
  KernelSettings changed = settings_for(device);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    const int most = device.spec.shared_per_block - static_cast<int>(kernel->static_shared_bytes);
    require(value >= 0 && value <= most);
    changed.max_dynamic_shared = value;
  } else {
    require(attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
            value <= 100);
    changed.carveout = value;
  }
  const std::lock_guard lock(mutex);
  settings[&device] = changed;
}

int LoadedKernel::get(Device& device, CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return static_cast<int>(kernel->max_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(kernel->static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return static_cast<int>(kernel->local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return static_cast<int>(kernel->registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: return static_cast<int>(library->module().target().sm);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return static_cast<int>(device.spec.sm);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return settings_for(device).max_dynamic_shared;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return settings_for(device).carveout;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return 0;
    default: throw Failure(CUDA_ERROR_INVALID_VALUE);
  }
}

CUfunction function_of(const std::shared_ptr<LoadedKernel>& kernel, Context& context) {
  require_target(*kernel->library, context.device);
  const std::lock_guard lock(kernel->mutex);
  CUfunction& function = kernel->functions[context.handle];
  if (function == nullptr || registry().functions.find(function) == nullptr) {
    auto made = std::make_shared<Function>();
    made->kernel = kernel;
    made->context = context.shared_from_this();
    function = registry().functions.add(std::move(made));
  }
  return function;
}

std::shared_ptr<Function> resolve_function(CUfunction function) {
  if (auto found = registry().functions.find(function)) {
    return found;
  }
  return resolve_function(function, current_context());
}

std::shared_ptr<Function> resolve_function(CUfunction function, Context& context) {
  if (auto found = registry().functions.find(function)) {
    return found;
  }
  const auto kernel = lookup(registry().kernels, reinterpret_cast<CUkernel>(function));
  return lookup(registry().functions, function_of(kernel, context));
}

void forget_functions(CUcontext context) {
  registry().functions.take_if(
      [&](const Function& function) { return function.context->handle == context; });
}

}  // namespace quantjit::simdriver
