// SPDX-License-Identifier: Apache-2.0
// Tensors that break a rule: each gives a status and a message, and nothing is written.
#include "tests/capi/capi_test.h"
#include "tests/capi/simulated_driver.h"

#include <stdio.h>
#include <string.h>

#define FLAT "per_token_group_quant:in=bf16,scale=f32,layout=row"
#define PACKED "per_token_group_quant:in=bf16,scale=ue8m0,layout=col"
#define MASKED "per_token_group_quant:in=bf16,scale=f32,layout=row,schedule=masked"
#define TOKEN "per_token_quant:in=bf16"

/// One tensor of a call and what is wrong with it.
typedef struct wrong_tensor {
  const char* what;
  const char* traits;
  const char* part;         // of the message
  void (*spoil)(call* it);  // makes it wrong
} wrong_tensor;

static void input_null(call* it) {
  it->operands.input = NULL;
}

static void q_null(call* it) {
  it->operands.output_q = NULL;
}

static void s_null(call* it) {
  it->operands.output_s = NULL;
}

static void mask_null(call* it) {
  it->operands.masked_m = NULL;
}

static void mask_given(call* it) {
  it->operands.masked_m = &it->s.view;
}

static void no_dimensions(call* it) {
  it->input.view.ndim = 0;
}

static void five_dimensions(call* it) {
  it->input.view.ndim = 5;
}

static void negative_dimensions(call* it) {
  it->q.view.ndim = -1;
}

static void three_dimensions(call* it) {
  it->input.view.ndim = 3;
  it->input.shape[2] = 1;
}

static void no_shape(call* it) {
  it->q.view.shape = NULL;
}

static void no_data(call* it) {
  it->input.view.data = NULL;
}

static void no_data_but_offset(call* it) {
  it->q.view.data = NULL;
  it->q.view.byte_offset = 64;
}

static void endless_offset(call* it) {
  it->q.view.byte_offset = UINT64_MAX - 15;
}

static void odd_offset(call* it) {
  it->input.view.byte_offset = 2;
}

static void f16_input(call* it) {
  it->input.view.dtype.code = QJ_CODE_FLOAT;
}

static void f64_input(call* it) {
  it->input.view.dtype = (qj_dldatatype){QJ_CODE_FLOAT, 64, 1};
}

static void two_lanes(call* it) {
  it->q.view.dtype.lanes = 2;
}

static void uint8_codes(call* it) {
  it->q.view.dtype.code = 1;
}

static void e5m2_codes(call* it) {
  it->q.view.dtype.code = 12;
}

static void e4m3_without_fn(call* it) {
  it->q.view.dtype.code = 8;
}

static void int8_codes(call* it) {
  it->q.view.dtype.code = QJ_CODE_INT;
}

static void bf16_scales(call* it) {
  it->s.view.dtype = (qj_dldatatype){QJ_CODE_BFLOAT, 16, 1};
}

static void int32_scales(call* it) {
  it->s.view.dtype.code = QJ_CODE_INT;
}

static void negative_size(call* it) {
  it->input.shape[0] = -4;
}

static void endless_size(call* it) {
  it->input.shape[0] = INT64_MAX;
  it->input.shape[1] = INT64_MAX;
}

static void half_a_group(call* it) {
  it->input.shape[1] -= 64;
}

static void few_rows(call* it) {
  it->q.shape[0] -= 1;
}

static void other_columns(call* it) {
  it->q.shape[1] -= 128;
}

static void other_groups(call* it) {
  it->s.shape[1] += 1;
}

static void other_tokens(call* it) {
  it->s.shape[0] -= 1;
}

static void spread_columns(call* it) {
  it->q.strides[1] = 2;
}

static void odd_rows(call* it) {
  it->q.strides[0] += 1;
}

static void negative_stride(call* it) {
  it->q.strides[0] = -it->q.strides[0];
}

static void rows_on_top(call* it) {
  it->q.strides[0] = 16;
}

static void column_scales(call* it) {
  it->s.strides[0] = 1;
  it->s.strides[1] = it->s.shape[0];
}

static void same_memory(call* it) {
  it->q.view.data = it->input.memory;
}

static void scales_in_codes(call* it) {
  it->s.view.data = it->q.memory;
}

static void opencl(call* it) {
  it->input.view.device.device_type = 4;
}

static void rocm(call* it) {
  it->s.view.device.device_type = 10;
}

static void no_device_type(call* it) {
  it->q.view.device.device_type = 0;
}

static void second_gpu(call* it) {
  it->q.view.device = (qj_dldevice){QJ_DEVICE_CUDA, 1};
}

static void int8_mask(call* it) {
  it->mask.view.dtype.bits = 8;
}

static void float_mask(call* it) {
  it->mask.view.dtype.code = QJ_CODE_FLOAT;
}

static void short_mask(call* it) {
  it->mask.shape[0] -= 1;
}

static void flat_mask(call* it) {
  it->mask.view.ndim = 0;
}

static const wrong_tensor kWrong[] = {
    {"no input", FLAT, "input", input_null},
    {"no output_q", FLAT, "output_q", q_null},
    {"no output_s", TOKEN, "output_s", s_null},
    {"no masked_m with schedule=masked", MASKED, "masked_m", mask_null},
    {"masked_m with schedule=flat", FLAT, "masked_m", mask_given},
    {"masked_m with per_token_quant", TOKEN, "masked_m", mask_given},
    {"ndim 0", FLAT, "input.ndim", no_dimensions},
    {"ndim 5", FLAT, "input.ndim", five_dimensions},
    {"ndim -1", FLAT, "output_q.ndim", negative_dimensions},
    {"three dimensions", FLAT, "input.ndim", three_dimensions},
    {"a null shape", FLAT, "output_q.shape", no_shape},
    {"null data", FLAT, "input.data", no_data},
    {"null data with an offset", FLAT, "output_q.data", no_data_but_offset},
    {"an offset beyond the address space", FLAT, "output_q.byte_offset", endless_offset},
    {"an address that is not aligned", FLAT, "input", odd_offset},
    {"f16 for bf16", FLAT, "input.dtype", f16_input},
    {"f64", TOKEN, "input.dtype", f64_input},
    {"two lanes", FLAT, "output_q.dtype", two_lanes},
    {"uint8 for e4m3", FLAT, "float8_e4m3fn (code 10)", uint8_codes},
    {"e5m2", FLAT, "output_q.dtype", e5m2_codes},
    {"e4m3 with infinities", TOKEN, "output_q.dtype", e4m3_without_fn},
    {"int8 for e4m3", FLAT, "output_q.dtype", int8_codes},
    {"bf16 scales", FLAT, "output_s.dtype", bf16_scales},
    {"int32 scales for f32", FLAT, "output_s.dtype", int32_scales},
    {"a negative size", FLAT, "input.shape", negative_size},
    {"more elements than addresses", FLAT, "input.shape", endless_size},
    {"half a group", FLAT, "multiple of the group", half_a_group},
    {"too few rows", FLAT, "output_q.shape[0]", few_rows},
    {"other columns", FLAT, "output_q.shape[1]", other_columns},
    {"other groups", FLAT, "output_s.shape[1]", other_groups},
    {"other tokens", PACKED, "output_s.shape[0]", other_tokens},
    {"columns that are spread", FLAT, "output_q.stride", spread_columns},
    {"rows that are not aligned", FLAT, "output_q.stride", odd_rows},
    {"a negative stride", FLAT, "output_q.stride", negative_stride},
    {"rows on top of each other", FLAT, "output_q", rows_on_top},
    {"column scales for layout=row", FLAT, "layout=row", column_scales},
    {"codes over the input", FLAT, "output_q", same_memory},
    {"scales over the codes", FLAT, "output_s", scales_in_codes},
    {"OpenCL memory", FLAT, "input.device", opencl},
    {"ROCm memory", FLAT, "output_s.device", rocm},
    {"no device type", FLAT, "output_q.device", no_device_type},
    {"another GPU", FLAT, "output_q.device", second_gpu},
    {"an int8 mask", MASKED, "masked_m.dtype", int8_mask},
    {"an f32 mask", MASKED, "masked_m.dtype", float_mask},
    {"a mask of too few experts", MASKED, "masked_m.shape[0]", short_mask},
    {"a mask without dimensions", MASKED, "masked_m.ndim", flat_mask},
};

static void expect_untouched(const tensor* it) {
  for (size_t i = 0; i < it->bytes; ++i) {
    CHECK(it->memory[i] == 0xA5);
  }
}

static void wrong_tensors(void) {
  qj_service* const service = open_simulated();
  make_current(0);
  for (size_t i = 0; i < sizeof(kWrong) / sizeof(kWrong[0]); ++i) {
    const wrong_tensor* const wrong = &kWrong[i];
    call* const it =
        new_call(wrong->traits, "sm_90a", strcmp(wrong->traits, MASKED) == 0 ? 3 : 0, 4, 512);
    qj_kernel* kernel = NULL;
    CHECK_OK(qj_kernel_get(service, wrong->traits, strlen(wrong->traits), 0, NULL, &kernel));
    wrong->spoil(it);
    const qj_status status = qj_kernel_launch(kernel, &it->operands, NULL);
    if (status != QJ_INVALID_ARGUMENT || strstr(qj_last_error(), wrong->part) == NULL) {
      fprintf(stderr, "%s gave %s\n", wrong->what, qj_status_name(status));
    }
    CHECK(status == QJ_INVALID_ARGUMENT);
    CHECK_CONTAINS(qj_last_error(), wrong->part);
    CHECK_CONTAINS(qj_last_error_details(), "\"rule\":");
    synchronize();
    expect_untouched(&it->q);
    expect_untouched(&it->s);
    qj_kernel_release(kernel);
    end_call(it);
  }
  qj_service_close(service);
}

/// Typed launches, text launches, specs and the reference look at tensors the same way.
static void wrong_tensors_elsewhere(void) {
  qj_service* const service = open_simulated();
  make_current(0);
  call* const it = new_call(FLAT, "sm_90a", 0, 4, 512);
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT(FLAT), 0, NULL, &kernel));
  it->q.view.dtype.code = 1;
  CHECK_STATUS(
      qj_per_token_group_quant(kernel, &it->input.view, &it->q.view, &it->s.view, NULL, 0, NULL),
      QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_per_token_quant(kernel, &it->input.view, &it->expected_q.view, &it->s.view, NULL),
               QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "per_token_quant");
  CHECK_STATUS(qj_launch(service, QJ_TEXT(FLAT), &it->operands, NULL), QJ_INVALID_ARGUMENT);
  const qj_reference_target good = {
      .struct_size = sizeof(good), .arch = text_of("sm_90a"), .sm_count = 132};
  CHECK_STATUS(qj_reference(QJ_TEXT(FLAT), &good, &it->operands), QJ_INVALID_ARGUMENT);
  it->q.view.dtype.code = QJ_CODE_FLOAT8_E4M3FN;
  it->q.view.device.device_type = QJ_DEVICE_CUDA;
  CHECK_STATUS(qj_reference(QJ_TEXT(FLAT), &good, &it->operands), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "output_q.device");
  it->q.view.device.device_type = QJ_DEVICE_CPU;
  qj_reference_target target = good;
  target.sm_count = 0;
  CHECK_STATUS(qj_reference(QJ_TEXT(FLAT), &target, &it->operands), QJ_INVALID_ARGUMENT);
  target = good;
  target.math = 3;
  CHECK_STATUS(qj_reference(QJ_TEXT(FLAT), &target, &it->operands), QJ_INVALID_ARGUMENT);
  target = good;
  target.arch = text_of("sm_75");
  CHECK_STATUS(qj_reference(QJ_TEXT(FLAT), &target, &it->operands), QJ_INVALID_ARGUMENT);
  it->operands.struct_size = 16;
  CHECK_STATUS(qj_kernel_launch(kernel, &it->operands, NULL), QJ_INVALID_ARGUMENT);
  qj_tensor_spec spec = {.struct_size = 8};
  CHECK_STATUS(qj_output_specs(QJ_TEXT(FLAT), &it->input.view, &spec, NULL), QJ_INVALID_ARGUMENT);
  it->input.shape[1] = 100;
  spec.struct_size = sizeof(spec);
  CHECK_STATUS(qj_output_specs(QJ_TEXT(FLAT), &it->input.view, &spec, NULL), QJ_INVALID_ARGUMENT);
  CHECK(spec.ndim == 0);
  it->input.shape[1] = 512;
  qj_kernel_release(kernel);
  end_call(it);
  qj_service_close(service);
}

static void specs(void) {
  int64_t shape[2] = {5, 640};
  const qj_dltensor input = {.ndim = 2, .dtype = {QJ_CODE_BFLOAT, 16, 1}, .shape = shape};
  qj_tensor_spec q = {.struct_size = sizeof(q)};
  qj_tensor_spec s = {.struct_size = sizeof(s)};
  CHECK_OK(qj_output_specs(QJ_TEXT(PACKED), &input, &q, &s));
  CHECK(q.ndim == 2 && q.shape[0] == 5 && q.shape[1] == 640 && q.strides[0] == 640);
  CHECK(q.dtype.code == QJ_CODE_FLOAT8_E4M3FN && q.dtype.bits == 8 && q.storage_bytes == 3200);
  CHECK(s.shape[0] == 5 && s.shape[1] == 2 && s.strides[0] == 1 && s.strides[1] == 8);
  CHECK(s.dtype.code == QJ_CODE_INT && s.dtype.bits == 32 && s.storage_bytes == 64);
  CHECK_OK(qj_output_specs(QJ_TEXT(TOKEN), &input, NULL, &s));
  CHECK(s.shape[0] == 5 && s.shape[1] == 1 && s.dtype.code == QJ_CODE_FLOAT);
}

static void managed_tensors(void) {
  qj_dlmanaged_versioned managed = {.version = {1, 3}, .flags = QJ_FLAG_READ_ONLY};
  const qj_dltensor* found = NULL;
  CHECK_OK(qj_tensor_of_managed(&managed, 0, &found));
  CHECK(found == &managed.dl_tensor);
  found = NULL;
  CHECK_STATUS(qj_tensor_of_managed(&managed, 1, &found), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "read only");
  managed.flags = QJ_FLAG_IS_COPIED;
  CHECK_OK(qj_tensor_of_managed(&managed, 1, &found));
  found = NULL;
  managed.version.major = 2;
  CHECK_STATUS(qj_tensor_of_managed(&managed, 0, &found), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_tensor_of_managed(NULL, 0, &found), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_tensor_of_managed(&managed, 0, NULL), QJ_INVALID_ARGUMENT);
  CHECK(found == NULL);
}

const test_case kTensorTests[] = {
    {"wrong_tensors", wrong_tensors},
    {"wrong_tensors_elsewhere", wrong_tensors_elsewhere},
    {"specs", specs},
    {"managed_tensors", managed_tensors},
    {NULL, NULL},
};
