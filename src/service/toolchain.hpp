// SPDX-License-Identifier: Apache-2.0
// The NVRTC that would compile: found and identified without loading it, loaded when it compiles.
#pragma once

#include "src/nvrtc/build_id.hpp"
#include "src/nvrtc/find_nvrtc.hpp"
#include "src/nvrtc/nvrtc.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::service {

/// The compiler of one service. Thread safe.
class Toolchain {
 public:
  /// Touches nothing.
  explicit Toolchain(nvrtc::SearchOptions search) : search_(std::move(search)) {}

  /// What was found, or null. Searched once; loads nothing.
  struct Found {
    nvrtc::FoundLibrary library;
    nvrtc::LibraryIdentity identity;
    std::unique_ptr<nvrtc::Nvrtc> compiler;
  };

  [[nodiscard]] const Found* find();

  /// The found compiler. Throws: CompileError that lists the places searched if there is none.
  [[nodiscard]] const Found& require(const std::string& traits_text, const std::string& arch);

  /// Whether this service has mapped libnvrtc.
  [[nodiscard]] bool is_loaded() const;

 private:
  nvrtc::SearchOptions search_;
  nvrtc::IdentityCache identities_;
  mutable std::mutex mutex_;  // guards searched_ and found_ while the search runs
  bool searched_ = false;
  std::unique_ptr<Found> found_;
};

/// Where to search: the given path, or the usual places with what the environment names.
[[nodiscard]] nvrtc::SearchOptions nvrtc_search(const std::optional<std::string>& library);

}  // namespace quantjit::service
