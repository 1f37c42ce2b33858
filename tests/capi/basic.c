// SPDX-License-Identifier: Apache-2.0
// Versions, errors, texts, trait descriptors.
#include "tests/capi/capi_test.h"

#include <string.h>

static void versions(void) {
  CHECK(qj_abi_version() == QJ_ABI_VERSION);
  CHECK(strncmp(qj_version(), "1.", 2) == 0);
  CHECK(strcmp(qj_status_name(QJ_OK), "QJ_OK") == 0);
  CHECK(strcmp(qj_status_name(QJ_ERROR), "QJ_ERROR") == 0);
  CHECK(strcmp(qj_status_name((qj_status)1000), "unknown status") == 0);
  qj_free(NULL);
}

static void errors(void) {
  CHECK(strcmp(qj_last_error(), "") == 0);
  CHECK(strcmp(qj_last_error_details(), "{}") == 0);
  qj_traits traits = {.struct_size = sizeof(traits)};
  CHECK_STATUS(qj_traits_parse(QJ_TEXT("per_token_quant:in=f64"), &traits), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "f64");
  CHECK_CONTAINS(qj_last_error_details(), "\"status\":\"QJ_INVALID_ARGUMENT\"");
  CHECK_CONTAINS(qj_last_error_details(), "\"parameter\":\"in\"");
  CHECK_OK(qj_traits_parse(QJ_TEXT("per_token_quant"), &traits));
  CHECK_CONTAINS(qj_last_error(), "f64");  // what succeeds leaves it
}

static void traits_round_trip(void) {
  static const char* const texts[] = {
      "per_token_group_quant:in=bf16,out=e4m3,group=128,scale=ue8m0,layout=col,silu=false,"
      "schedule=flat,numerics=sglang,fill=none,pdl=true",
      "per_token_group_quant:in=f32,out=int8,group=64,scale=f32,layout=row,silu=true,"
      "schedule=masked,numerics=exact,fill=none,pdl=false",
      "per_token_quant:in=f16,out=e4m3,zero_rows=zero,numerics=exact,pdl=true",
      "per_token_quant:in=bf16,out=e4m3,zero_rows=legacy,numerics=sglang,pdl=true,math=fast",
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    qj_traits traits = {.struct_size = sizeof(traits)};
    CHECK_OK(qj_traits_parse(texts[i], strlen(texts[i]), &traits));
    CHECK(traits.struct_size == sizeof(traits));
    char* text = NULL;
    size_t size = 0;
    CHECK_OK(qj_traits_text(&traits, &text, &size));
    CHECK(strcmp(text, texts[i]) == 0 && size == strlen(text));
    qj_free(text);
  }
}

static void traits_defaults(void) {
  qj_traits traits = {.struct_size = sizeof(traits)};
  CHECK_OK(qj_traits_init(&traits, QJ_OP_PER_TOKEN_GROUP_QUANT));
  CHECK(traits.group == 128 && traits.in == QJ_BF16 && traits.out == QJ_E4M3 && traits.pdl == 1);
  traits.scale = QJ_SCALE_UE8M0;
  traits.layout = QJ_LAYOUT_COL;
  char* text = NULL;
  CHECK_OK(qj_traits_text(&traits, &text, NULL));
  CHECK_CONTAINS(text, "scale=ue8m0,layout=col");
  qj_free(text);
  CHECK_OK(qj_traits_init(&traits, QJ_OP_PER_TOKEN_QUANT));
  CHECK(traits.op == QJ_OP_PER_TOKEN_QUANT && traits.zero_rows == QJ_ZERO_ROWS_LEGACY);
}

/// A number out of range in each member, and what is no descriptor at all.
static void wrong_traits(void) {
  static const size_t members[] = {
      offsetof(qj_traits, op),    offsetof(qj_traits, math),     offsetof(qj_traits, in),
      offsetof(qj_traits, out),   offsetof(qj_traits, numerics), offsetof(qj_traits, pdl),
      offsetof(qj_traits, group), offsetof(qj_traits, scale),    offsetof(qj_traits, layout),
      offsetof(qj_traits, silu),  offsetof(qj_traits, schedule), offsetof(qj_traits, fill)};
  char* text = NULL;
  for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); ++i) {
    for (int32_t value = -1; value <= 70000; value += 70001) {
      qj_traits traits = {.struct_size = sizeof(traits)};
      CHECK_OK(qj_traits_init(&traits, QJ_OP_PER_TOKEN_GROUP_QUANT));
      memcpy((char*)&traits + members[i], &value, sizeof(value));
      CHECK_STATUS(qj_traits_text(&traits, &text, NULL), QJ_INVALID_ARGUMENT);
      CHECK_CONTAINS(qj_last_error(), "traits.");
      CHECK(text == NULL);
    }
  }
  qj_traits traits = {.struct_size = sizeof(traits)};
  CHECK_STATUS(qj_traits_init(&traits, 2), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_traits_init(NULL, 0), QJ_INVALID_ARGUMENT);
  traits.struct_size = 8;
  CHECK_STATUS(qj_traits_init(&traits, 0), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "struct_size");
  CHECK_STATUS(qj_traits_text(&traits, &text, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_traits_text(NULL, &text, NULL), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_traits_parse(NULL, 5, &traits), QJ_INVALID_ARGUMENT);
  traits.struct_size = sizeof(traits);
  CHECK_STATUS(qj_traits_parse(NULL, 0, &traits), QJ_INVALID_ARGUMENT);
  CHECK_STATUS(qj_traits_parse(QJ_TEXT("per_token_quant"), NULL), QJ_INVALID_ARGUMENT);
  CHECK_OK(qj_traits_init(&traits, QJ_OP_PER_TOKEN_GROUP_QUANT));
  CHECK_STATUS(qj_traits_text(&traits, NULL, NULL), QJ_INVALID_ARGUMENT);
  traits.scale = QJ_SCALE_E8M0;  // which no group of 128 has
  CHECK_STATUS(qj_traits_text(&traits, &text, NULL), QJ_INVALID_ARGUMENT);
  CHECK_OK(qj_traits_init(&traits, QJ_OP_PER_TOKEN_GROUP_QUANT));
  traits.numerics = QJ_NUMERICS_EXACT;
  traits.math = QJ_MATH_FAST;
  CHECK_STATUS(qj_traits_text(&traits, &text, NULL), QJ_INVALID_ARGUMENT);
}

/// Structs of callers that are newer than the library.
static void later_structs(void) {
  struct {
    qj_traits known;
    int64_t unknown;
  } traits;

  memset(&traits, 0xFF, sizeof(traits));
  traits.known.struct_size = sizeof(traits);
  CHECK_OK(qj_traits_init(&traits.known, QJ_OP_PER_TOKEN_QUANT));
  CHECK(traits.known.struct_size == sizeof(traits) && traits.unknown == 0);
  char* text = NULL;
  CHECK_OK(qj_traits_text(&traits.known, &text, NULL));
  qj_free(text);
  text = NULL;
  traits.unknown = 1;
  CHECK_STATUS(qj_traits_text(&traits.known, &text, NULL), QJ_INVALID_ARGUMENT);
  CHECK_CONTAINS(qj_last_error(), "too old");
}

static void operations(void) {
  char* json = NULL;
  size_t size = 0;
  CHECK_OK(qj_describe_operations(&json, &size));
  CHECK(strlen(json) == size);
  CHECK_CONTAINS(json, "\"op\":\"per_token_group_quant\"");
  CHECK_CONTAINS(json, "\"key\":\"zero_rows\",\"values\":[\"legacy\",\"zero\"]");
  qj_free(json);
}

const test_case kBasicTests[] = {
    {"versions", versions},
    {"errors", errors},
    {"traits_round_trip", traits_round_trip},
    {"traits_defaults", traits_defaults},
    {"wrong_traits", wrong_traits},
    {"later_structs", later_structs},
    {"operations", operations},
    {NULL, NULL},
};
