// SPDX-License-Identifier: Apache-2.0
// The recorded tables, embedded as they are. All little-endian.
    .section .rodata
    .balign 64
    .hidden quantjit_sm90_rcp_delta
    .globl quantjit_sm90_rcp_delta
quantjit_sm90_rcp_delta:
    .incbin "sm90_rcp_approx_delta.2bit"

    .balign 64
    .hidden quantjit_sm90_silu_bf16
    .globl quantjit_sm90_silu_bf16
quantjit_sm90_silu_bf16:
    .incbin "sm90_silu_bf16.u16"

    .balign 64
    .hidden quantjit_sm90_silu_f16
    .globl quantjit_sm90_silu_f16
quantjit_sm90_silu_f16:
    .incbin "sm90_silu_f16.u16"

    .section .note.GNU-stack, "", %progbits
