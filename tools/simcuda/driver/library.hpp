// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../grid.hpp"
#include "../module.hpp"
#include "api.hpp"
#include "context.hpp"
#include "device.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace quantjit::simdriver {

/// A loaded code image, independent of contexts; its variables are placed in a device's memory when
/// a kernel is first used there.
///
/// Thread safety: all members may be called concurrently.
class Library {
 public:
  explicit Library(std::shared_ptr<const sim::Module> module) : module_(std::move(module)) {}

  [[nodiscard]] const sim::Module& module() const { return *module_; }

  /// Fails with CUDA_ERROR_OUT_OF_MEMORY when the variables do not fit.
  [[nodiscard]] std::shared_ptr<const sim::Image> image(Device& device);

  /// Kernel handles by name; filled before the library is registered and constant from then on.
  std::map<std::string, CUkernel, std::less<>> kernels;

 private:
  std::shared_ptr<const sim::Module> module_;
  std::mutex mutex_;
  std::map<Device*, std::shared_ptr<const sim::Image>> images_;
};

/// Attributes that a program may set, for one device.
struct KernelSettings {
  int max_dynamic_shared = 0;  ///< bytes
  int carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
};

/// What a CUkernel stands for.
struct LoadedKernel {
  std::shared_ptr<Library> library;
  const sim::Kernel* kernel = nullptr;
  CUkernel handle = nullptr;

  std::mutex mutex;  ///< guards what follows
  std::map<Device*, KernelSettings> settings;
  std::map<CUcontext, CUfunction> functions;

  /// The settings for a device, with the defaults where nothing was set.
  [[nodiscard]] KernelSettings settings_for(Device& device);
  /// Sets one attribute; fails with CUDA_ERROR_INVALID_VALUE.
  void set(Device& device, CUfunction_attribute attribute, int value);
  /// Fails with CUDA_ERROR_INVALID_VALUE for an unknown attribute.
  [[nodiscard]] int get(Device& device, CUfunction_attribute attribute);
};

/// What a CUfunction stands for: a kernel in one context.
struct Function {
  std::shared_ptr<LoadedKernel> kernel;
  std::shared_ptr<Context> context;
};

/// What a CUmodule stands for: a library of its own in one context.
struct LoadedModule {
  CUlibrary library = nullptr;
  std::shared_ptr<Context> context;
};

/// Reads an image and registers it. `log` receives why it cannot be loaded; the failure's code is
/// what a driver would return.
[[nodiscard]] CUlibrary load_image(const void* code, std::string& log);

/// Removes a library and its kernels and functions; false when it was not live.
bool unload_library(CUlibrary library);

/// Fails with CUDA_ERROR_INVALID_PTX when the image's target does not run on the device.
void require_target(const Library& library, const Device& device);

/// Whether code for `target` runs on a device of `sm`: the same or a newer one, only the very same
/// for sm_90a-like targets, and the same family for sm_100f-like ones.
[[nodiscard]] bool target_runs_on(const sim::Target& target, unsigned sm);

/// The kernel's function in the context, made at first use.
[[nodiscard]] CUfunction function_of(const std::shared_ptr<LoadedKernel>& kernel, Context& context);

/// The function of an argument, which may also be a CUkernel cast to CUfunction: that is taken in
/// the current context. Fails with CUDA_ERROR_INVALID_HANDLE, and like current_context.
[[nodiscard]] std::shared_ptr<Function> resolve_function(CUfunction function);
/// As above, a CUkernel taken in `context`, as a launch takes it in its stream's.
[[nodiscard]] std::shared_ptr<Function> resolve_function(CUfunction function, Context& context);

void forget_functions(CUcontext context);

}  // namespace quantjit::simdriver
