// SPDX-License-Identifier: Apache-2.0
// One service used from many threads.
#include "tests/capi/capi_test.h"
#include "tests/capi/simulated_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { kThreads = 32, kRounds = 3 };

static const char* const kTraits[] = {
    "per_token_group_quant:in=bf16,scale=f32,layout=row",
    "per_token_group_quant:in=bf16,scale=ue8m0,layout=col",
    "per_token_group_quant:in=bf16,group=64,scale=f32_pow2,layout=col",
    "per_token_quant:in=bf16",
};

static pthread_barrier_t barrier;
static qj_service* service;

/// Fails with a message of its own and must find that one, whatever other threads fail with.
static void fail_in_my_own_way(int number) {
  char text[64];
  snprintf(text, sizeof(text), "per_token_quant:in=thread%d", number);
  qj_traits traits = {.struct_size = sizeof(traits)};
  CHECK_STATUS(qj_traits_parse(text, strlen(text), &traits), QJ_INVALID_ARGUMENT);
  char part[32];
  snprintf(part, sizeof(part), "\"thread%d\"", number);
  CHECK_CONTAINS(qj_last_error(), part);
}

static void* work(void* argument) {
  const int number = *(const int*)argument;
  const char* const traits = kTraits[number % 4];
  make_current(0);
  call* const it = new_call(traits, "sm_90a", 0, 2 + number, 256);
  void* const stream = new_stream();
  pthread_barrier_wait(&barrier);
  for (int round = 0; round < kRounds; ++round) {
    fail_in_my_own_way(number);
    qj_kernel* kernel = NULL;
    CHECK_OK(qj_kernel_get(service, traits, strlen(traits), 0, stream, &kernel));
    CHECK_OK(qj_kernel_launch(kernel, &it->operands, stream));
    synchronize();
    check_outputs(it);
    char* json = NULL;
    CHECK_OK(qj_stats(service, &json, NULL));
    qj_free(json);
    qj_kernel_release(kernel);
  }
  end_call(it);
  return NULL;
}

static void many_threads(void) {
  service = open_simulated();
  make_current(0);
  CHECK(pthread_barrier_init(&barrier, NULL, kThreads) == 0);
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  char* json = NULL;
  CHECK_OK(qj_stats(service, &json, NULL));
  CHECK_CONTAINS(json, "\"requests\":96");
  CHECK_CONTAINS(json, "\"compiles\":4");
  CHECK_CONTAINS(json, "\"loads\":4");
  qj_free(json);
  qj_service_close(service);
}

/// Uses of one kernel that are taken and given back by many threads at once.
static void* share(void* kernel) {
  for (int i = 0; i < 10000; ++i) {
    qj_kernel_retain(kernel);
    CHECK(qj_kernel_device(kernel) == 0);
    qj_kernel_release(kernel);
  }
  return NULL;
}

static void shared_kernel(void) {
  service = open_simulated();
  qj_kernel* kernel = NULL;
  CHECK_OK(qj_kernel_get(service, QJ_TEXT("per_token_quant"), 0, NULL, &kernel));
  qj_service_close(service);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, share, kernel) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  qj_kernel_release(kernel);
}

const test_case kThreadTests[] = {
    {"many_threads", many_threads},
    {"shared_kernel", shared_kernel},
    {NULL, NULL},
};
