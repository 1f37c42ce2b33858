// SPDX-License-Identifier: Apache-2.0
// Launches on objects of another language, which here are addresses of test tensors.
#include "tests/capi/capi_test.h"
#include "tests/capi/simulated_driver.h"

#include <string.h>

#define MASKED "per_token_group_quant:in=bf16,scale=ue8m0,layout=col,schedule=masked,silu=true"

static int reads = 0;
static int locked = 1;
static int times_left = 0;

static int read_object(void* object, qj_dltensor* read) {
  CHECK(locked);
  ++reads;
  *read = ((tensor*)object)->view;
  return 0;
}

static int read_all_but_third(void* object, qj_dltensor* read) {
  return read_object(object, read) != 0 || reads == 3 ? -1 : 0;
}

static void* leave(void) {
  CHECK(locked);
  locked = 0;
  ++times_left;
  return &locked;
}

static void enter(void* state) {
  CHECK(state == &locked && !locked);
  locked = 1;
}

static qj_object_reader new_reader(void) {
  const qj_object_reader reader = {
      .struct_size = sizeof(reader), .read = read_object, .leave = leave, .enter = enter};
  reads = 0;
  times_left = 0;
  return reader;
}

static qj_object_operands objects_of(call* it) {
  const qj_object_operands operands = {
      .struct_size = sizeof(operands),
      .input = &it->input,
      .output_q = &it->q,
      .output_s = &it->s,
      .masked_m = it->operands.masked_m != NULL ? &it->mask : NULL,
      .expected_m = it->operands.expected_m,
  };
  return operands;
}

static void objects(void) {
  static const char* const texts[] = {MASKED, "per_token_quant:in=bf16"};
  qj_service* const service = open_simulated();
  make_current(0);
  for (int i = 0; i < 2; ++i) {
    call* const it = new_call(texts[i], "sm_90a", i == 0 ? 4 : 0, 6, 1024);
    qj_kernel* kernel = NULL;
    CHECK_OK(qj_kernel_get(service, texts[i], strlen(texts[i]), 0, NULL, &kernel));
    const qj_object_reader reader = new_reader();
    const qj_object_operands operands = objects_of(it);
    CHECK_OK(qj_launch_objects(kernel, &reader, &operands, NULL));
    CHECK(reads == (i == 0 ? 4 : 3) && times_left == 1 && locked);
    synchronize();
    check_outputs(it);
    end_call(it);
    qj_kernel_release(kernel);
  }
  qj_service_close(service);
}

/// The lock is taken again whatever the launch says; it is never left for objects that are refused.
static void wrong_objects(void) {
  static const char traits[] = "per_token_group_quant:in=bf16";
  qj_service* const service = open_simulated();
  make_current(0);
  call* const it = new_call(traits, "sm_90a", 0, 4, 256);
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT(traits), 0, NULL, &kernel));
  qj_object_reader reader = new_reader();
  qj_object_operands operands = objects_of(it);

  it->q.shape[1] = 128;
  CHECK_STATUS(qj_launch_objects(kernel, &reader, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "output_q.shape[1]");
  CHECK(times_left == 1 && locked);
  it->q.shape[1] = 256;

  reader = new_reader();
  reader.read = read_all_but_third;
  CHECK_STATUS(qj_launch_objects(kernel, &reader, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "output_s");
  CHECK(times_left == 0);

  reader = new_reader();
  operands.output_q = NULL;
  CHECK_STATUS(qj_launch_objects(kernel, &reader, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "output_q");
  operands = objects_of(it);
  reader.enter = NULL;
  CHECK_STATUS(qj_launch_objects(kernel, &reader, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "reader.leave and reader.enter");
  reader = new_reader();
  reader.read = NULL;
  CHECK_STATUS(qj_launch_objects(kernel, &reader, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch_objects(NULL, &reader, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch_objects(kernel, NULL, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch_objects(kernel, &reader, NULL, NULL), QJ_INVALID_ARGUMENT);

  reader = new_reader();
  reader.leave = NULL;
  reader.enter = NULL;
  CHECK_OK(qj_launch_objects(kernel, &reader, &operands, NULL));
  CHECK(times_left == 0);
  synchronize();
  check_outputs(it);
  qj_kernel_release(kernel);
  end_call(it);
  qj_service_close(service);
}

const test_case kObjectTests[] = {
    {"objects", objects},
    {"wrong_objects", wrong_objects},
    {NULL, NULL},
};
