// SPDX-License-Identifier: Apache-2.0
// The library is loaded, used and unloaded again and again in one process; and in a process that
// only loads it, nothing of CUDA or NVRTC appears.
//
// usage: capi_reopen load|use LIBRARY SIMULATED_DRIVER [TIMES]
#include <quantjit/quantjit.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* library_path;
static const char* driver_path;

static void fail(const char* what, const char* detail) {
  fprintf(stderr, "%s: %s\n", what, detail);
  exit(1);
}

static void* symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fail(name, "is not in the library");
  }
  return found;
}

/// Fills a function pointer; C has no conversion for it.
#define GET(variable, library, name)              \
  __typeof__(&name) variable = NULL;              \
  do {                                            \
    void* const address = symbol(library, #name); \
    memcpy(&variable, &address, sizeof(address)); \
  } while (0)

/// True if a file that this process has mapped has a name with this part.
static int is_mapped(const char* part) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int found = 0;
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    found = found || strstr(line, part) != NULL;
  }
  if (maps != NULL) {
    fclose(maps);
  }
  return found;
}

static void use(void* library) {
  GET(open, library, qj_service_open);
  GET(close, library, qj_service_close);
  GET(get_image, library, qj_image_get);
  GET(release_image, library, qj_image_release);
  GET(get_kernel, library, qj_kernel_get);
  GET(release_kernel, library, qj_kernel_release);
  GET(last_error, library, qj_last_error);
  qj_service_options options = {
      .struct_size = sizeof(options), .ignore_environment = 1, .memory_only = 1};
  options.cuda_driver = (qj_text){driver_path, strlen(driver_path)};
  qj_service* service = NULL;
  if (open(&options, &service) != QJ_OK) {
    fail("qj_service_open", last_error());
  }
  qj_image* image = NULL;
  if (get_image(service, QJ_TEXT("per_token_quant"), QJ_TEXT("sm_90a"), &image) != QJ_OK) {
    fail("qj_image_get", last_error());
  }
  release_image(image);
  qj_kernel* kernel = NULL;
  if (get_kernel(service, QJ_TEXT("per_token_quant"), 0, NULL, &kernel) != QJ_OK) {
    fail("qj_kernel_get", last_error());
  }
  release_kernel(kernel);
  image = NULL;
  if (get_image(service, QJ_TEXT("nonsense"), QJ_TEXT("sm_90a"), &image) != QJ_INVALID_ARGUMENT) {
    fail("qj_image_get", "took nonsense");
  }
  close(service);
}

/// On a thread of its own, whose thread-local error is gone before the library is unloaded.
static void* use_once(void* unused) {
  void* const library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fail("dlopen", dlerror());
  }
  use(library);
  (void)unused;
  return library;
}

static void load_alone(void) {
  void* const library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fail("dlopen", dlerror());
  }
  GET(version, library, qj_version);
  if (strcmp(version(), "") == 0 || !is_mapped("libquantjit.so")) {
    fail("the library", "was not loaded");
  }
  if (is_mapped("libcuda") || is_mapped("libnvrtc") || is_mapped("simcuda")) {
    fail("loading the library", "loaded CUDA too");
  }
  dlclose(library);
  if (is_mapped("libquantjit.so")) {
    fail("dlclose", "left the library mapped");
  }
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fail("usage", "capi_reopen load|use LIBRARY SIMULATED_DRIVER [TIMES]");
  }
  library_path = argv[2];
  driver_path = argv[3];
  if (strcmp(argv[1], "load") == 0) {
    load_alone();
    return 0;
  }
  const int times = argc > 4 ? atoi(argv[4]) : 100;
  for (int i = 0; i < times; ++i) {
    pthread_t thread;
    void* library = NULL;
    if (pthread_create(&thread, NULL, use_once, NULL) != 0 || pthread_join(thread, &library) != 0) {
      fail("a thread", "did not run");
    }
    if (dlclose(library) != 0) {
      fail("dlclose", dlerror());
    }
    if (is_mapped("libquantjit.so")) {
      fail("dlclose", "left the library mapped");
    }
  }
  printf("%d times\n", times);
  return 0;
}
