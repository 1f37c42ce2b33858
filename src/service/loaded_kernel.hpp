// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/driver/device.hpp"
#include "src/driver/launch.hpp"
#include "src/driver/library.hpp"
#include "src/service/image_state.hpp"

#include <quantjit/geometry.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace quantjit::detail {

/// Most entry points that one descriptor may have.
inline constexpr std::size_t kMaxEntryPoints = 3;

/// What a Kernel shares: everything a launch needs, immutable but for what is remembered of its
/// use.
struct LoadedKernel {
  Traits traits;
  std::shared_ptr<const ImageState> image;
  std::shared_ptr<const driver::Library> library;  ///< one per image, shared by its devices
  const driver::DriverApi* api = nullptr;
  const driver::DeviceInfo* device = nullptr;
  CUctx_st* primary_context = nullptr;
  std::vector<GeometryRule> geometry;  ///< rules of this kernel on this device
  std::array<driver::KernelHandle, kMaxEntryPoints> entries{};
  /// On for an entry only if the descriptor asks for it and the code waits for its predecessor:
  /// without the wait the attribute would be a race.
  std::array<driver::ProgrammaticLaunch, kMaxEntryPoints> programmatic{};
  /// Whether a caller has got it: then the recorder knows, and the library is kept.
  mutable std::atomic<bool> handed_out{false};
};

}  // namespace quantjit::detail
