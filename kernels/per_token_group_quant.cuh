// SPDX-License-Identifier: Apache-2.0
// per_token_group_quant: quantizes every group of consecutive elements of a row with a scale of its
// own.
//
//   y        = x, or silu(gate) * up rounded to the input type
//   amax     = max over the group of |y|, at least 1e-10 (NaN ignored; `exact`: infinities too)
//   f32      scale = amax / MAX, code = y * (MAX / amax)             MAX = 448 (e4m3) or 127 (int8)
//   powers   e = exponent of amax / MAX, rounded up; scale = 2^(e - 127), code = y * 2^(127 - e)
//
// | operand  | flat                     | masked                          | strides      |
// |----------|--------------------------|---------------------------------|--------------|
// | input    | [T, H] or [T, 2H] (silu) | [E, T_pad, H] or [E, T_pad, 2H] | token, expert |
// | output_q | [rows, H] 8-bit codes    | [E, T_pad, H]                   | token, expert |
// | output_s | see group_quant/store_scale.cuh for both                   | all          |
// | masked_m | -                        | [E] int32 or int64              | 1            |
//
// Template parameters (values in device/traits.cuh): kIn, kOut, kGroup 16..256, kScale, kLayout,
// kSilu, kNumerics, kFill, kPdl, kMath, kElements a lane: 16, or 32 on SM100+ (256-bit loads and
// stores). group_quant/traits.cuh holds the constraints.
//
// Launch contract: blocks of a multiple of 32 threads, at most 512 (flat) or 256 (masked), no
// shared memory.
//   flat    grid (chunks of a slab / threads, slabs)
//   masked  grid (any, slices of 32 experts, slabs of rows or more slices); any x gives the same
//   bytes
// Input and q rows start on 16 bytes; with kInputAligned32 in the flags, on 32. sm_90 or later.
// With kPdl every CTA waits before it touches memory; the dependents are triggered right after
// that. With kPrefetchInput a flat kernel asks for its input in the L2 cache before it waits.
//
// Numerics: multipliers and rounding in device/scale.cuh, non-finite values in device/quantize.cuh,
// SiLU in device/silu.cuh. Conversions round to nearest even and saturate; int8 truncates except in
// `exact`. Source: kernel contract of the README; numerics=sglang, sglang_v2 and vllm give the bits
// of SGLang's trait-driven kernel, of its 8-bit predecessor and of vLLM's packed register kernel.
// Proven by tests/sim/descriptor_bits.cpp (against the CPU reference) and the golden cases.
#pragma once

#include "group_quant/flat.cuh"
#include "group_quant/masked.cuh"
