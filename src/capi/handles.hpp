// SPDX-License-Identifier: Apache-2.0
// What the opaque handles are.
#pragma once

#include "src/service/loaded_kernel.hpp"

#include <quantjit/kernel.hpp>
#include <quantjit/qj_types.h>
#include <quantjit/service.hpp>

#include <atomic>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are those of the C ABI

struct qj_service {
  quantjit::KernelService service;
};

struct qj_kernel {
  explicit qj_kernel(quantjit::Kernel loaded) : kernel(std::move(loaded)) {}

  quantjit::Kernel kernel;
  std::atomic<std::uint32_t> uses{1};
};

struct qj_image {
  quantjit::Image image;
  quantjit::ImageSource source = quantjit::ImageSource::kMemory;
};

struct qj_cancel {
  std::atomic<bool> requested{false};
};

// NOLINTEND(readability-identifier-naming)
