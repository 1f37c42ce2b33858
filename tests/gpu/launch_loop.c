// SPDX-License-Identifier: Apache-2.0
/* The C side of a comparison: python_gpu.py calls this through ctypes and measures the same launch
 * from Python. The function comes as a pointer, so that nothing is linked and the library is the
 * one that Python opened. */
#define _POSIX_C_SOURCE 200809L  // clock_gettime

#include <quantjit/quantjit.h>

#include <stdint.h>
#include <time.h>

typedef qj_status (*launch_function)(const qj_kernel* kernel, const qj_operands* operands,
                                     void* stream);

/* Launches `calls` times and stores the wall time in seconds. Returns the first status that is not
 * QJ_OK. */
QJ_API qj_status launch_loop(launch_function launch, const qj_kernel* kernel,
                             const qj_operands* operands, void* stream, int64_t calls,
                             double* seconds) {
  struct timespec begin;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int64_t i = 0; i < calls; ++i) {
    const qj_status status = launch(kernel, operands, stream);
    if (status != QJ_OK) {
      return status;
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  *seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  return QJ_OK;
}
