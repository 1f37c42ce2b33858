// SPDX-License-Identifier: Apache-2.0
// Code that stays loaded until the process ends.
#pragma once

#include "src/driver/library.hpp"

#include <memory>
#include <string>

namespace quantjit::service {

// Nothing tells a library whether a launch of one of its kernels is still under way or recorded in
// a graph that somebody will replay, and asking the stream at every launch costs more than the code
// is worth: some tens of kilobytes an image. So what was handed out is never unloaded. What is kept
// is bounded by the distinct keys that a process uses, since services share it: a key tells all
// that a kernel's meaning depends on, whichever compile of it made the bytes.

/// Keeps the library of an entry key loaded from now on. Thread safe.
void keep_loaded(const driver::DriverApi& api, const std::string& key,
                 const std::shared_ptr<const driver::Library>& library);

/// A kept library of this key on this driver; null if there is none. Thread safe.
[[nodiscard]] std::shared_ptr<const driver::Library> find_kept(const driver::DriverApi& api,
                                                               const std::string& key);

}  // namespace quantjit::service
