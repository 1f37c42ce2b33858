// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/capi_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check(int holds, const char* condition, const char* file, int line) {
  if (!holds) {
    fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", file, line, condition,
            qj_last_error());
    exit(1);
  }
}

void check_status(qj_status status, qj_status expected, const char* expression, const char* file,
                  int line) {
  if (status != expected) {
    fprintf(stderr, "%s:%d: %s gave %s, not %s: %s\n%s\n", file, line, expression,
            qj_status_name(status), qj_status_name(expected), qj_last_error(),
            qj_last_error_details());
    exit(1);
  }
}

void check_contains(const char* text, const char* part, const char* file, int line) {
  if (strstr(text, part) == NULL) {
    fprintf(stderr, "%s:%d: \"%s\" is not in: %s\n", file, line, part, text);
    exit(1);
  }
}

qj_text text_of(const char* string) {
  const qj_text text = {string, strlen(string)};
  return text;
}

qj_service* open_simulated(void) {
  setenv("QUANTJIT_SIM_DEVICES", "sm_90a,sm_100a", 1);
  qj_service_options options = {.struct_size = sizeof(options), .memory_only = 1};
  options.cuda_driver = text_of(QUANTJIT_SIMCUDA_LIBRARY);
  qj_service* service = NULL;
  CHECK_OK(qj_service_open(&options, &service));
  CHECK(service != NULL);
  return service;
}

qj_prewarm_options one_kernel(const qj_text* traits, const qj_text* arch) {
  return (qj_prewarm_options){.struct_size = sizeof(qj_prewarm_options),
                              .traits = traits,
                              .num_traits = 1,
                              .archs = arch,
                              .num_archs = 1};
}

int main(int argc, char** argv) {
  const test_case* const tables[] = {kBasicTests,  kServiceTests, kTensorTests, kLaunchTests,
                                     kObjectTests, kPrewarmTests, kSourceTests, kThreadTests};
  const int only_count = argc > 2 && strcmp(argv[1], "--count") == 0;
  int ran = 0;
  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); ++i) {
    for (const test_case* test = tables[i]; test->name != NULL; ++test) {
      if (only_count) {
        ++ran;
      } else if (argc < 2 || strcmp(argv[1], test->name) == 0) {
        test->run();
        ++ran;
      }
    }
  }
  if (only_count) {
    return ran == atoi(argv[2]) ? 0 : 1;
  }
  if (ran == 0) {
    fprintf(stderr, "no test is named %s\n", argc < 2 ? "" : argv[1]);
    return 1;
  }
  printf("%d passed\n", ran);
  return 0;
}
