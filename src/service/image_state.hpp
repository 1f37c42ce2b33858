// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/driver/library.hpp"

#include <quantjit/kernel.hpp>
#include <quantjit/traits.hpp>

#include <memory>

namespace quantjit::detail {

/// What an Image shares: what it is, and its bytes.
struct ImageState {
  ImageInfo info;
  Traits traits;
  driver::Image code;
};

}  // namespace quantjit::detail
