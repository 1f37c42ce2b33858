// SPDX-License-Identifier: Apache-2.0
#include "src/service/image_state.hpp"
#include "src/service/loaded_kernel.hpp"

#include <quantjit/error.hpp>
#include <quantjit/kernel.hpp>

#include <array>

namespace quantjit {
namespace {

constexpr std::array<std::string_view, 3> kCodeKinds = {"auto", "cubin", "ptx"};
constexpr std::array<std::string_view, 4> kSources = {"memory", "disk", "remote", "compiled"};

}  // namespace

std::string_view to_string(CodeKind kind) {
  return kCodeKinds.at(static_cast<std::size_t>(kind));
}

CodeKind parse_code_kind(std::string_view text) {
  for (std::size_t i = 0; i < kCodeKinds.size(); ++i) {
    if (text == kCodeKinds[i]) {
      return static_cast<CodeKind>(i);
    }
  }
  throw InvalidArgument("code kind", "\"" + std::string(text.substr(0, 40)) + "\"",
                        "it must be auto, cubin or ptx");
}

std::string_view to_string(ImageSource source) {
  return kSources.at(static_cast<std::size_t>(source));
}

const ImageInfo& Image::info() const {
  return state_->info;
}

std::span<const std::byte> Image::code() const {
  return *state_->code;
}

const ImageInfo& Kernel::info() const {
  return state_->image->info;
}

const Traits& Kernel::traits() const {
  return state_->traits;
}

int Kernel::device() const {
  return state_->device->ordinal;
}

}  // namespace quantjit
