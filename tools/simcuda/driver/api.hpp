// SPDX-License-Identifier: Apache-2.0
// cuda.h with its declarations exported, and the frame that every entry point's body runs in.
#pragma once

#include <exception>
#include <new>

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

/// Opens the definition of an exported function: cuda.h declares only the newest forms.
#define QUANTJIT_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace quantjit::simdriver {

/// Ends an entry point with a driver error.
class Failure : public std::exception {
 public:
  explicit Failure(CUresult result) : result_(result) {}

  [[nodiscard]] const char* what() const noexcept override { return "driver error"; }

  [[nodiscard]] CUresult result() const { return result_; }

 private:
  CUresult result_;
};

/// Fails with `result` unless `condition` holds.
inline void require(bool condition, CUresult result = CUDA_ERROR_INVALID_VALUE) {
  if (!condition) {
    throw Failure(result);
  }
}

/// Runs the body of an entry point; no exception leaves the library.
template <class Body>
CUresult guard(Body&& body) noexcept {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return failure.result();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace quantjit::simdriver
