// SPDX-License-Identifier: Apache-2.0
// Request -> compiled image, and image <-> store entry.
#pragma once

#include "cache/entry.hpp"
#include "src/service/request.hpp"
#include "src/service/toolchain.hpp"

#include <quantjit/kernel.hpp>

#include <memory>
#include <optional>
#include <string>

namespace quantjit::service {

using ImagePointer = std::shared_ptr<const detail::ImageState>;

/// Compiles a request. Throws: CompileError.
[[nodiscard]] ImagePointer compile_image(const Request& request, const Toolchain::Found& toolchain);

/// The entry that stores an image of a request.
[[nodiscard]] cache::Entry to_entry(const Request& request, const detail::ImageState& image);

/// The image of a verified entry of this request; nothing if its metadata does not fit the request
/// or misses one of its entry points. Takes the entry's bytes.
/// @param toolchain short identity of the NVRTC found here, empty if there is none
[[nodiscard]] ImagePointer from_entry(const Request& request, cache::Entry&& entry,
                                      const std::string& path, const std::string& toolchain);

}  // namespace quantjit::service
