// SPDX-License-Identifier: Apache-2.0
// Stands for a profiler: NVTX loads it by NVTX_INJECTION64_PATH. It appends one line to the file
// that QUANTJIT_NVTX_LOG names for each range that is begun ("+ DEPTH MESSAGE") and ended
// ("- DEPTH"), and one for each domain ("domain NAME").
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local int depth;

static void say(const char* text) {
  const char* const path = getenv("QUANTJIT_NVTX_LOG");
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || write(file, text, strlen(text)) < 0) {
    abort();
  }
  close(file);
}

static nvtxDomainHandle_t create_domain(const char* name) {
  char line[128];
  snprintf(line, sizeof(line), "domain %s\n", name);
  say(line);
  return (nvtxDomainHandle_t)&depth;
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  char line[400];
  (void)domain;
  snprintf(line, sizeof(line), "+ %d %s\n", depth, event->message.ascii);
  say(line);
  return depth++;
}

static int pop(nvtxDomainHandle_t domain) {
  char line[32];
  (void)domain;
  snprintf(line, sizeof(line), "- %d\n", --depth);
  say(line);
  return depth;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* const callbacks =
      (const NvtxExportTableCallbacks*)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable functions = NULL;
  unsigned size = 0;
  if (callbacks == NULL ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size) ||
      size <= NVTX_CBID_CORE2_DomainCreateA) {
    return 0;
  }
  *functions[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
