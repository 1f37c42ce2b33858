// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/capi_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct progress_log {
  int calls;
  uint64_t requested;
  uint64_t done;
  int end_after;  // calls; 0 = never
} progress_log;

static int32_t watch(const qj_prewarm_progress* progress, void* user) {
  progress_log* const log = user;
  CHECK(progress->struct_size == sizeof(*progress));
  log->requested = progress->requested;
  log->done = progress->hits + progress->compiled + progress->failed;
  ++log->calls;
  return log->end_after != 0 && log->calls >= log->end_after;
}

static void list(void) {
  qj_service* const service = open_simulated();
  const qj_text traits[] = {text_of("per_token_quant:in=bf16"), text_of("per_token_quant:in=f16"),
                            text_of("per_token_quant")};  // the same as the first
  const qj_text archs[] = {text_of("sm_90a"), text_of("sm_100a")};
  progress_log log = {0};
  const qj_prewarm_options options = {.struct_size = sizeof(options),
                                      .traits = traits,
                                      .num_traits = 3,
                                      .archs = archs,
                                      .num_archs = 2,
                                      .jobs = 2,
                                      .progress = watch,
                                      .user = &log};
  char* json = NULL;
  size_t size = 0;
  CHECK_OK(qj_prewarm(service, &options, &json, &size));
  CHECK(strlen(json) == size);
  CHECK_CONTAINS(json, "\"requested\":4,\"hits\":0,\"compiled\":4,\"failed\":[]");
  CHECK(log.calls == 5 && log.requested == 4 && log.done == 4);
  qj_free(json);
  CHECK_OK(qj_prewarm(service, &options, NULL, NULL));
  qj_service_close(service);
}

static void devices(void) {
  qj_service* const service = open_simulated();
  const qj_text traits = text_of("per_token_quant:in=bf16");
  const int32_t ordinals[] = {0, 1};
  const qj_prewarm_options options = {.struct_size = sizeof(options),
                                      .traits = &traits,
                                      .num_traits = 1,
                                      .devices = ordinals,
                                      .num_devices = 2};
  char* json = NULL;
  CHECK_OK(qj_prewarm(service, &options, &json, NULL));
  CHECK_CONTAINS(json, "\"loaded\":2");
  qj_free(json);
  CHECK_OK(qj_seal(service));
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, traits.data, traits.size, 1, NULL, &kernel));
  qj_kernel_release(kernel);
  kernel = NULL;
  CHECK_STATUS(qj_kernel_get(service, QJ_TEXT("per_token_quant:in=f32"), 1, NULL, &kernel),
               QJ_SEALED_MISS);
  CHECK(kernel == NULL);
  qj_service_close(service);
}

static void cancelled(void) {
  qj_service* const service = open_simulated();
  const qj_text traits[] = {text_of("per_token_quant:in=bf16"), text_of("per_token_quant:in=f16")};
  const qj_text arch = text_of("sm_90a");
  progress_log log = {.end_after = 1};
  qj_prewarm_options options = {.struct_size = sizeof(options),
                                .traits = traits,
                                .num_traits = 2,
                                .archs = &arch,
                                .num_archs = 1,
                                .jobs = 1,
                                .progress = watch,
                                .user = &log};
  char* json = NULL;
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_CANCELLED);
  CHECK_CONTAINS(json, "\"cancelled\":true");
  CHECK_CONTAINS(qj_last_error(), "0 of 2");
  qj_free(json);
  qj_cancel* cancel = NULL;
  CHECK_OK(qj_cancel_create(&cancel));
  qj_cancel_request(cancel);
  options.cancel = cancel;
  options.progress = NULL;
  CHECK_STATUS(qj_prewarm(service, &options, NULL, NULL), QJ_CANCELLED);
  qj_cancel_destroy(cancel);
  qj_service_close(service);
}

static void incomplete(void) {
  qj_service* const service = open_simulated();
  CHECK_OK(qj_seal(service));
  const qj_text traits = text_of("per_token_quant:in=bf16");
  const qj_text arch = text_of("sm_90a");
  const qj_prewarm_options options = one_kernel(&traits, &arch);
  char* json = NULL;
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_INCOMPLETE);
  CHECK_CONTAINS(json, "\"failed\":[{\"traits\":\"per_token_quant:in=bf16");
  CHECK_CONTAINS(qj_last_error(), "1 of 1 kernels");
  qj_free(json);
  qj_service_close(service);
}

/// What a service recorded prewarms another one.
static void record_and_replay(void) {
  char path[] = "/tmp/quantjit-capi-XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  qj_service_options options = {
      .struct_size = sizeof(options), .ignore_environment = 1, .memory_only = 1};
  options.record = text_of(path);
  qj_service* service = NULL;
  CHECK_OK(qj_service_open(&options, &service));
  qj_image* image = NULL;
  CHECK_OK(qj_image_get(service, QJ_TEXT("per_token_quant:in=f16"), QJ_TEXT("sm_90a"), &image));
  qj_image_release(image);
  qj_service_close(service);

  service = open_simulated();
  const qj_prewarm_options prewarm = {.struct_size = sizeof(prewarm), .trace = text_of(path)};
  char* json = NULL;
  CHECK_OK(qj_prewarm(service, &prewarm, &json, NULL));
  CHECK_CONTAINS(json, "\"requested\":1,\"hits\":0,\"compiled\":1");
  qj_free(json);
  qj_service_close(service);
  CHECK(unlink(path) == 0);
}

static void wrong_lists(void) {
  qj_service* const service = open_simulated();
  const qj_text traits = text_of("per_token_quant:in=bf16");
  const qj_text arch = text_of("sm_90a");
  const qj_prewarm_options good = one_kernel(&traits, &arch);
  char* json = NULL;
  qj_prewarm_options options = good;
  options.num_archs = 0;
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "archs or devices");
  options = good;
  options.traits = NULL;
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_INVALID_ARGUMENT);
  options = good;
  options.jobs = -1;
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_INVALID_ARGUMENT);
  options = good;
  options.manifest = text_of("/nonexistent/manifest.json");
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_INVALID_ARGUMENT);
  options = good;
  options.trace = text_of("/nonexistent/trace");
  CHECK_STATUS(qj_prewarm(service, &options, &json, NULL), QJ_INVALID_ARGUMENT);
  CHECK(json == NULL);
  qj_service_close(service);
}

const test_case kPrewarmTests[] = {
    {"prewarm_list", list},
    {"prewarm_devices", devices},
    {"prewarm_cancelled", cancelled},
    {"prewarm_incomplete", incomplete},
    {"prewarm_record_and_replay", record_and_replay},
    {"prewarm_wrong_lists", wrong_lists},
    {NULL, NULL},
};
