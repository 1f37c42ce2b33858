// SPDX-License-Identifier: Apache-2.0
// Requests while a stream is being captured, on a driver that runs kernels: the simulated device or
// a GPU. Each function answers with what was wrong, so that a test can assert it and a program
// report it.
#pragma once

#include "src/driver/graph.hpp"

#include <quantjit/service.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace quantjit::test {

/// Who asks for the kernel while the capture is on.
enum class Asker : std::uint8_t {
  kCapturingThread,  ///< for the captured stream
  kOtherThread,      ///< for the captured stream
  kBystanderThread,  ///< for a stream of its own
};

/// What there is of the kernel when the capture begins.
enum class Readiness : std::uint8_t { kLoaded, kOnDisk, kNeverCompiled };

struct CaptureCase {
  driver::CaptureMode mode = driver::CaptureMode::kGlobal;
  Asker asker = Asker::kCapturingThread;
  Readiness readiness = Readiness::kLoaded;
  CapturePolicy policy = CapturePolicy::kError;

  /// E.g. "global, other thread, on disk, load".
  [[nodiscard]] std::string name() const;
  /// Whether the request must end in CaptureMiss.
  [[nodiscard]] bool must_miss() const;
};

/// All combinations.
[[nodiscard]] std::vector<CaptureCase> capture_cases();

/// What came out of a case or a scenario.
struct CaptureOutcome {
  std::string name;
  std::string observed;               ///< one phrase
  std::vector<std::string> problems;  ///< what was not as it must be; empty = passed
};

/// Machine that the cases run on.
struct CaptureMachine {
  const driver::DriverApi* api = nullptr;
  ServiceOptions options;  ///< of its services; the cache root is replaced
};

/// Runs one case on device 0. The kernels of `index` are no other case's: what a process has loaded
/// stays loaded.
[[nodiscard]] CaptureOutcome run_capture_case(const CaptureMachine& machine,
                                              const CaptureCase& which, std::size_t index);

/// A graph of `layers` times all of some descriptors, captured after a prewarm and replayed:
/// nothing is compiled in it.
[[nodiscard]] CaptureOutcome run_layers(const CaptureMachine& machine, int layers);

/// The same on a sealed service with one descriptor withheld from the prewarm: it ends in
/// SealedMiss, and what was captured before and after replays.
[[nodiscard]] CaptureOutcome run_withheld(const CaptureMachine& machine, int layers);

/// A graph whose kernels are dropped in every way there is, and then replayed.
[[nodiscard]] CaptureOutcome run_dropped(const CaptureMachine& machine);

}  // namespace quantjit::test
