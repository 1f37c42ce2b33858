// SPDX-License-Identifier: Apache-2.0
// Kernels of the caller, registered and launched from C.
#include "tests/capi/capi_test.h"
#include "tests/capi/simulated_driver.h"

#include <string.h>

typedef struct fill_params {
  int32_t* data;
  uint32_t count;
  int32_t value;
} fill_params;

static const char kParams[] =
    "#pragma once\nstruct FillParams { int* data; unsigned count; int value; };\n";
static const char kText[] =
    "#include \"device/pdl.cuh\"\n"
    "#include \"engine/params.h\"\n"
    "template <int kScale, bool kPdl>\n"
    "__global__ void fill(const __grid_constant__ FillParams p) {\n"
    "  quantjit::device::pdl_wait<kPdl>();\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < p.count) { p.data[i] = kScale * p.value; }\n"
    "}\n";

/// The parts of a source, which point into each other.
typedef struct parts {
  qj_source_file include;
  qj_source_value values[2];
  qj_source_key key;
  qj_text arguments[2];
  qj_source_entry entry;
  qj_source source;
} parts;

static void make(parts* it) {
  memset(it, 0, sizeof(*it));
  it->include.path = text_of("engine/params.h");
  it->include.text = text_of(kParams);
  it->values[0].value = text_of("once");
  it->values[0].argument = text_of("1");
  it->values[1].value = text_of("twice");
  it->values[1].argument = text_of("2");
  it->key.key = text_of("scale");
  it->key.values = it->values;
  it->key.num_values = 2;
  it->arguments[0] = text_of("scale");
  it->arguments[1] = text_of("pdl");
  it->entry.function = text_of("fill");
  it->entry.arguments = it->arguments;
  it->entry.num_arguments = 2;
  it->source.struct_size = sizeof(it->source);
  it->source.op = text_of("fill");
  it->source.path = text_of("engine/fill.cuh");
  it->source.text = text_of(kText);
  it->source.includes = &it->include;
  it->source.num_includes = 1;
  it->source.keys = &it->key;
  it->source.num_keys = 1;
  it->source.entries = &it->entry;
  it->source.num_entries = 1;
  it->source.parameter_bytes = sizeof(fill_params);
}

/// A service on the simulated devices that knows the source.
static qj_service* open_with_source(parts* it) {
  qj_service* const service = open_simulated();
  make(it);
  CHECK_OK(qj_register_source(service, &it->source));
  return service;
}

static void own_kernel(void) {
  enum { kCount = 100 };

  parts it;
  qj_service* const service = open_with_source(&it);
  make_current(0);
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT("fill:scale=twice"), 0, NULL, &kernel));
  char* json = NULL;
  CHECK_OK(qj_kernel_info(kernel, &json, NULL));
  CHECK_CONTAINS(json, "\"traits\":\"fill:scale=twice,pdl=true\"");
  CHECK_CONTAINS(json, "\"name\":\"fill<2, true>\"");
  qj_free(json);
  int32_t* const data = allocate(kCount * sizeof(int32_t));
  const fill_params parameters = {data, kCount, 21};
  const qj_raw_launch how = {.struct_size = sizeof(how),
                             .grid = {4, 1, 1},
                             .block = {32, 1, 1},
                             .parameters = &parameters,
                             .parameter_bytes = sizeof(parameters)};
  CHECK_OK(qj_launch_raw(kernel, &how, NULL));
  int32_t copy[kCount];
  copy_out(copy, data, sizeof(copy));
  for (int i = 0; i < kCount; ++i) {
    CHECK(copy[i] == 42);
  }
  qj_kernel_release(kernel);
  qj_service_close(service);
}

static void own_kernel_ahead(void) {
  parts it;
  qj_service* const service = open_with_source(&it);
  const qj_text traits = text_of("fill:scale=once");
  const qj_text arch = text_of("sm_90a");
  const qj_prewarm_options options = one_kernel(&traits, &arch);
  char* json = NULL;
  CHECK_OK(qj_prewarm(service, &options, &json, NULL));
  CHECK_CONTAINS(json, "\"compiled\":1");
  qj_free(json);
  CHECK_OK(qj_seal(service));
  qj_image* image = NULL;
  CHECK_OK(qj_image_get(service, QJ_TEXT("fill"), QJ_TEXT("sm_90a"), &image));
  qj_image_release(image);
  image = NULL;
  CHECK_STATUS(qj_image_get(service, QJ_TEXT("fill:scale=twice"), QJ_TEXT("sm_90a"), &image),
               QJ_SEALED_MISS);
  CHECK_OK(qj_explain(service, QJ_TEXT("fill:scale=twice"), QJ_TEXT("sm_90a"), &json, NULL));
  CHECK_CONTAINS(json, "\"traits\":\"fill:scale=twice,pdl=true\"");
  qj_free(json);
  qj_service_close(service);
}

static void wrong_sources(void) {
  qj_service* const service = open_simulated();
  parts it;
  make(&it);
  CHECK_STATUS(qj_register_source(NULL, &it.source), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_register_source(service, NULL), QJ_INVALID_ARGUMENT);
  it.source.struct_size = 8;
  CHECK_STATUS(qj_register_source(service, &it.source), QJ_INVALID_ARGUMENT);
  make(&it);
  it.source.keys = NULL;
  CHECK_STATUS(qj_register_source(service, &it.source), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "source.keys");
  make(&it);
  it.source.entries = NULL;
  CHECK_STATUS(qj_register_source(service, &it.source), QJ_INVALID_ARGUMENT);
  make(&it);
  it.values[1].argument = text_of("2>(p); int x");
  CHECK_STATUS(qj_register_source(service, &it.source), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "integer, true, false or an identifier");
  make(&it);
  it.source.op = text_of("per_token_quant");
  CHECK_STATUS(qj_register_source(service, &it.source), QJ_INVALID_ARGUMENT);
  make(&it);
  it.source.text.data = NULL;
  CHECK_STATUS(qj_register_source(service, &it.source), QJ_INVALID_ARGUMENT);
  qj_kernel* kernel = NULL;
  CHECK_STATUS(qj_kernel_get(service, QJ_TEXT("fill"), 0, NULL, &kernel), QJ_INVALID_ARGUMENT);
  CHECK(kernel == NULL);
  qj_service_close(service);
}

static void wrong_raw_launches(void) {
  parts it;
  qj_service* const service = open_with_source(&it);
  make_current(0);
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT("fill"), 0, NULL, &kernel));
  const fill_params parameters = {NULL, 0, 0};
  const qj_raw_launch good = {.struct_size = sizeof(good),
                              .grid = {1, 1, 1},
                              .block = {32, 1, 1},
                              .parameters = &parameters,
                              .parameter_bytes = sizeof(parameters)};
  CHECK_OK(qj_launch_raw(kernel, &good, NULL));
  synchronize();
  qj_raw_launch how = good;
  how.grid[1] = 0;
  CHECK_STATUS(qj_launch_raw(kernel, &how, NULL), QJ_INVALID_ARGUMENT);
  how = good;
  how.entry = 1;
  CHECK_STATUS(qj_launch_raw(kernel, &how, NULL), QJ_INVALID_ARGUMENT);
  how = good;
  how.parameters = NULL;
  CHECK_STATUS(qj_launch_raw(kernel, &how, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch_raw(NULL, &good, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch_raw(kernel, NULL, NULL), QJ_INVALID_ARGUMENT);
  const qj_operands operands = {.struct_size = sizeof(operands)};
  CHECK_STATUS(qj_kernel_launch(kernel, &operands, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "qj_launch_raw");
  qj_kernel_release(kernel);
  CHECK_OK(qj_kernel_get(service, QJ_TEXT("per_token_quant"), 0, NULL, &kernel));
  CHECK_STATUS(qj_launch_raw(kernel, &good, NULL), QJ_INVALID_ARGUMENT);
  qj_kernel_release(kernel);
  qj_service_close(service);
}

const test_case kSourceTests[] = {
    {"own_kernel", own_kernel},
    {"own_kernel_ahead", own_kernel_ahead},
    {"wrong_sources", wrong_sources},
    {"wrong_raw_launches", wrong_raw_launches},
    {NULL, NULL},
};
