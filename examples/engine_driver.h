// SPDX-License-Identifier: Apache-2.0
// What an engine does with the CUDA driver by itself: a context, memory, streams, graphs. The
// library is opened at run time, so that the examples build without CUDA and run on a GPU or on the
// simulated device. An engine that links libcuda calls the same functions directly.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct engine_driver {
  int (*init)(unsigned flags);
  int (*retain_context)(void** context, int device);
  int (*set_context)(void* context);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*release)(uint64_t address);
  int (*copy_in)(uint64_t to, const void* from, size_t bytes);
  int (*copy_out)(void* to, uint64_t from, size_t bytes);
  int (*create_stream)(void** stream, unsigned flags);
  int (*synchronize)(void* stream);
  int (*destroy_stream)(void* stream);
  int (*begin_capture)(void* stream, int mode);
  int (*end_capture)(void* stream, void** graph);
  int (*instantiate)(void** executable, void* graph, unsigned long long flags);
  int (*launch_graph)(void* executable, void* stream);
  int (*destroy_executable)(void* executable);
  int (*destroy_graph)(void* graph);
} engine_driver;

/// Ends the program where a driver call fails.
static inline void engine_check(int result, const char* what) {
  if (result != 0) {
    fprintf(stderr, "%s gave CUresult %d\n", what, result);
    exit(1);
  }
}

static inline void engine_find(void* library, const char* name, void* function) {
  void* const address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  memcpy(function, &address, sizeof(address));  // C has no conversion to function pointers
}

/// The driver that QUANTJIT_CUDA_DRIVER names, or libcuda.so.1, with device 0 current.
static inline engine_driver engine_open_driver(void) {
  const char* path = getenv("QUANTJIT_CUDA_DRIVER");
  path = path != NULL && path[0] != '\0' ? path : "libcuda.so.1";
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\nname a driver library in QUANTJIT_CUDA_DRIVER\n", dlerror());
    exit(1);
  }
  engine_driver driver;
  engine_find(library, "cuInit", &driver.init);
  engine_find(library, "cuDevicePrimaryCtxRetain", &driver.retain_context);
  engine_find(library, "cuCtxSetCurrent", &driver.set_context);
  engine_find(library, "cuMemAlloc_v2", &driver.allocate);
  engine_find(library, "cuMemFree_v2", &driver.release);
  engine_find(library, "cuMemcpyHtoD_v2", &driver.copy_in);
  engine_find(library, "cuMemcpyDtoH_v2", &driver.copy_out);
  engine_find(library, "cuStreamCreate", &driver.create_stream);
  engine_find(library, "cuStreamSynchronize", &driver.synchronize);
  engine_find(library, "cuStreamDestroy_v2", &driver.destroy_stream);
  engine_find(library, "cuStreamBeginCapture_v2", &driver.begin_capture);
  engine_find(library, "cuStreamEndCapture", &driver.end_capture);
  engine_find(library, "cuGraphInstantiateWithFlags", &driver.instantiate);
  engine_find(library, "cuGraphLaunch", &driver.launch_graph);
  engine_find(library, "cuGraphExecDestroy", &driver.destroy_executable);
  engine_find(library, "cuGraphDestroy", &driver.destroy_graph);
  engine_check(driver.init(0), "cuInit");
  void* context = NULL;
  engine_check(driver.retain_context(&context, 0), "cuDevicePrimaryCtxRetain");
  engine_check(driver.set_context(context), "cuCtxSetCurrent");
  return driver;
}

/// Device memory. Ends the program where there is none.
static inline void* engine_allocate(const engine_driver* driver, size_t bytes) {
  uint64_t address = 0;
  engine_check(driver->allocate(&address, bytes), "cuMemAlloc");
  return (void*)(uintptr_t)address;
}
