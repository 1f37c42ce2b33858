// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <cstring>

namespace quantjit::simdriver {

bool starts_early(const std::vector<GraphNode>& nodes, std::size_t index) {
  const auto* launch = std::get_if<KernelLaunch>(&nodes[index].command);
  return launch != nullptr && launch->programmatic && index > 0 &&
         nodes[index].dependencies == std::vector<std::size_t>{index - 1} &&
         std::holds_alternative<KernelLaunch>(nodes[index - 1].command);
}

void perform(const Copy& copy) {
  Device* const to = copy.to.device;
  Device* const from = copy.from.device;
  bool done = true;
  if (copy.bytes == 0) {
    return;
  }
  if (to != nullptr && to == from) {
    done = to->memory.copy(copy.to.address, copy.from.address, copy.bytes);
  } else if (to != nullptr && from != nullptr) {
    std::vector<std::uint8_t> staging(copy.bytes);
    done = from->memory.read(staging.data(), copy.from.address, copy.bytes) &&
           to->memory.write(copy.to.address, staging.data(), copy.bytes);
  } else if (to != nullptr) {
    done = to->memory.write(copy.to.address, reinterpret_cast<const void*>(copy.from.address),
                            copy.bytes);
  } else if (from != nullptr) {
    done =
        from->memory.read(reinterpret_cast<void*>(copy.to.address), copy.from.address, copy.bytes);
  } else {
    std::memmove(reinterpret_cast<void*>(copy.to.address),
                 reinterpret_cast<const void*>(copy.from.address), copy.bytes);
  }
  require(done, CUDA_ERROR_ILLEGAL_ADDRESS);
}

namespace {

template <class Element>
void fill_host(const Fill& fill) {
  auto* to = reinterpret_cast<std::uint8_t*>(fill.to.address);
  const auto element = static_cast<Element>(fill.value);
  for (std::uint64_t i = 0; i < fill.count; ++i) {
    std::memcpy(to + i * sizeof(Element), &element, sizeof(Element));
  }
}

}  // namespace

void perform(const Fill& fill) {
  if (fill.count == 0) {
    return;
  }
  if (fill.to.device != nullptr) {
    require(fill.to.device->memory.fill(fill.to.address, fill.value, fill.width, fill.count),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  } else if (fill.width == 1) {
    fill_host<std::uint8_t>(fill);
  } else if (fill.width == 2) {
    fill_host<std::uint16_t>(fill);
  } else {
    fill_host<std::uint32_t>(fill);
  }
}

}  // namespace quantjit::simdriver
