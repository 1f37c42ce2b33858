// SPDX-License-Identifier: Apache-2.0
// Services, kernels and images.
#include "tests/capi/capi_test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "per_token_quant:in=bf16"

static void open_and_close(void) {
  qj_service* service = NULL;
  CHECK_OK(qj_service_open(NULL, &service));
  qj_service_close(service);
  qj_service_close(NULL);
  qj_service_options options = {.struct_size = sizeof(options), .ignore_environment = 1};
  CHECK_OK(qj_service_open(&options, &service));
  qj_service_close(service);
  CHECK_STATUS(qj_service_open(&options, NULL), QJ_INVALID_ARGUMENT);
}

static void option_values(void) {
  const qj_text root = text_of("/dev/null/quantjit-root");
  const qj_shared_root shared = {root, text_of("/nonexistent/key")};
  qj_service_options options = {.struct_size = sizeof(options),
                                .cache_roots = &root,
                                .num_cache_roots = 1,
                                .shared_roots = &shared,
                                .num_shared_roots = 1,
                                .cache_max_bytes = 1 << 20};
  options.nvrtc = text_of("/nonexistent/libnvrtc.so");
  options.kernel_dir = text_of("/nonexistent/kernels");
  options.math = text_of("precise");
  options.code = text_of("ptx");
  options.capture_policy = text_of("load");
  options.jit = text_of("off");
  qj_service* service = NULL;
  CHECK_OK(qj_service_open(&options, &service));
  qj_service_close(service);
}

static void remote_tiers(void) {
  const qj_text tiers[] = {text_of("file:///nonexistent/share?readonly=1"),
                           text_of("file:///nonexistent/other")};
  qj_service_options options = {.struct_size = sizeof(options),
                                .ignore_environment = 1,
                                .memory_only = 1,
                                .remote = tiers,
                                .num_remote = 2};
  qj_service* service = NULL;
  CHECK_OK(qj_service_open(&options, &service));
  char* json = NULL;
  CHECK_OK(qj_remote_stats(service, &json, NULL));
  CHECK_CONTAINS(json, "\"label\":\"file:///nonexistent/share\",\"writable\":false");
  CHECK_CONTAINS(json, "\"label\":\"file:///nonexistent/other\",\"writable\":true");
  qj_free(json);
  CHECK_OK(qj_stats(service, &json, NULL));
  CHECK_CONTAINS(json, "\"remote_hits\":0");
  qj_free(json);
  int32_t complete = 7;
  CHECK_OK(qj_service_flush_remote(service, 0, &complete));
  CHECK(complete == 1);
  CHECK_OK(qj_service_flush_remote(service, 0, NULL));
  CHECK_STATUS(qj_service_flush_remote(service, -1, &complete), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_service_flush_remote(NULL, 0, &complete), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_remote_stats(NULL, &json, NULL), QJ_INVALID_ARGUMENT);
  qj_service_close(service);

  // A caller of before this option has no remote tiers.
  options.struct_size = offsetof(qj_service_options, remote);
  CHECK_OK(qj_service_open(&options, &service));
  CHECK_OK(qj_remote_stats(service, &json, NULL));
  CHECK(strcmp(json, "{\"tiers\":[]}") == 0);
  qj_free(json);
  qj_service_close(service);
}

static void expect_refused(const qj_service_options* options, const char* part) {
  qj_service* service = NULL;
  CHECK_STATUS(qj_service_open(options, &service), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), part);
  CHECK(service == NULL);
}

static void wrong_options(void) {
  const qj_service_options good = {.struct_size = sizeof(good), .ignore_environment = 1};
  const qj_text root = text_of("/dev/null/quantjit-root");
  qj_service_options options = good;
  options.math = text_of("exact");
  expect_refused(&options, "exact");
  options = good;
  options.code = text_of("sass");
  expect_refused(&options, "sass");
  options = good;
  options.capture_policy = text_of("ignore");
  expect_refused(&options, "error or load");
  options = good;
  options.jit = text_of("yes");
  expect_refused(&options, "off or on");
  options = good;
  options.kernel_dir.size = 3;
  expect_refused(&options, "options.kernel_dir");
  options = good;
  options.num_cache_roots = 1;
  expect_refused(&options, "options.cache_roots");
  options = good;
  options.memory_only = 1;
  options.cache_roots = &root;
  options.num_cache_roots = 1;
  expect_refused(&options, "memory_only");
  options = good;
  options.struct_size = 8;
  expect_refused(&options, "struct_size");
}

/// What null is refused with, for every function that takes a handle or hands something out.
static void null_arguments(void) {
  qj_service* const service = open_simulated();
  char* json = NULL;
  CHECK_STATUS(qj_stats(NULL, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_stats(service, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_device_stats(NULL, 0, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_prometheus_text(NULL, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_prometheus_text(service, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_device_info(NULL, 0, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_explain(NULL, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &json, NULL),
               QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_reload_sources(NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_evict_memory(NULL, 0, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_seal(NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_prewarm(NULL, NULL, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_prewarm(service, NULL, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_cancel_create(NULL), QJ_INVALID_ARGUMENT);
  qj_cancel_request(NULL);
  qj_cancel_destroy(NULL);
  qj_kernel* kernel = NULL;
  CHECK_STATUS(qj_kernel_get(NULL, QJ_TEXT(TOKEN), 0, NULL, &kernel), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_kernel_get(service, QJ_TEXT(TOKEN), 0, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_kernel_get_traits(service, NULL, 0, NULL, &kernel), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_kernel_info(NULL, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK(qj_kernel_device(NULL) == -1);
  qj_kernel_retain(NULL);
  qj_kernel_release(NULL);
  qj_image* image = NULL;
  CHECK_STATUS(qj_image_get(NULL, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &image), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_image_info(NULL, &json, NULL), QJ_INVALID_ARGUMENT);
  const void* code = NULL;
  size_t size = 0;
  CHECK_STATUS(qj_image_code(NULL, &code, &size), QJ_INVALID_ARGUMENT);
  qj_image_release(NULL);
  CHECK_STATUS(qj_per_token_group_quant(NULL, NULL, NULL, NULL, NULL, 0, NULL),
               QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_per_token_quant(NULL, NULL, NULL, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_kernel_launch(NULL, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch(NULL, QJ_TEXT(TOKEN), NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_launch(service, QJ_TEXT(TOKEN), NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_output_specs(QJ_TEXT(TOKEN), NULL, NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_reference(QJ_TEXT(TOKEN), NULL, NULL), QJ_INVALID_ARGUMENT);
  CHECK(json == NULL && kernel == NULL && image == NULL);
  qj_service_close(service);
}

static void images(void) {
  qj_service* const service = open_simulated();
  qj_image* image = NULL;
  CHECK_OK(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_100a"), &image));
  char* json = NULL;
  size_t json_size = 0;
  CHECK_OK(qj_image_info(image, &json, &json_size));
  CHECK(strlen(json) == json_size);
  CHECK_CONTAINS(json, "\"traits\":\"per_token_quant:in=bf16,out=e4m3");
  CHECK_CONTAINS(json, "\"arch\":\"sm_100a\"");
  CHECK_CONTAINS(json, "\"source\":\"compiled\"");
  CHECK_CONTAINS(json, "\"entry_points\":[{\"name\":\"quantjit::device::per_token_quant_rows<");
  qj_free(json);
  const void* code = NULL;
  size_t size = 0;
  CHECK_OK(qj_image_code(image, &code, &size));
  CHECK(size > 1000 && memcmp(code, "\177ELF", 4) == 0);
  qj_service_close(service);  // the image stays
  CHECK_OK(qj_image_code(image, &code, &size));
  CHECK(memcmp(code, "\177ELF", 4) == 0);
  qj_image_release(image);
}

static void kernels(void) {
  qj_service* const service = open_simulated();
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT(TOKEN), 1, NULL, &kernel));
  CHECK(qj_kernel_device(kernel) == 1);
  char* json = NULL;
  CHECK_OK(qj_kernel_info(kernel, &json, NULL));
  CHECK_CONTAINS(json, "\"arch\":\"sm_100a\"");
  CHECK_CONTAINS(json, "\"device\":1");
  CHECK_CONTAINS(json, "\"code_kind\":\"ptx\"");
  qj_free(json);
  qj_traits traits = {.struct_size = sizeof(traits)};
  CHECK_OK(qj_traits_parse(QJ_TEXT(TOKEN), &traits));
  qj_kernel* same = NULL;
  CHECK_OK(qj_kernel_get_traits(service, &traits, 1, NULL, &same));
  CHECK_OK(qj_stats(service, &json, NULL));
  CHECK_CONTAINS(json, "\"requests\":2");
  CHECK_CONTAINS(json, "\"memory_hits\":1");
  CHECK_CONTAINS(json, "\"compiles\":1");
  CHECK_CONTAINS(json, "\"nvrtc_loaded\":true");
  qj_free(json);
  CHECK_OK(qj_device_stats(service, 1, &json, NULL));
  CHECK_CONTAINS(json, "\"loads\":1");
  CHECK_CONTAINS(json, "\"loaded_kernels\":1");
  qj_free(json);
  CHECK_OK(qj_prometheus_text(service, &json, NULL));
  CHECK_CONTAINS(json, "\nquantjit_requests_total 2\n");
  CHECK_CONTAINS(json, "\nquantjit_device_loads_total{device=\"1\"} 1\n");
  qj_free(json);
  uint64_t count = 0;
  CHECK_OK(qj_evict_memory(service, 1, &count));
  CHECK(count == 1);
  CHECK_OK(qj_evict_memory(service, 1, NULL));
  CHECK_STATUS(qj_evict_memory(service, -1, NULL), QJ_INVALID_ARGUMENT);
  qj_kernel_retain(kernel);
  qj_kernel_release(kernel);
  CHECK(qj_kernel_device(kernel) == 1);
  qj_kernel_release(same);
  qj_service_close(service);
  CHECK(qj_kernel_device(kernel) == 1);
  qj_kernel_release(kernel);
}

static void wrong_requests(void) {
  qj_service* const service = open_simulated();
  qj_kernel* kernel = NULL;
  CHECK_STATUS(qj_kernel_get(service, QJ_TEXT("per_row_quant"), 0, NULL, &kernel),
               QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "per_token_quant");
  CHECK_STATUS(qj_kernel_get(service, QJ_TEXT(TOKEN), 7, NULL, &kernel), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_kernel_get(service, NULL, 0, 0, NULL, &kernel), QJ_INVALID_ARGUMENT);
  CHECK(kernel == NULL);
  qj_image* image = NULL;
  CHECK_STATUS(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_80"), &image),
               QJ_INVALID_ARGUMENT);
  CHECK(image == NULL);
  qj_service_close(service);
}

static void devices(void) {
  qj_service* const service = open_simulated();
  char* json = NULL;
  CHECK_OK(qj_device_info(service, 0, &json, NULL));
  CHECK_CONTAINS(json, "\"arch\":\"sm_90a\"");
  CHECK_CONTAINS(json, "\"simulated\":true");
  CHECK_CONTAINS(json, "\"devices\":2");
  qj_free(json);
  json = NULL;
  CHECK_STATUS(qj_device_info(service, 2, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK(json == NULL);
  qj_service_close(service);
}

static void no_driver_and_no_compiler(void) {
  qj_service_options options = {
      .struct_size = sizeof(options), .ignore_environment = 1, .memory_only = 1};
  options.cuda_driver = text_of("/nonexistent/libcuda.so.1");
  options.nvrtc = text_of("/nonexistent/libnvrtc.so");
  qj_service* service = NULL;
  CHECK_OK(qj_service_open(&options, &service));
  qj_kernel* kernel = NULL;
  CHECK_STATUS(qj_kernel_get(service, QJ_TEXT(TOKEN), 0, NULL, &kernel), QJ_DRIVER_ERROR);
  CHECK_CONTAINS(qj_last_error_details(), "\"api\":");
  qj_image* image = NULL;
  CHECK_STATUS(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &image), QJ_COMPILE_ERROR);
  CHECK_CONTAINS(qj_last_error_details(), "\"traits\":\"per_token_quant:in=bf16");
  qj_service_close(service);
}

static void explain_and_seal(void) {
  qj_service* const service = open_simulated();
  char* json = NULL;
  CHECK_OK(qj_explain(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &json, NULL));
  CHECK_CONTAINS(json, "\"hit\":false");
  CHECK_CONTAINS(json, "\"nearest\":null");
  qj_free(json);
  qj_image* image = NULL;
  CHECK_OK(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &image));
  qj_image_release(image);
  CHECK_OK(qj_seal(service));
  CHECK_OK(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &image));
  qj_image_release(image);
  image = NULL;
  CHECK_STATUS(qj_image_get(service, QJ_TEXT("per_token_quant:in=f16"), QJ_TEXT("sm_90a"), &image),
               QJ_SEALED_MISS);
  CHECK_CONTAINS(qj_last_error(), "in=f16");
  CHECK(image == NULL);
  qj_service_close(service);
}

static void reload(void) {
  qj_service* const service = open_simulated();
  qj_image* image = NULL;
  CHECK_OK(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &image));
  qj_image_release(image);
  CHECK_OK(qj_reload_sources(service));
  CHECK_OK(qj_image_get(service, QJ_TEXT(TOKEN), QJ_TEXT("sm_90a"), &image));
  qj_image_release(image);
  char* json = NULL;
  CHECK_OK(qj_stats(service, &json, NULL));
  CHECK_CONTAINS(json, "\"compiles\":2");
  qj_free(json);
  qj_service_close(service);
}

const test_case kServiceTests[] = {
    {"open_and_close", open_and_close},
    {"option_values", option_values},
    {"remote_tiers", remote_tiers},
    {"wrong_options", wrong_options},
    {"null_arguments", null_arguments},
    {"images", images},
    {"kernels", kernels},
    {"wrong_requests", wrong_requests},
    {"devices", devices},
    {"no_driver_and_no_compiler", no_driver_and_no_compiler},
    {"explain_and_seal", explain_and_seal},
    {"reload", reload},
    {NULL, NULL},
};
