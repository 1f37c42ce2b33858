// SPDX-License-Identifier: Apache-2.0
// What capture.cpp and capture_rules.cpp share.
#pragma once

#include "capture.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace quantjit::simdriver {

struct CaptureRegistry {
  std::mutex mutex;  ///< the capture lock; taken before a graph's and never inside a stream's
  std::vector<std::shared_ptr<Capture>> captures;  ///< those that have not ended
  std::atomic<std::size_t> active{0};  ///< their number, so that most calls need no lock
};

[[nodiscard]] CaptureRegistry& capture_registry();

[[nodiscard]] CUstreamCaptureMode capture_thread_mode();

// All below: with the capture lock held.

/// Nothing more is recorded; the capture's streams answer with an error until it is ended.
void invalidate(Capture& capture);

/// Whether a stream that is ordered with the context's legacy default stream is being captured.
[[nodiscard]] bool has_blocking_capture(const Context& context);

/// Work on the legacy default stream would depend on what is only recorded: fails and invalidates.
void forbid_implicit_dependency(const Stream& stream);

}  // namespace quantjit::simdriver
