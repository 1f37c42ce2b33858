// SPDX-License-Identifier: Apache-2.0
// From DLPack's tensors to the library's views.
#pragma once

#include "src/capi/handles.hpp"

#include <quantjit/qj_types.h>
#include <quantjit/tensor.hpp>

#include <string_view>

namespace quantjit::capi {

/// What memory a tensor may have.
struct Place {
  enum class Kind : std::uint8_t {
    kGpu,        ///< memory of a GPU, or managed memory
    kSimulated,  ///< the same or host memory, which a simulated device shares
    kHost,       ///< host memory, for the CPU reference
    kAny,        ///< only the shape is looked at
  };

  Kind kind = Kind::kAny;
  int device = 0;                          ///< ordinal of what has none itself
  const driver::DriverApi* api = nullptr;  ///< kSimulated: that host memory is shared with, if any
};

/// Where tensors for a driver's devices may be.
[[nodiscard]] inline Place::Kind kind_of(const driver::DriverApi& api) {
  return api.share_host() != nullptr ? Place::Kind::kSimulated : Place::Kind::kGpu;
}

/// Where the tensors of a launch must be.
[[nodiscard]] inline Place place_of(const qj_kernel& kernel) {
  const detail::LoadedKernel& state = *kernel.kernel.state();
  return {kind_of(*state.api), state.device->ordinal, state.api};
}

/// The view of a tensor; host memory is shared with the simulated device that `place` names.
/// `name` is the argument's, for messages. Throws: InvalidArgument.
[[nodiscard]] TensorView view_of(const qj_dltensor* tensor, const char* name, const Place& place);

/// As above, but null is a view without dimensions.
[[nodiscard]] inline TensorView view_if_given(const qj_dltensor* tensor, const char* name,
                                              const Place& place) {
  return tensor != nullptr ? view_of(tensor, name, place) : TensorView{};
}

/// DLPack's name for an element type.
[[nodiscard]] qj_dldatatype to_dlpack(DType dtype);

}  // namespace quantjit::capi
