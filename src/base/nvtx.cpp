// SPDX-License-Identifier: Apache-2.0
#include "src/base/nvtx.hpp"

#include "src/base/settings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nvtx3/nvToolsExt.h>

namespace quantjit::base {
namespace {

constexpr std::size_t kMaxMessage = 240;

nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("quantjit");
  return handle;
}

}  // namespace

// Profilers set it for the processes that they start.
const bool nvtx_detail::kAttached = environment("NVTX_INJECTION64_PATH").has_value();

void nvtx_detail::push(std::string_view name, std::string_view detail) noexcept {
  // On the stack: launches allocate nothing, whoever looks.
  std::array<char, kMaxMessage + 1> message{};
  char* end = message.data();
  const auto append = [&](std::string_view text) {
    const auto room = static_cast<std::size_t>(message.data() + kMaxMessage - end);
    const std::size_t size = std::min(text.size(), room);
    std::memcpy(end, text.data(), size);
    end += size;
  };
  append(name);
  if (!detail.empty()) {
    append(" ");
    append(detail);
  }
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message.data();
  nvtxDomainRangePushEx(domain(), &event);
}

void nvtx_detail::pop() noexcept {
  nvtxDomainRangePop(domain());
}

bool has_nvtx() noexcept {
  return true;
}

}  // namespace quantjit::base
