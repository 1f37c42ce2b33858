// SPDX-License-Identifier: Apache-2.0
// An engine in C: prepares its kernels when it starts, seals the service, and quantizes the input
// of a masked expert GEMM on its own stream. What comes out is compared with the CPU reference.
#include "../engine_driver.h"

#include <quantjit/quantjit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DENSE \
  "per_token_group_quant:in=bf16,out=e4m3,group=128,scale=ue8m0,layout=col,numerics=exact"
#define EXPERTS DENSE ",schedule=masked,silu=false"

enum { kExperts = 4, kTokens = 16, kHidden = 1024 };

/// Ends the program where a call of the library fails.
static void require(qj_status status, const char* what) {
  if (status != QJ_OK) {
    fprintf(stderr, "%s gave %s: %s\n", what, qj_status_name(status), qj_last_error());
    exit(1);
  }
}

static void print_and_free(const char* what, char* json) {
  printf("%s %s\n", what, json);
  qj_free(json);
}

/// Compiles and loads everything that will be launched, then forbids any later compile.
static void prepare(qj_service* service) {
  const qj_text traits[] = {{QJ_TEXT(DENSE)}, {QJ_TEXT(EXPERTS)}};
  const int32_t device = 0;
  qj_prewarm_options options = {.struct_size = sizeof(options),
                                .traits = traits,
                                .num_traits = 2,
                                .devices = &device,
                                .num_devices = 1};
  char* report = NULL;
  require(qj_prewarm(service, &options, &report, NULL), "qj_prewarm");
  print_and_free("prewarm", report);
  require(qj_seal(service), "qj_seal");
}

/// Storage of one tensor on the device and on the host, and its tensor.
typedef struct buffer {
  qj_dltensor device;
  qj_dltensor host;
  int64_t shape[4];
  int64_t strides[4];
  size_t bytes;
} buffer;

static void make_buffer(const engine_driver* driver, buffer* it, const qj_tensor_spec* spec) {
  memcpy(it->shape, spec->shape, sizeof(it->shape));
  memcpy(it->strides, spec->strides, sizeof(it->strides));
  it->bytes = spec->storage_bytes;
  it->host = (qj_dltensor){.data = calloc(1, it->bytes),
                           .device = {QJ_DEVICE_CPU, 0},
                           .ndim = spec->ndim,
                           .dtype = spec->dtype,
                           .shape = it->shape,
                           .strides = it->strides};
  it->device = it->host;
  it->device.data = engine_allocate(driver, it->bytes);
  it->device.device = (qj_dldevice){QJ_DEVICE_CUDA, 0};
  engine_check(driver->copy_in((uint64_t)(uintptr_t)it->device.data, it->host.data, it->bytes),
               "cuMemcpyHtoD");
}

static void copy_in(const engine_driver* driver, const buffer* it) {
  engine_check(driver->copy_in((uint64_t)(uintptr_t)it->device.data, it->host.data, it->bytes),
               "cuMemcpyHtoD");
}

static void end_buffer(const engine_driver* driver, buffer* it) {
  engine_check(driver->release((uint64_t)(uintptr_t)it->device.data), "cuMemFree");
  free(it->host.data);
}

/// Whether the device wrote what the host's copy holds.
static int is_same(const engine_driver* driver, const buffer* it) {
  unsigned char* const bytes = malloc(it->bytes);
  engine_check(driver->copy_out(bytes, (uint64_t)(uintptr_t)it->device.data, it->bytes),
               "cuMemcpyDtoH");
  const int same = memcmp(bytes, it->host.data, it->bytes) == 0;
  free(bytes);
  return same;
}

/// [experts, tokens, hidden] activations, and how many tokens each expert got.
static void make_inputs(const engine_driver* driver, buffer* input, buffer* masked_m) {
  const qj_tensor_spec input_spec = {
      .dtype = {QJ_CODE_BFLOAT, 16, 1},
      .ndim = 3,
      .shape = {kExperts, kTokens, kHidden},
      .strides = {kTokens * kHidden, kHidden, 1},
      .storage_bytes = sizeof(uint16_t) * kExperts * kTokens * kHidden};
  make_buffer(driver, input, &input_spec);
  uint16_t* const values = input->host.data;
  for (int i = 0; i < kExperts * kTokens * kHidden; ++i) {
    values[i] = (uint16_t)(0x3F80 + i * 37 % 512 - 256);  // around 1
  }
  copy_in(driver, input);
  const qj_tensor_spec mask_spec = {.dtype = {QJ_CODE_INT, 32, 1},
                                    .ndim = 1,
                                    .shape = {kExperts},
                                    .strides = {1},
                                    .storage_bytes = sizeof(int32_t) * kExperts};
  make_buffer(driver, masked_m, &mask_spec);
  int32_t* const live = masked_m->host.data;
  for (int e = 0; e < kExperts; ++e) {
    live[e] = e * 5;
  }
  copy_in(driver, masked_m);
}

static int quantize_experts(const engine_driver* driver, qj_service* service) {
  buffer input;
  buffer masked_m;
  make_inputs(driver, &input, &masked_m);
  qj_tensor_spec q_spec = {.struct_size = sizeof(q_spec)};
  qj_tensor_spec s_spec = {.struct_size = sizeof(s_spec)};
  require(qj_output_specs(QJ_TEXT(EXPERTS), &input.device, &q_spec, &s_spec), "qj_output_specs");
  buffer q;
  buffer s;
  make_buffer(driver, &q, &q_spec);
  make_buffer(driver, &s, &s_spec);

  void* stream = NULL;
  engine_check(driver->create_stream(&stream, 1), "cuStreamCreate");
  qj_kernel* kernel = NULL;
  require(qj_kernel_get(service, QJ_TEXT(EXPERTS), 0, stream, &kernel), "qj_kernel_get");
  require(qj_per_token_group_quant(kernel, &input.device, &q.device, &s.device, &masked_m.device,
                                   kTokens / 2, stream),
          "qj_per_token_group_quant");
  engine_check(driver->synchronize(stream), "cuStreamSynchronize");

  const qj_reference_target target = {
      .struct_size = sizeof(target), .arch = {QJ_TEXT("sm_90a")}, .sm_count = 132};
  const qj_operands operands = {.struct_size = sizeof(operands),
                                .input = &input.host,
                                .output_q = &q.host,
                                .output_s = &s.host,
                                .masked_m = &masked_m.host};
  require(qj_reference(QJ_TEXT(EXPERTS), &target, &operands), "qj_reference");
  const int same = is_same(driver, &q) && is_same(driver, &s);

  qj_kernel_release(kernel);
  engine_check(driver->destroy_stream(stream), "cuStreamDestroy");
  buffer* const all[] = {&input, &masked_m, &q, &s};
  for (int i = 0; i < 4; ++i) {
    end_buffer(driver, all[i]);
  }
  return same;
}

int main(void) {
  if (qj_abi_version() < QJ_ABI_VERSION) {
    fprintf(stderr, "libquantjit %s is older than this program\n", qj_version());
    return 1;
  }
  const engine_driver driver = engine_open_driver();
  qj_service* service = NULL;
  require(qj_service_open(NULL, &service), "qj_service_open");
  prepare(service);
  const int same = quantize_experts(&driver, service);
  char* stats = NULL;
  require(qj_stats(service, &stats, NULL), "qj_stats");
  print_and_free("stats", stats);
  qj_service_close(service);
  printf("the device and the CPU reference %s\n", same ? "agree" : "DIFFER");
  return same ? 0 : 1;
}
