// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/capi_test.h"

#include <stdlib.h>
#include <string.h>

enum { kGuard = 256, kPoison = 0xA5 };

static void init(tensor* it, qj_dldatatype dtype, int ndim, const int64_t* shape, size_t bytes) {
  memset(it, 0, sizeof(*it));
  it->bytes = bytes;
  // malloc() aligns to 16 bytes, as launches want it.
  it->memory = malloc(bytes + kGuard);
  CHECK(it->memory != NULL);
  memset(it->memory, kPoison, bytes + kGuard);
  memcpy(it->shape, shape, sizeof(int64_t) * (size_t)ndim);
  it->view.data = it->memory;
  it->view.device.device_type = QJ_DEVICE_CPU;
  it->view.ndim = ndim;
  it->view.dtype = dtype;
  it->view.shape = it->shape;
}

void init_tensor(tensor* it, uint8_t code, uint8_t bits, int ndim, const int64_t* shape) {
  size_t bytes = bits / 8U;
  for (int i = 0; i < ndim; ++i) {
    bytes *= (size_t)shape[i];
  }
  const qj_dldatatype dtype = {code, bits, 1};
  init(it, dtype, ndim, shape, bytes);
}

void init_output(tensor* it, const qj_tensor_spec* spec) {
  init(it, spec->dtype, spec->ndim, spec->shape, spec->storage_bytes);
  memcpy(it->strides, spec->strides, sizeof(int64_t) * (size_t)spec->ndim);
  it->view.strides = it->strides;
}

void fill_bf16(tensor* it, uint32_t seed) {
  uint32_t state = seed;
  for (size_t i = 0; i < it->bytes / 2; ++i) {
    state = state * 1664525U + 1013904223U;
    // A sign, one of eight exponents up to that of 2, and a fraction.
    const uint32_t exponent = 121U + (state >> 12 & 7U);
    const uint16_t value = (uint16_t)((state >> 31) << 15 | exponent << 7 | (state >> 20 & 0x7FU));
    memcpy(it->memory + 2 * i, &value, sizeof(value));
  }
}

void end_tensor(tensor* it) {
  if (it->memory != NULL) {
    for (size_t i = 0; i < kGuard; ++i) {
      CHECK(it->memory[it->bytes + i] == kPoison);
    }
    free(it->memory);
    it->memory = NULL;
  }
}

/// Live rows of the experts: none, one, all, half.
static void fill_mask(tensor* mask, int64_t experts, int64_t rows) {
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t choices[4] = {0, 1, rows, rows / 2};
    const int32_t live = (int32_t)choices[e % 4];
    memcpy(mask->memory + 4 * e, &live, sizeof(live));
  }
}

static void run_reference(const char* traits, const char* arch, const call* it) {
  const qj_operands operands = {.struct_size = sizeof(operands),
                                .input = &it->input.view,
                                .output_q = &it->expected_q.view,
                                .output_s = &it->expected_s.view,
                                .masked_m = it->operands.masked_m};
  const qj_reference_target target = {
      .struct_size = sizeof(target), .arch = text_of(arch), .sm_count = 132};
  CHECK_OK(qj_reference(traits, strlen(traits), &target, &operands));
}

call* new_call(const char* traits, const char* arch, int64_t experts, int64_t rows,
               int64_t columns) {
  call* const it = calloc(1, sizeof(call));
  CHECK(it != NULL);
  const int64_t shape[3] = {experts, rows, columns};
  const int ndim = experts != 0 ? 3 : 2;
  init_tensor(&it->input, QJ_CODE_BFLOAT, 16, ndim, shape + 3 - ndim);
  fill_bf16(&it->input, (uint32_t)(rows * columns));
  qj_tensor_spec q = {.struct_size = sizeof(q)};
  qj_tensor_spec s = {.struct_size = sizeof(s)};
  CHECK_OK(qj_output_specs(traits, strlen(traits), &it->input.view, &q, &s));
  init_output(&it->q, &q);
  init_output(&it->s, &s);
  init_output(&it->expected_q, &q);
  init_output(&it->expected_s, &s);
  it->operands.struct_size = sizeof(qj_operands);
  it->operands.input = &it->input.view;
  it->operands.output_q = &it->q.view;
  it->operands.output_s = &it->s.view;
  if (experts != 0) {
    init_tensor(&it->mask, QJ_CODE_INT, 32, 1, shape);
    fill_mask(&it->mask, experts, rows);
    it->operands.masked_m = &it->mask.view;
    it->operands.expected_m = rows / 2;
  }
  run_reference(traits, arch, it);
  return it;
}

void check_outputs(const call* it) {
  CHECK(memcmp(it->q.memory, it->expected_q.memory, it->q.bytes) == 0);
  CHECK(memcmp(it->s.memory, it->expected_s.memory, it->s.bytes) == 0);
}

void end_call(call* it) {
  tensor* const all[] = {&it->input, &it->q, &it->s, &it->expected_q, &it->expected_s, &it->mask};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
    end_tensor(all[i]);
  }
  free(it);
}
