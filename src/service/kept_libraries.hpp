// SPDX-License-Identifier: Apache-2.0
// Code that stays loaded until the process ends.
#pragma once

#include "src/driver/library.hpp"
#include "src/service/image_state.hpp"

#include <memory>

namespace quantjit::service {

// Nothing tells a library whether a launch of one of its kernels is still under way or recorded in
// a graph that somebody will replay, and asking the stream at every launch costs more than the code
// is worth: some tens of kilobytes an image. So what was handed out is never unloaded. What is kept
// is bounded by the distinct images that a process uses, since services share it.

/// Keeps the library of an image loaded from now on. Thread safe.
void keep_loaded(const driver::DriverApi& api, const detail::ImageState& image,
                 const std::shared_ptr<const driver::Library>& library);

/// The kept library of the same code on this driver; null if there is none. Thread safe.
[[nodiscard]] std::shared_ptr<const driver::Library> find_kept(const driver::DriverApi& api,
                                                               const detail::ImageState& image);

}  // namespace quantjit::service
