// SPDX-License-Identifier: Apache-2.0
// Uses the installed library from C; needs neither a GPU nor libnvrtc.
#include <quantjit/quantjit.h>

#include <stdio.h>

int main(void) {
  qj_traits traits = {.struct_size = sizeof(traits)};
  char* text = NULL;
  if (qj_abi_version() != QJ_ABI_VERSION ||
      qj_traits_parse(QJ_TEXT("per_token_group_quant:scale=ue8m0,layout=col"), &traits) != QJ_OK ||
      qj_traits_text(&traits, &text, NULL) != QJ_OK) {
    return 1;
  }
  printf("%s %s\n", qj_version(), text);
  qj_free(text);

  qj_service_options options = {
      .struct_size = sizeof(options), .memory_only = 1, .jit = {QJ_TEXT("off")}};
  qj_service* service = NULL;
  qj_image* image = NULL;
  if (qj_service_open(&options, &service) != QJ_OK) {
    return 1;
  }
  const qj_status status =
      qj_image_get(service, QJ_TEXT("per_token_quant"), QJ_TEXT("sm_90a"), &image);
  qj_service_close(service);
  printf("%s\n", status == QJ_SEALED_MISS ? "sealed" : qj_status_name(status));
  return status == QJ_SEALED_MISS ? 0 : 1;
}
