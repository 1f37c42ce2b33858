// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/simulated_driver.h"

#include "tests/capi/capi_test.h"

#include <cuda.h>

#include <dlfcn.h>
#include <string.h>

/// The library that quantjit has opened too.
static void* symbol(const char* name) {
  static void* library = NULL;
  if (library == NULL) {
    library = dlopen(QUANTJIT_SIMCUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
  }
  void* const found = dlsym(library, name);
  CHECK(found != NULL);
  return found;
}

/// A function by its exported name; C has no conversion from object to function pointers.
#define FUNCTION(variable, name)                  \
  __typeof__(&name) variable = NULL;              \
  do {                                            \
    void* const address = symbol(#name);          \
    memcpy(&variable, &address, sizeof(address)); \
  } while (0)

void make_current(int device) {
  FUNCTION(init, cuInit);
  FUNCTION(retain, cuDevicePrimaryCtxRetain);
  FUNCTION(set_current, cuCtxSetCurrent);
  CHECK(init(0) == CUDA_SUCCESS);
  CUcontext context = NULL;
  CHECK(retain(&context, device) == CUDA_SUCCESS);
  CHECK(set_current(context) == CUDA_SUCCESS);
}

void synchronize(void) {
  FUNCTION(wait, cuCtxSynchronize);
  CHECK(wait() == CUDA_SUCCESS);
}

void* allocate(size_t bytes) {
  FUNCTION(get, cuMemAlloc_v2);
  CUdeviceptr address = 0;
  CHECK(get(&address, bytes) == CUDA_SUCCESS);
  return (void*)(uintptr_t)address;
}

void copy_out(void* to, const void* from, size_t bytes) {
  FUNCTION(copy, cuMemcpyDtoH_v2);
  CHECK(copy(to, (CUdeviceptr)(uintptr_t)from, bytes) == CUDA_SUCCESS);
}

void* new_stream(void) {
  FUNCTION(create, cuStreamCreate);
  CUstream stream = NULL;
  CHECK(create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  return stream;
}

void begin_capture(void* stream) {
  FUNCTION(begin, cuStreamBeginCapture_v2);
  CHECK(begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
}

static CUgraph end_capture(void* stream, size_t nodes) {
  FUNCTION(end, cuStreamEndCapture);
  FUNCTION(get_nodes, cuGraphGetNodes);
  CUgraph graph = NULL;
  CHECK(end(stream, &graph) == CUDA_SUCCESS);
  size_t count = 0;
  CHECK(get_nodes(graph, NULL, &count) == CUDA_SUCCESS);
  CHECK(count == nodes);
  return graph;
}

void end_capture_without_nodes(void* stream) {
  FUNCTION(destroy, cuGraphDestroy);
  CHECK(destroy(end_capture(stream, 0)) == CUDA_SUCCESS);
}

void run_capture(void* stream) {
  FUNCTION(instantiate, cuGraphInstantiateWithFlags);
  FUNCTION(launch, cuGraphLaunch);
  FUNCTION(wait, cuStreamSynchronize);
  FUNCTION(destroy_executable, cuGraphExecDestroy);
  FUNCTION(destroy, cuGraphDestroy);
  const CUgraph graph = end_capture(stream, 1);
  CUgraphExec executable = NULL;
  CHECK(instantiate(&executable, graph, 0) == CUDA_SUCCESS);
  CHECK(launch(executable, stream) == CUDA_SUCCESS);
  CHECK(wait(stream) == CUDA_SUCCESS);
  CHECK(destroy_executable(executable) == CUDA_SUCCESS);
  CHECK(destroy(graph) == CUDA_SUCCESS);
}
