// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capture.hpp"
#include "context.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

namespace quantjit::simdriver {

/// A CUDA event. Recording first completes the stream's work, so a recorded event is complete.
class Event {
 public:
  Event(std::shared_ptr<Context> owner, unsigned flags_)
      : context(std::move(owner)), flags(flags_) {}

  const std::shared_ptr<Context> context;
  const unsigned flags;

  std::mutex mutex;  ///< guards what follows
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  CapturedRecord captured;
};

}  // namespace quantjit::simdriver
