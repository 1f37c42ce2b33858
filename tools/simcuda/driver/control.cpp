// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include "../simcuda.h"
#include "context.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace quantjit::simdriver {

namespace {

struct Control {
  std::mutex mutex;  // guards what follows up to last_fault
  Seed seed;
  qj_sim_statistics statistics{};
  std::string last_fault;
  std::atomic<int> fault_policy{QJ_SIM_FAULT_STICKY};
  std::atomic<int> launch_policy{QJ_SIM_LAUNCH_DEFERRED};
  std::atomic<std::uint64_t> instruction_limit{0};
};

Control& control() {
  static auto* state = new Control;
  return *state;
}

}  // namespace

int fault_policy() {
  return control().fault_policy;
}

int launch_policy() {
  return control().launch_policy;
}

std::uint64_t instruction_limit() {
  return control().instruction_limit;
}

Seed current_seed() {
  const std::lock_guard lock(control().mutex);
  return control().seed;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t word = a * 0x9e3779b97f4a7c15u + b;
  word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93u;
  word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93u;
  return word ^ (word >> 32);
}

void report_fault(const sim::Fault& fault) {
  {
    const std::lock_guard lock(control().mutex);
    control().last_fault = fault.message;
    ++control().statistics.faults;
  }
  std::fprintf(stderr, "simulated CUDA device: %s: %s\n", sim::to_string(fault.kind),
               fault.message.c_str());
  if (fault_policy() == QJ_SIM_FAULT_ABORT) {
    std::abort();
  }
}

CUresult fault_result(sim::FaultKind kind) {
  switch (kind) {
    case sim::FaultKind::kOutOfBounds:
    case sim::FaultKind::kFreedMemory:
    case sim::FaultKind::kReadOnly: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case sim::FaultKind::kMisaligned: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case sim::FaultKind::kIllegalInstruction: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case sim::FaultKind::kTimeout: return CUDA_ERROR_LAUNCH_TIMEOUT;
    default: return CUDA_ERROR_LAUNCH_FAILED;
  }
}

void count_grid(const sim::GridStats& stats, bool early) {
  const std::lock_guard lock(control().mutex);
  qj_sim_statistics& total = control().statistics;
  ++total.launches;
  total.lane_instructions += stats.lane_instructions;
  total.warp_instructions += stats.warp_instructions;
  total.ctas += stats.ctas;
  total.early_grids += early ? 1 : 0;
  total.seconds += stats.seconds;
}

}  // namespace quantjit::simdriver

using quantjit::simdriver::control;

extern "C" {

#pragma GCC visibility push(default)

int qj_wants_ptx(void) {
  return 1;
}

const char* qj_sim_last_fault(void) {
  // The caller's copy: another thread's fault must not change a text that is being read.
  thread_local std::string copy;
  const std::lock_guard lock(control().mutex);
  copy = control().last_fault;
  return copy.c_str();
}

void qj_sim_reset(void) {
  quantjit::simdriver::revive_contexts();
  const std::lock_guard lock(control().mutex);
  control().last_fault.clear();
}

int qj_sim_get_statistics(qj_sim_statistics* out) {
  if (out == nullptr || out->struct_size < sizeof(out->struct_size)) {
    return 1;
  }
  const std::lock_guard lock(control().mutex);
  const std::uint64_t size = out->struct_size;
  std::memcpy(out, &control().statistics, std::min<std::size_t>(size, sizeof(*out)));
  out->struct_size = size;
  return 0;
}

void qj_sim_reset_statistics(void) {
  const std::lock_guard lock(control().mutex);
  control().statistics = {};
}

void qj_sim_set_seed(uint64_t seed) {
  const std::lock_guard lock(control().mutex);
  control().seed.value = seed;
  ++control().seed.generation;
}

int qj_sim_set_fault_policy(int policy) {
  if (policy < QJ_SIM_FAULT_STICKY || policy > QJ_SIM_FAULT_ABORT) {
    return 1;
  }
  control().fault_policy = policy;
  return 0;
}

int qj_sim_set_launch_policy(int policy) {
  if (policy < QJ_SIM_LAUNCH_DEFERRED || policy > QJ_SIM_LAUNCH_IMMEDIATE) {
    return 1;
  }
  control().launch_policy = policy;
  return 0;
}

int qj_sim_share_host(int device, void* data, uint64_t bytes) {
  bool shared = false;
  const CUresult result = quantjit::simdriver::guard(
      [&] { shared = quantjit::simdriver::device_at(device).memory.share(data, bytes); });
  return result == CUDA_SUCCESS && shared ? 0 : 1;
}

void qj_sim_set_instruction_limit(uint64_t lane_instructions) {
  control().instruction_limit = lane_instructions;
}

#pragma GCC visibility pop

}  // extern "C"
