// SPDX-License-Identifier: Apache-2.0
// A few lines of a test framework for C. A program is a table of named tests; ctest runs each by
// its name.
#pragma once

#include <quantjit/quantjit.h>

#include <stddef.h>
#include <stdint.h>

/// One test of a program.
typedef struct test_case {
  const char* name;
  void (*run)(void);
} test_case;

/// Ends the test as failed unless the condition holds.
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
/// Ends the test as failed unless a call gave the status; says what the library said.
#define CHECK_STATUS(call, status) check_status((call), (status), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_STATUS(call, QJ_OK)
/// Ends the test as failed unless `text` holds `part`.
#define CHECK_CONTAINS(text, part) check_contains((text), (part), __FILE__, __LINE__)

void check(int holds, const char* condition, const char* file, int line);
void check_status(qj_status status, qj_status expected, const char* expression, const char* file,
                  int line);
void check_contains(const char* text, const char* part, const char* file, int line);

/// A text from a C string.
qj_text text_of(const char* string);

/// A service on the simulated devices (sm_90a is ordinal 0, sm_100a ordinal 1) that keeps nothing
/// on disk.
qj_service* open_simulated(void);

/// What prewarms one kernel. The texts must outlive it.
qj_prewarm_options one_kernel(const qj_text* traits, const qj_text* arch);

/// Poisoned memory of a tensor with a guard behind it, and the tensor. Not to be copied: the view
/// points into it.
typedef struct tensor {
  qj_dltensor view;
  int64_t shape[4];
  int64_t strides[4];
  unsigned char* memory;
  size_t bytes;  // of the tensor's storage
} tensor;

/// Host memory, contiguous and without strides; `ndim` sizes.
void init_tensor(tensor* it, uint8_t code, uint8_t bits, int ndim, const int64_t* shape);
/// Host memory as a spec wants it.
void init_output(tensor* it, const qj_tensor_spec* spec);
/// Fills a bf16 tensor with a fixed pattern of finite numbers.
void fill_bf16(tensor* it, uint32_t seed);
/// Releases the memory after a look at the guard.
void end_tensor(tensor* it);

/// Input and outputs of one call, and what the CPU reference makes of the same input.
typedef struct call {
  tensor input, q, s, expected_q, expected_s, mask;
  qj_operands operands;
} call;

/// A call of a descriptor: input [rows, columns], or [experts, rows, columns] with a mask if
/// `experts` is not 0.
call* new_call(const char* traits, const char* arch, int64_t experts, int64_t rows,
               int64_t columns);
/// Compares every byte of the outputs, padding included, with the reference's.
void check_outputs(const call* it);
void end_call(call* it);

/// Tests of all files, ended by a null name.
extern const test_case kBasicTests[];
extern const test_case kServiceTests[];
extern const test_case kTensorTests[];
extern const test_case kLaunchTests[];
extern const test_case kObjectTests[];
extern const test_case kPrewarmTests[];
extern const test_case kSourceTests[];
extern const test_case kThreadTests[];
