// SPDX-License-Identifier: Apache-2.0
/* Control interface of the simulated device, beside the CUDA driver API that the library exports.
 *
 * Conventions: plain C, no type of the driver API; every function may be called from any thread, at
 * any time after the library is loaded; a returned string is owned by the library. Reach them with
 * dlsym: a real driver has none of these names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What follows a fault of a kernel. The report goes to stderr once in every case. */
enum {
  /* As on hardware: the context answers with the error until qj_sim_reset. The default. */
  QJ_SIM_FAULT_STICKY = 0,
  /* The report is kept and counted, the launch ends there, and the context stays usable. */
  QJ_SIM_FAULT_REPORT = 1,
  /* The process aborts after the report, so that a debugger stops at the faulty launch. */
  QJ_SIM_FAULT_ABORT = 2
};

/* When kernels execute. */
enum {
  /* At the stream's next synchronizing call, so that kernels launched with programmatic
   * serialization can start before their predecessors end. The default. */
  QJ_SIM_LAUNCH_DEFERRED = 0,
  /* Inside the launching call, which then returns the kernel's own error. No early start. */
  QJ_SIM_LAUNCH_IMMEDIATE = 1
};

/* Totals since the library was loaded or the statistics were last reset. */
typedef struct qj_sim_statistics {
  uint64_t struct_size;       /* bytes of this struct, set by the caller */
  uint64_t launches;          /* kernels executed, graph nodes included */
  uint64_t lane_instructions; /* instructions times active lanes */
  uint64_t warp_instructions;
  uint64_t ctas;
  uint64_t early_grids; /* grids of which some CTAs ran before the predecessor ended */
  uint64_t faults;
  double seconds; /* wall time inside kernels */
} qj_sim_statistics;

/* Always 1: programs hand PTX, not machine code, to this driver library. */
int qj_wants_ptx(void);

/* The report of the last fault, "" when there was none. Valid until the calling thread calls this
 * again. */
const char* qj_sim_last_fault(void);

/* Brings faulted contexts back: drops what is queued on all streams, clears the sticky errors and
 * the last fault. Memory keeps its contents. */
void qj_sim_reset(void);

/* Fills *out as far as out->struct_size reaches. Returns 0, or 1 when out is null or too small. */
int qj_sim_get_statistics(qj_sim_statistics* out);
void qj_sim_reset_statistics(void);

/* The seed of every choice that the simulator makes (which CTAs start early, in what order CTAs
 * run). The choices of a stream depend on the seed, on the stream and on the launches made on it
 * since the seed was set, not on time. The initial seed is 0. */
void qj_sim_set_seed(uint64_t seed);

/* Each returns 0, or 1 when the value is none of the above. */
int qj_sim_set_fault_policy(int policy);
int qj_sim_set_launch_policy(int policy);

/* Lets kernels of a device (an ordinal) reach host memory at its own address, until the process
 * ends. It may be shared again, and ranges may overlap. Returns 0, or 1 when there is no such
 * device, the driver is not initialized, or the memory cannot be kept track of. */
int qj_sim_share_host(int device, void* data, uint64_t bytes);

/* Ends a kernel with a fault after this many lane instructions; 0, the default, sets no limit. */
void qj_sim_set_instruction_limit(uint64_t lane_instructions);

#ifdef __cplusplus
}
#endif
