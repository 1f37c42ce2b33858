// SPDX-License-Identifier: Apache-2.0
// The recorded table is 2 MiB: the assembler embeds it as it stands.
#if defined(__APPLE__)
    .const_data
#define QUANTJIT_SYMBOL _quantjit_sim_rcp_delta
#else
    .section .rodata
#define QUANTJIT_SYMBOL quantjit_sim_rcp_delta
    .hidden QUANTJIT_SYMBOL
    .type QUANTJIT_SYMBOL, %object
    .size QUANTJIT_SYMBOL, 2097152
#endif
    .globl QUANTJIT_SYMBOL
    .balign 64
QUANTJIT_SYMBOL:
    .incbin QUANTJIT_RCP_TABLE
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
