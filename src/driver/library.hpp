// SPDX-License-Identifier: Apache-2.0
// Compiled code in the driver: libraries, kernels, their properties.
#pragma once

#include "src/driver/driver_api.hpp"

#include <quantjit/arch.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::driver {

/// A cubin or PTX text as bytes, shared between who verified it and who loaded it.
using Image = std::shared_ptr<const std::vector<std::byte>>;

/// What one entry point needs of one device.
struct KernelAttributes {
  int registers = 0;            ///< per thread
  int local_bytes = 0;          ///< per thread: stack and spills
  int static_shared_bytes = 0;  ///< per block
  int max_dynamic_shared_bytes = 0;
  int constant_bytes = 0;
  int max_threads_per_block = 0;
  int binary_version = 0;  ///< e.g. 90
  int ptx_version = 0;     ///< e.g. 90
};

/// View of one kernel of a Library, which it must not outlive. Cheap to copy; valid on every
/// device.
class KernelHandle {
 public:
  KernelHandle() = default;

  explicit KernelHandle(CUkern_st* handle) noexcept : handle_(handle) {}

  [[nodiscard]] CUkern_st* get() const noexcept { return handle_; }

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  CUkern_st* handle_ = nullptr;
};

/// What error messages say about an image.
struct ImageLabel {
  std::string name;            ///< e.g. the descriptor text or a file name
  std::optional<Arch> target;  ///< the target it was compiled for
};

/// Owner of one code library of the driver, independent of contexts. Unloads it in the destructor,
/// except during process exit, when the driver may be gone. Launched work that still uses its
/// kernels must have finished. Move-only. Thread safety: const members may be called from any
/// thread.
class Library {
 public:
  Library() = default;
  /// Loads `image` (a cubin, a fat binary, or PTX, with or without a final NUL) and keeps it alive
  /// as long as the library. Needs no current context. Throws: InvalidArgument for an empty image,
  /// DriverError that carries the driver's own log where it wrote one and says which target the
  /// image has and which devices there are.
  static Library load(const DriverApi& api, Image image, ImageLabel label = {});

  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

  [[nodiscard]] CUlib_st* get() const noexcept { return handle_; }

  [[nodiscard]] const ImageLabel& label() const noexcept { return label_; }

  /// The kernel of this lowered (mangled) name; nothing if the library has none of it. Throws:
  /// DriverError.
  [[nodiscard]] std::optional<KernelHandle> find_kernel(const std::string& lowered_name) const;
  /// As find_kernel(), but a missing kernel is a DriverError that names it.
  [[nodiscard]] KernelHandle kernel(const std::string& lowered_name) const;
  /// Number of kernels, or nothing where the driver cannot tell (before 12.4). Throws: DriverError.
  [[nodiscard]] std::optional<unsigned> kernel_count() const;

  /// Brings the kernel's code to a device now instead of at its first launch there, so that a
  /// launch inside a stream capture has nothing left to load. Throws: DriverError as load(), for an
  /// image that the device cannot run.
  void prepare(KernelHandle kernel, int ordinal) const;
  /// Properties of the kernel on a device. Throws: DriverError.
  [[nodiscard]] KernelAttributes attributes(KernelHandle kernel, int ordinal) const;
  /// Checks that the kernel takes exactly one parameter of `bytes` bytes, asking in a context of
  /// the device. Does nothing where the driver cannot tell (before 12.4). Throws: DriverError that
  /// names both sizes.
  void require_single_parameter(KernelHandle kernel, int ordinal, std::size_t bytes) const;
  /// Allows `bytes` of dynamic shared memory per block on a device. Throws: DriverError.
  void allow_dynamic_shared(KernelHandle kernel, int ordinal, std::size_t bytes) const;

 private:
  void unload() noexcept;
  [[nodiscard]] std::string describe(const std::string& lowered_name = {}) const;
  /// What the image is for and what the devices are, for messages.
  [[nodiscard]] std::string describe_targets() const;

  const DriverApi* api_ = nullptr;
  CUlib_st* handle_ = nullptr;
  Image image_;
  ImageLabel label_;
};

}  // namespace quantjit::driver
