// SPDX-License-Identifier: Apache-2.0
// Launches of the program's own kernels.
#include "src/ops/launch.hpp"
#include "src/traits/custom.hpp"

#include <quantjit/error.hpp>
#include <quantjit/source.hpp>

#include <algorithm>
#include <string>

namespace quantjit {
namespace {

/// What a launch may ask for without having been registered with more.
constexpr std::size_t kFreeSharedBytes = std::size_t{48} << 10U;

[[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* what, std::size_t value,
                                                   const std::string& rule) {
  throw InvalidArgument(std::string("launch.") + what, std::to_string(value), rule);
}

ops::Dim3 extent(const char* what, const std::array<std::uint32_t, 3>& of) {
  if (std::any_of(of.begin(), of.end(), [](std::uint32_t n) { return n == 0; })) [[unlikely]] {
    refuse(what, 0, "no extent may be 0; launch nothing where there is nothing to do");
  }
  return {of[0], of[1], of[2]};
}

}  // namespace

void launch(const Kernel& kernel, const RawLaunch& how, const void* parameters,
            std::size_t parameter_bytes, Stream stream) {
  const detail::LoadedKernel& loaded = ops::require_loaded(kernel);
  const auto* const custom = std::get_if<CustomTraits>(&loaded.traits);
  if (custom == nullptr) [[unlikely]] {
    ops::refuse_operation(loaded, "a registered source");
  }
  const Source& source = custom->operation->source;
  if (how.entry >= source.entries.size()) [[unlikely]] {
    refuse("entry", how.entry,
           source.op + " has " + std::to_string(source.entries.size()) + " entry points");
  }
  if (parameters == nullptr || parameter_bytes != source.parameter_bytes) [[unlikely]] {
    refuse("parameter_bytes", parameters == nullptr ? 0 : parameter_bytes,
           source.op + " takes " + std::to_string(source.parameter_bytes) + " bytes");
  }
  if (how.shared_bytes > std::max(source.dynamic_shared_bytes, kFreeSharedBytes)) [[unlikely]] {
    refuse("shared_bytes", how.shared_bytes,
           "register the source with dynamic_shared_bytes of the largest launch");
  }
  const ops::LaunchShape shape{.empty = false,
                               .entry = how.entry,
                               .grid = extent("grid", how.grid),
                               .block = extent("block", how.block),
                               .shared_bytes = how.shared_bytes};
  ops::launch_entry(loaded, shape, parameters, stream);
}

}  // namespace quantjit
