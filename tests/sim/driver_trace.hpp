// SPDX-License-Identifier: Apache-2.0
// The sections of the driver trace and how they print.
#pragma once

#include "driver_entry.hpp"

#include <cstring>
#include <vector>

namespace quantjit::simtest {

/// Prints `section.label = answer` lines.
class Trace {
 public:
  explicit Trace(const char* section) : section_(section) {}

  void answer(const char* label, CUresult result) const;
  void value(const char* label, long long value) const;

 private:
  const char* section_;
};

struct Section {
  const char* name;
  void (*run)(const Trace&);
};

std::vector<Section> trace_sections();

/// Initializes the driver and makes device 0's primary context current.
inline CUcontext start() {
  CUcontext context = nullptr;
  CU(cuInit)(0);
  CU(cuDevicePrimaryCtxRetain)(&context, 0);
  CU(cuCtxSetCurrent)(context);
  return context;
}

/// A number that is no enumerator, as a caller of the C interface may pass it.
template <class Enum>
__attribute__((no_sanitize("enum"))) Enum foreign(int number) {
  static_assert(sizeof(Enum) == sizeof(number));
  Enum value;
  std::memcpy(&value, &number, sizeof(value));
  return value;
}

void trace_basics(const Trace&);
void trace_attributes(const Trace&);
void trace_contexts(const Trace&);
void trace_memory(const Trace&);
void trace_pointers(const Trace&);
void trace_library(const Trace&);
void trace_module(const Trace&);
void trace_kernel(const Trace&);
void trace_launch(const Trace&);
void trace_stream(const Trace&);
void trace_event(const Trace&);
void trace_capture_begin(const Trace&);
void trace_capture_unsafe(const Trace&);
void trace_capture_relaxed(const Trace&);
void trace_capture_legacy(const Trace&);
void trace_capture_fork(const Trace&);
void trace_capture_load(const Trace&);
void trace_capture_more(const Trace&);
void trace_graph(const Trace&);
void trace_fault(const Trace&);
void trace_misaligned(const Trace&);
void trace_trap(const Trace&);

/// Kernels used by the sections, targeting sm_90.
extern const char* const kTracePtx;

}  // namespace quantjit::simtest
