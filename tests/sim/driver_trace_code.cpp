// SPDX-License-Identifier: Apache-2.0
// Driver trace: libraries, modules, kernels and launches.
#include "driver_trace.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace quantjit::simtest {

const char* const kTracePtx = R"(
.version 8.0
.target sm_90
.address_size 64

.visible .entry add_one(.param .u64 p0, .param .u32 p1)
{
  .reg .pred %p<2>;
  .reg .b32 %r<7>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  add.u32 %r6, %r6, 1;
  st.global.u32 [%rd4], %r6;
done:
  ret;
}

.visible .entry add_one_dependent(.param .u64 p0, .param .u32 p1)
{
  .reg .pred %p<2>;
  .reg .b32 %r<7>;
  .reg .b64 %rd<5>;
  griddepcontrol.wait;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  add.u32 %r6, %r6, 1;
  st.global.u32 [%rd4], %r6;
done:
  ret;
}

.visible .entry bounded(.param .u64 p0)
.maxntid 64, 1, 1
{
  ret;
}

.visible .entry sharing(.param .u64 p0)
{
  .shared .align 4 .b8 buffer[1024];
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  st.shared.u32 [buffer], %r1;
  ld.shared.u32 %r1, [buffer];
  st.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry trapping()
{
  trap;
}
)";

namespace {

const char* const kNewerTarget = R"(
.version 8.7
.target sm_100a
.address_size 64
.visible .entry nothing() { ret; }
)";

const char* const kOlderArchSpecific = R"(
.version 8.7
.target sm_90a
.address_size 64
.visible .entry nothing() { ret; }
)";

const char* const kNewerVersion = R"(
.version 99.0
.target sm_90
.address_size 64
.visible .entry nothing() { ret; }
)";

const char* const kBadSyntax = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing() { no.such.instruction; }
)";

CUresult load(CUlibrary* library, const void* code) {
  return CU(cuLibraryLoadData)(library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

/// Loads a text and goes on to a function, since some drivers load lazily.
void load_fully(const Trace& t, const std::string& label, const void* code) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  const CUresult loaded = load(&library, code);
  t.answer((label + "_load").c_str(), loaded);
  if (loaded != CUDA_SUCCESS) {
    return;
  }
  const CUresult found = CU(cuLibraryGetKernel)(&kernel, library, "nothing");
  t.answer((label + "_kernel").c_str(), found);
  if (found == CUDA_SUCCESS) {
    t.answer((label + "_function").c_str(), CU(cuKernelGetFunction)(&function, kernel));
  }
}

}  // namespace

void trace_library(const Trace& t) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  t.answer("before_init", load(&library, kTracePtx));
  CU(cuInit)(0);
  t.answer("without_context", load(&library, kTracePtx));
  t.answer("kernel_without_context", CU(cuLibraryGetKernel)(&kernel, library, "add_one"));
  t.answer("function_without_context", CU(cuKernelGetFunction)(&function, kernel));
  start();
  t.answer("function", CU(cuKernelGetFunction)(&function, kernel));
  t.answer("kernel_missing", CU(cuLibraryGetKernel)(&kernel, library, "absent"));
  t.answer("kernel_null_name", CU(cuLibraryGetKernel)(&kernel, library, nullptr));
  unsigned count = 0;
  t.answer("count", CU(cuLibraryGetKernelCount)(&count, library));
  t.value("count_value", count);
  std::array<CUkernel, 8> kernels{};
  t.answer("enumerate_2", CU(cuLibraryEnumerateKernels)(kernels.data(), 2, library));
  t.answer("enumerate_0", CU(cuLibraryEnumerateKernels)(kernels.data(), 0, library));
  t.answer("enumerate_8", CU(cuLibraryEnumerateKernels)(kernels.data(), 8, library));
  t.value("enumerate_8_rest", kernels[3] == nullptr ? 1 : 0);
  t.answer("null_code", load(&library, nullptr));
  t.answer("garbage_text", load(&library, "this is no PTX at all"));
  t.answer("empty_text", load(&library, ""));
  load_fully(t, "newer_target", kNewerTarget);
  load_fully(t, "same_arch_specific", kOlderArchSpecific);
  load_fully(t, "newer_version", kNewerVersion);
  load_fully(t, "bad_syntax", kBadSyntax);
  std::array<char, 2048> log{};
  CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  t.answer("logged",
           CU(cuLibraryLoadData)(&library, kBadSyntax, keys, values, 2, nullptr, nullptr, 0));
  t.value("logged_something", log[0] != 0 ? 1 : 0);
  CUlibraryOption library_keys[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
  void* library_values[] = {reinterpret_cast<void*>(std::uintptr_t{1})};
  t.answer("preserved", CU(cuLibraryLoadData)(&library, kTracePtx, nullptr, nullptr, 0,
                                              library_keys, library_values, 1));
  t.answer("unload", CU(cuLibraryUnload)(library));
}

void trace_module(const Trace& t) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CU(cuInit)(0);
  t.answer("without_context", CU(cuModuleLoadData)(&module, kTracePtx));
  start();
  t.answer("load", CU(cuModuleLoadData)(&module, kTracePtx));
  t.answer("function", CU(cuModuleGetFunction)(&function, module, "add_one"));
  t.answer("function_missing", CU(cuModuleGetFunction)(&function, module, "absent"));
  t.answer("unload", CU(cuModuleUnload)(module));
  t.answer("null_code", CU(cuModuleLoadData)(&module, nullptr));
  t.answer("garbage", CU(cuModuleLoadData)(&module, "this is no PTX at all"));
  t.answer("newer_target", CU(cuModuleLoadData)(&module, kNewerTarget));
  t.answer("newer_version", CU(cuModuleLoadData)(&module, kNewerVersion));
  t.answer("bad_syntax", CU(cuModuleLoadData)(&module, kBadSyntax));
}

namespace {

void trace_occupancy(const Trace& t, CUfunction function) {
  int blocks = 0;
  const auto occupancy = [&](const char* label, int threads, std::size_t shared) {
    blocks = -7;
    t.answer(label,
             CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function, threads, shared));
    t.value(label, blocks);
  };
  occupancy("occupancy_32", 32, 0);
  occupancy("occupancy_256", 256, 0);
  occupancy("occupancy_1024", 1024, 0);
  occupancy("occupancy_48k", 256, 48 * 1024);
  occupancy("occupancy_49k", 256, 49 * 1024);
  occupancy("occupancy_2048", 2048, 0);
  occupancy("occupancy_0", 0, 0);
}

}  // namespace

void trace_kernel(const Trace& t) {
  start();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  load(&library, kTracePtx);
  CU(cuLibraryGetKernel)(&kernel, library, "bounded");
  CU(cuKernelGetFunction)(&function, kernel);
  int value = 0;
  const auto ask = [&](const char* label, CUfunction_attribute which) {
    value = -7;
    t.answer(label, CU(cuKernelGetAttribute)(&value, which, kernel, 0));
    t.value(label, value);
  };
  ask("max_threads", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  ask("shared", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  ask("constant", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  ask("local", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  ask("ptx_version", CU_FUNC_ATTRIBUTE_PTX_VERSION);
  ask("binary_version", CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  ask("cache_mode", CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  ask("max_dynamic", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  ask("carveout", CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  ask("cluster_set", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
  ask("cluster_width", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
  ask("bad", foreign<CUfunction_attribute>(99));
  t.answer("device_99", CU(cuKernelGetAttribute)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 99));
  const auto dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  t.answer("set_64k", CU(cuKernelSetAttribute)(dynamic, 65536, kernel, 0));
  t.answer("set_227k", CU(cuFuncSetAttribute)(function, dynamic, 227 * 1024));
  t.answer("set_228k", CU(cuFuncSetAttribute)(function, dynamic, 228 * 1024));
  t.answer("set_minus", CU(cuFuncSetAttribute)(function, dynamic, -1));
  t.answer("set_read_only", CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 32));
  t.answer("func_get", CU(cuFuncGetAttribute)(&value, dynamic, function));
  t.value("func_get_value", value);
  CU(cuLibraryGetKernel)(&kernel, library, "sharing");
  ask("static_shared", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  ask("static_max_dynamic", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  t.answer("static_set_226k", CU(cuKernelSetAttribute)(dynamic, 226 * 1024, kernel, 0));
  t.answer("static_set_227k", CU(cuKernelSetAttribute)(dynamic, 227 * 1024, kernel, 0));
  std::size_t offset = 99;
  std::size_t size = 99;
  CU(cuLibraryGetKernel)(&kernel, library, "add_one");
  t.answer("parameter_0", CU(cuKernelGetParamInfo)(kernel, 0, &offset, &size));
  t.value("parameter_0_offset", static_cast<long long>(offset));
  t.value("parameter_0_size", static_cast<long long>(size));
  t.answer("parameter_1", CU(cuKernelGetParamInfo)(kernel, 1, &offset, &size));
  t.value("parameter_1_offset", static_cast<long long>(offset));
  t.value("parameter_1_size", static_cast<long long>(size));
  t.answer("parameter_2", CU(cuKernelGetParamInfo)(kernel, 2, &offset, &size));
  t.answer("parameter_no_size", CU(cuKernelGetParamInfo)(kernel, 0, &offset, nullptr));
  const char* name = nullptr;
  t.answer("name", CU(cuKernelGetName)(&name, kernel));
  t.value("name_same", name != nullptr && std::strcmp(name, "add_one") == 0 ? 1 : 0);
  CU(cuKernelGetFunction)(&function, kernel);
  trace_occupancy(t, function);
}

namespace {

void trace_launch_attributes(const Trace& t, CUlibrary library, CUfunction function,
                             void** parameters) {
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = 1;
  config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = 1;
  config.blockDimZ = 1;
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUkernel dependent = nullptr;
  CU(cuLibraryGetKernel)(&dependent, library, "add_one_dependent");
  t.answer("pdl", CU(cuLaunchKernelEx)(&config, reinterpret_cast<CUfunction>(dependent), parameters,
                                       nullptr));
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {1, 1, 1};
  t.answer("cluster_1", CU(cuLaunchKernelEx)(&config, function, parameters, nullptr));
  attribute.value.clusterDim = {3, 1, 1};
  t.answer("cluster_3_of_4", CU(cuLaunchKernelEx)(&config, function, parameters, nullptr));
  attribute.id = foreign<CUlaunchAttributeID>(999);
  t.answer("attribute_bad", CU(cuLaunchKernelEx)(&config, function, parameters, nullptr));
  config.attrs = nullptr;
  t.answer("attributes_null", CU(cuLaunchKernelEx)(&config, function, parameters, nullptr));
  t.answer("config_null", CU(cuLaunchKernelEx)(nullptr, function, parameters, nullptr));
}

}  // namespace

void trace_launch(const Trace& t) {
  start();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr data = 0;
  load(&library, kTracePtx);
  CU(cuLibraryGetKernel)(&kernel, library, "add_one");
  CU(cuKernelGetFunction)(&function, kernel);
  CU(cuMemAlloc)(&data, 4096);
  CU(cuMemsetD8)(data, 0, 4096);
  unsigned count = 1024;
  void* parameters[] = {&data, &count};
  const auto go = [&](const char* label, unsigned gx, unsigned gy, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void** arguments) {
    t.answer(label, CU(cuLaunchKernel)(function, gx, gy, 1, bx, by, bz, shared, nullptr, arguments,
                                       nullptr));
  };
  go("good", 4, 1, 256, 1, 1, 0, parameters);
  go("grid_0", 0, 1, 256, 1, 1, 0, parameters);
  go("grid_y_65536", 1, 65536, 32, 1, 1, 0, parameters);
  go("block_0", 4, 1, 0, 1, 1, 0, parameters);
  go("block_1025", 4, 1, 1025, 1, 1, 0, parameters);
  go("block_32x33", 4, 1, 32, 33, 1, 0, parameters);
  go("block_z_65", 4, 1, 1, 1, 65, 0, parameters);
  go("shared_48k", 4, 1, 256, 1, 1, 48 * 1024, parameters);
  go("shared_49k", 4, 1, 256, 1, 1, 49 * 1024, parameters);
  go("no_parameters", 4, 1, 256, 1, 1, 0, nullptr);

  struct Packed {
    CUdeviceptr data;
    unsigned count;
  } packed{data, count};

  std::size_t size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  t.answer("extra", CU(cuLaunchKernel)(function, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  t.answer("both", CU(cuLaunchKernel)(function, 4, 1, 1, 256, 1, 1, 0, nullptr, parameters, extra));
  t.answer("kernel_as_function", CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 4, 1, 1,
                                                    256, 1, 1, 0, nullptr, parameters, nullptr));
  t.answer("null_function",
           CU(cuLaunchKernel)(nullptr, 4, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
  trace_launch_attributes(t, library, function, parameters);
  t.answer("synchronize", CU(cuCtxSynchronize)());
  unsigned first = 0;
  CU(cuMemcpyDtoH)(&first, data, sizeof(first));
  t.value("first", first);
  CU(cuLibraryGetKernel)(&kernel, library, "bounded");
  CU(cuKernelGetFunction)(&function, kernel);
  go("over_maxntid", 4, 1, 65, 1, 1, 0, parameters);
}

}  // namespace quantjit::simtest
