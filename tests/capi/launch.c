// SPDX-License-Identifier: Apache-2.0
// Every operation on the simulated device, against the CPU reference.
#include "tests/capi/capi_test.h"
#include "tests/capi/simulated_driver.h"

#include <string.h>

#define GROUP "per_token_group_quant:in=bf16,"

/// One call of each form; all must write the reference's bytes.
typedef enum form { kTyped, kByOperands, kByText } form;

static void launch_as(form how, qj_service* service, const char* traits, call* it, int device) {
  if (how == kByText) {
    CHECK_OK(qj_launch(service, traits, strlen(traits), &it->operands, NULL));
    return;
  }
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, traits, strlen(traits), device, NULL, &kernel));
  if (how == kByOperands) {
    CHECK_OK(qj_kernel_launch(kernel, &it->operands, NULL));
  } else if (strncmp(traits, "per_token_quant", 15) == 0) {
    CHECK_OK(qj_per_token_quant(kernel, &it->input.view, &it->q.view, &it->s.view, NULL));
  } else {
    CHECK_OK(qj_per_token_group_quant(kernel, &it->input.view, &it->q.view, &it->s.view,
                                      it->operands.masked_m, it->operands.expected_m, NULL));
  }
  synchronize();  // the code must stay loaded until then
  qj_kernel_release(kernel);
}

static void run(const char* traits, int64_t experts, int64_t rows, int64_t columns) {
  qj_service* const service = open_simulated();
  make_current(0);
  for (int how = kTyped; how <= kByText; ++how) {
    call* const it = new_call(traits, "sm_90a", experts, rows, columns);
    launch_as((form)how, service, traits, it, 0);
    synchronize();
    check_outputs(it);
    end_call(it);
  }
  qj_service_close(service);
}

static void group_rows(void) {
  run(GROUP "scale=f32,layout=row", 0, 5, 512);
}

static void group_packed_columns(void) {
  run(GROUP "scale=ue8m0,layout=col", 0, 7, 640);
}

static void group_masked(void) {
  run(GROUP "scale=ue8m0,layout=col,schedule=masked,silu=true", 4, 6, 1024);
}

static void group_swizzled(void) {
  run(GROUP "group=32,scale=e8m0,layout=swizzle128x4,numerics=exact", 0, 3, 256);
}

static void group_int8(void) {
  run(GROUP "out=int8,scale=f32,layout=col", 0, 4, 256);
}

static void group_vllm(void) {
  run(GROUP "scale=ue8m0,layout=col,numerics=vllm", 0, 5, 640);
}

static void token(void) {
  run("per_token_quant:in=bf16", 0, 3, 1024);
}

/// The device of the tensors, or of the call, decides which one runs it.
static void other_device(void) {
  static const char traits[] = GROUP "scale=ue8m0,layout=col,numerics=exact";
  qj_service* const service = open_simulated();
  make_current(1);
  call* const it = new_call(traits, "sm_100a", 0, 4, 256);
  it->s.view.device.device_type = QJ_DEVICE_CUDA_HOST;
  CHECK_OK(qj_launch(service, QJ_TEXT(traits), &it->operands, NULL));
  synchronize();
  check_outputs(it);
  char* json = NULL;
  CHECK_OK(qj_device_stats(service, 1, &json, NULL));
  CHECK_CONTAINS(json, "\"loads\":1");
  qj_free(json);
  end_call(it);
  qj_service_close(service);
}

static void byte_offset(void) {
  static const char traits[] = GROUP "scale=f32,layout=row";
  qj_service* const service = open_simulated();
  make_current(0);
  call* const it = new_call(traits, "sm_90a", 0, 4, 256);
  it->input.view.data = it->input.memory - 4096;
  it->input.view.byte_offset = 4096;
  CHECK_OK(qj_launch(service, QJ_TEXT(traits), &it->operands, NULL));
  synchronize();
  check_outputs(it);
  end_call(it);
  qj_service_close(service);
}

static void empty_work(void) {
  static const char traits[] = GROUP "scale=f32,layout=row";
  qj_service* const service = open_simulated();
  make_current(0);
  call* const it = new_call(traits, "sm_90a", 0, 0, 256);
  it->input.view.data = NULL;
  CHECK_OK(qj_launch(service, QJ_TEXT(traits), &it->operands, NULL));
  end_call(it);
  qj_service_close(service);
}

/// A stream that is captured: a kernel that is not loaded leaves the capture valid, one that is
/// becomes a node.
static void capture(void) {
  static const char traits[] = GROUP "scale=ue8m0,layout=col";
  qj_service* const service = open_simulated();
  make_current(0);
  call* const it = new_call(traits, "sm_90a", 0, 5, 640);
  void* const stream = new_stream();
  begin_capture(stream);
  CHECK_STATUS(qj_launch(service, QJ_TEXT(traits), &it->operands, stream), QJ_CAPTURE_MISS);
  end_capture_without_nodes(stream);
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT(traits), 0, NULL, &kernel));
  begin_capture(stream);
  CHECK_OK(qj_kernel_launch(kernel, &it->operands, stream));
  run_capture(stream);
  check_outputs(it);
  qj_kernel_release(kernel);
  end_call(it);
  qj_service_close(service);
}

const test_case kLaunchTests[] = {
    {"group_rows", group_rows},
    {"group_packed_columns", group_packed_columns},
    {"group_masked", group_masked},
    {"group_swizzled", group_swizzled},
    {"group_int8", group_int8},
    {"group_vllm", group_vllm},
    {"token", token},
    {"other_device", other_device},
    {"byte_offset", byte_offset},
    {"empty_work", empty_work},
    {"capture", capture},
    {NULL, NULL},
};
