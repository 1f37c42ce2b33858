// SPDX-License-Identifier: Apache-2.0
// The parameter struct of each kernel, read by the host and by the device. Nothing is included, so
// both sides see the same few lines; the asserts hold the layout on both.
//
// Strides and offsets are in bytes. A "chunk" is what one thread of a group kernel takes: 16
// consecutive elements of a row (32 in the wide entry point). A "slab" is a range of rows with
// fewer than 2^31 chunks: inside it all indices are 32 bits wide, and a grid dimension counts
// slabs.
#pragma once

#if defined(__CUDACC_RTC__)
#define QUANTJIT_OFFSET(type, member) __INTADDR__(&(static_cast<type*>(nullptr))->member)
#else
#define QUANTJIT_OFFSET(type, member) __builtin_offsetof(type, member)
#endif

namespace quantjit::device {

using I64 = long long;
using U32 = unsigned int;

/// Quotient by a number known at launch: q = (mulhi(n, multiplier) + n) >> shift, for n < 2^31.
struct Divisor {
  U32 value;
  U32 multiplier;
  U32 shift;
};

/// Bits of GroupQuantParams::flags and TokenQuantParams::flags.
enum : U32 {
  kInputAligned32 = 1U << 0,  ///< every input row starts on 32 bytes (SM100+: one load a lane)
  kMaskIs64Bit = 1U << 1,     ///< masked_m is int64
  kZeroRowGuard = 1U << 2,    ///< per_token_quant: a row with scale 0 gets multiplier 0
  kPrefetchInput = 1U << 3,  ///< bring the input to the L2 cache while the kernel before still runs
};

/// per_token_group_quant, flat and masked.
struct GroupQuantParams {
  const void* input;
  void* output_q;
  void* output_s;
  const void* masked_m;  ///< live rows an expert; null when flat
  I64 input_token_stride;
  I64 input_expert_stride;
  I64 input_up_offset;  ///< from the gate half of a row to its up half; 0 without SiLU
  I64 q_token_stride;
  I64 q_expert_stride;
  I64 s_token_stride;
  I64 s_group_stride;  ///< between groups; between words of four groups for packed scales
  I64 s_expert_stride;
  I64 num_tokens;      ///< rows of the input: T, or T_pad when masked
  I64 q_fill_end;      ///< pad rows of q below this one are zeroed
  Divisor row_chunks;  ///< chunks a row
  U32 num_groups;      ///< groups a row
  U32 s_fill_rows;     ///< fill=zero: rows beyond num_tokens whose scales are zeroed
  U32 slab_rows;
  U32 slab_chunks;       ///< chunks of a full slab
  U32 last_slab_chunks;  ///< chunks of the last slab, pad rows included
  U32 num_experts;
  U32 z_rows;    ///< masked: rows between grid layers; 0 where layers count slices
  U32 z_slices;  ///< masked: slices of 32 experts between grid layers; 0 where they count rows
  U32 flags;
};

static_assert(sizeof(Divisor) == 12, "Divisor has no padding");
static_assert(sizeof(void*) == 8, "64-bit pointers");
static_assert(sizeof(GroupQuantParams) == 160, "GroupQuantParams layout");
static_assert(QUANTJIT_OFFSET(GroupQuantParams, input_token_stride) == 32);
static_assert(QUANTJIT_OFFSET(GroupQuantParams, s_token_stride) == 72);
static_assert(QUANTJIT_OFFSET(GroupQuantParams, num_tokens) == 96);
static_assert(QUANTJIT_OFFSET(GroupQuantParams, row_chunks) == 112);
static_assert(QUANTJIT_OFFSET(GroupQuantParams, num_groups) == 124);
static_assert(QUANTJIT_OFFSET(GroupQuantParams, flags) == 156);

/// per_token_quant. A "vector" is what one thread loads at once: 4, 8 or 16 elements by entry
/// point.
struct TokenQuantParams {
  const void* input;
  void* output_q;
  float* output_s;
  I64 input_token_stride;
  I64 q_token_stride;
  I64 num_tokens;
  U32 row_vectors;  ///< vectors a row
  U32 flags;
};

static_assert(sizeof(TokenQuantParams) == 56, "TokenQuantParams layout");
static_assert(QUANTJIT_OFFSET(TokenQuantParams, num_tokens) == 40);
static_assert(QUANTJIT_OFFSET(TokenQuantParams, row_vectors) == 48);
static_assert(QUANTJIT_OFFSET(TokenQuantParams, flags) == 52);

}  // namespace quantjit::device
