// SPDX-License-Identifier: Apache-2.0
// The recorded times of the originals, embedded as they are.
    .section .rodata
    .hidden quantjit_bench_recorded
    .globl quantjit_bench_recorded
quantjit_bench_recorded:
    .incbin "h200_peers.csv"
    .byte 0

    .section .note.GNU-stack, "", %progbits
