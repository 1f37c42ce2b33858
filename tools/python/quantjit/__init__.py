# SPDX-License-Identifier: Apache-2.0
"""FP8 and INT8 activation quantization kernels, compiled at run time.

    import quantjit
    q, s = quantjit.per_token_group_quant(x, group=128, scale="ue8m0", layout="col")

Pure Python over the C ABI of libquantjit.so, which is found by QUANTJIT_LIBRARY, beside this package, or by the
loader. `quantjit.torch_ops` has the operations that torch.compile and CUDA graphs take, `quantjit.compat` adapters
with the names and signatures of SGLang's and vLLM's.
"""

from quantjit._kernel import Image, Kernel
from quantjit._library import library_path, version
from quantjit.errors import (
    Cancelled,
    CaptureMiss,
    CompileError,
    DriverError,
    Incomplete,
    InvalidArgument,
    LibraryError,
    OutOfMemory,
    PrewarmError,
    QuantJitError,
    SealedMiss,
    UnsupportedError,
)
from quantjit.ops import per_token_group_quant, per_token_quant, reference
from quantjit.service import Service, default_service, set_default_service
from quantjit.traits import descriptor, fields, operations

__all__ = [
    "Cancelled",
    "CaptureMiss",
    "CompileError",
    "DriverError",
    "Image",
    "Incomplete",
    "InvalidArgument",
    "Kernel",
    "LibraryError",
    "OutOfMemory",
    "PrewarmError",
    "QuantJitError",
    "SealedMiss",
    "Service",
    "UnsupportedError",
    "default_service",
    "descriptor",
    "fields",
    "library_path",
    "operations",
    "per_token_group_quant",
    "per_token_quant",
    "reference",
    "set_default_service",
    "version",
]
