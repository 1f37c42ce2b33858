# SPDX-License-Identifier: Apache-2.0
"""Adapters with the names and signatures of other projects' functions: a call site switches by one import.

    from quantjit.compat.sglang import per_token_group_quant
    from quantjit.compat.vllm import per_token_group_quant_fp8_packed_for_deepgemm

Outputs have the layouts and strides that the originals allocate, and the bytes that the originals' kernels write.
Arguments that the originals ignore or leave undefined are refused (InvalidArgument). They work on PyTorch tensors,
under torch.compile, and in CUDA graphs.
"""
