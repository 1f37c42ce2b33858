// SPDX-License-Identifier: Apache-2.0
// What a request yields: a compiled image (no GPU needed) and a kernel loaded on a device.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit {

namespace detail {
struct LoadedKernel;
struct ImageState;
}  // namespace detail

/// What NVRTC is asked for.
enum class CodeKind : std::uint8_t {
  kAuto = 0,  ///< cubin, or PTX where the driver asks for it or the GPU is newer than NVRTC knows
  kCubin = 1,
  kPtx = 2,
};

/// "auto", "cubin" or "ptx".
QUANTJIT_API std::string_view to_string(CodeKind kind);
/// Throws: InvalidArgument.
QUANTJIT_API CodeKind parse_code_kind(std::string_view text);

/// The tier that answered a request.
enum class ImageSource : std::uint8_t { kMemory = 0, kDisk = 1, kRemote = 2, kCompiled = 3 };

/// "memory", "disk", "remote" or "compiled".
QUANTJIT_API std::string_view to_string(ImageSource source);

/// One `__global__` function of an image, as stored with it.
struct EntryPointInfo {
  std::string name;          ///< name expression, e.g. "quantjit::device::...<...>"
  std::string lowered_name;  ///< mangled name in the code
  int registers = 0;         ///< a thread; 0 where unknown (PTX)
  int spill_bytes = 0;       ///< local memory a thread, in bytes
  int shared_bytes = 0;      ///< static shared memory a block, in bytes
  bool pdl_wait = false;     ///< the code holds griddepcontrol.wait
};

/// Everything known about an image.
struct ImageInfo {
  std::string traits;                     ///< canonical descriptor text
  Arch arch;                              ///< target
  MathMode math = MathMode::kPrecise;     ///< resolved
  CodeKind code_kind = CodeKind::kCubin;  ///< cubin or PTX
  std::string key;                        ///< entry name "<request>-<toolchain>"
  std::string key_text;                   ///< the labelled fields whose SHA-256 is the request
  std::string nvrtc_version;              ///< e.g. "13.0"
  std::string nvrtc_build_id;             ///< hexadecimal
  std::string path;                       ///< file of the entry; empty if it is in no disk root
  bool toolchain_match =
      true;                 ///< false: taken from another NVRTC's entry since none is usable here
  double compile_ms = 0.0;  ///< of the compile that made the code, wherever it ran
  std::vector<EntryPointInfo> entry_points;  ///< in the order of launches
  std::string log;                           ///< NVRTC's log, mostly empty
};

/// A compiled kernel image. Cheap to copy, immutable, thread safe; it needs no GPU.
class QUANTJIT_API Image {
 public:
  Image() = default;

  /// For the service.
  explicit Image(std::shared_ptr<const detail::ImageState> state) : state_(std::move(state)) {}

  /// Whether there is one.
  [[nodiscard]] explicit operator bool() const { return state_ != nullptr; }

  /// REQUIRES: not empty.
  [[nodiscard]] const ImageInfo& info() const;
  /// Cubin or PTX bytes, valid while any copy of this image lives.
  [[nodiscard]] std::span<const std::byte> code() const;

 private:
  std::shared_ptr<const detail::ImageState> state_;
};

/// A kernel loaded on one device: a cheap copyable handle. Immutable, thread safe. Operations of
/// quantjit/ops.hpp launch it.
///
/// Lifetime: the code of a kernel that a service has handed out stays loaded until the process
/// ends, whatever becomes of the handles, the memory tier, the disk cache and the service. So
/// launched work and graphs that captured the kernel may outlive all of them. What this costs is
/// bounded by the distinct images that the process asks for (some tens of kilobytes each): services
/// share them.
class QUANTJIT_API Kernel {
 public:
  Kernel() = default;

  /// For the service.
  explicit Kernel(std::shared_ptr<const detail::LoadedKernel> state) : state_(std::move(state)) {}

  /// Whether there is one.
  [[nodiscard]] explicit operator bool() const { return state_ != nullptr; }

  /// REQUIRES: not empty.
  [[nodiscard]] const ImageInfo& info() const;
  /// REQUIRES: not empty.
  [[nodiscard]] const Traits& traits() const;
  /// CUDA device ordinal it is loaded on.
  [[nodiscard]] int device() const;

  /// For the operations; not part of the stable interface.
  [[nodiscard]] const detail::LoadedKernel* state() const { return state_.get(); }

 private:
  std::shared_ptr<const detail::LoadedKernel> state_;
};

}  // namespace quantjit
