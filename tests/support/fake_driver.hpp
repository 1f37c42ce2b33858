// SPDX-License-Identifier: Apache-2.0
// What the fake driver libraries of the tests record and how they are told to fail. They run
// nothing: they stand for drivers that a test machine cannot have (too old, broken, without a
// device) and write down how they are called.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace quantjit::test {

struct FakeLaunch {
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  CUfunction function = nullptr;
  int current_device = -1;  ///< of the launching thread; -1 without a context
  int parameter = 0;        ///< the first four bytes of the first parameter
};

struct FakeLibrary {
  const void* image = nullptr;
  std::string text;  ///< PTX up to its NUL
  unsigned option_count = 0;
  bool loaded = true;
};

/// Guarded by `mutex`.
struct FakeRecord {
  std::mutex mutex;
  std::map<std::string, int> calls;          ///< by name
  std::map<std::string, int> forced_result;  ///< by name: what to answer instead
  std::map<std::string, int> asked_version;  ///< by name, of cuGetProcAddress
  std::set<std::string> context_bound;       ///< calls that want a current context
  std::string jit_log;                       ///< what loading PTX writes to the log buffer
  std::vector<FakeLaunch> launches;
  std::vector<FakeLibrary> libraries;
  std::map<int, int> retained;          ///< primary contexts, by device
  std::map<int, int> live_allocations;  ///< by device
  int live_streams = 0;
  int live_events = 0;
  int live_graphs = 0;
  CUstreamCaptureStatus capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  ///< of the thread
  std::size_t parameter_bytes = 8;  ///< of the one parameter that each kernel takes
  int dynamic_shared_limit = 0;
};

/// Exported by each fake driver.
using FakeRecordFunction = FakeRecord* (*)();
inline constexpr const char* kFakeRecordFunction = "fake_record";

}  // namespace quantjit::test
