# SPDX-License-Identifier: Apache-2.0
"""Handles of what a service gives out: loaded kernels, and compiled code."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Sequence
from ctypes import byref, c_size_t, c_void_p, sizeof
from typing import Any

from quantjit import _abi
from quantjit._library import library
from quantjit.errors import refuse


class Kernel:
    """A kernel loaded on one device, from `Service.get`.

    Work that was launched with it must have ended, and graphs that captured it must be done with, before its last
    handle goes: with that handle the code leaves the device.

    Attributes:
        traits: the descriptor that it was asked for by.
        device: CUDA ordinal that it is loaded on.
        handle: address of the C ABI's qj_kernel, valid while this object lives.
    """

    def __init__(self, handle: int, traits: str):
        opened = library()
        self.handle = handle
        self.traits = traits
        self.device: int = opened.qj_kernel_device(handle)
        finalizer = weakref.finalize(self, opened.qj_kernel_release, handle)
        finalizer.atexit = False  # the driver may be gone by then, and the process takes the memory with it

    def info(self) -> dict[str, Any]:
        """What is known of it: `traits arch key math code_kind nvrtc nvrtc_build_id path toolchain_match compile_ms
        code_bytes entry_points[{name,lowered_name,registers,spill_bytes,shared_bytes,pdl_wait}] log device`."""
        return json.loads(library().text_of("qj_kernel_info", self.handle))

    def launch_raw(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        parameters: bytes | bytearray | ctypes.Structure,
        *,
        entry: int = 0,
        shared_bytes: int = 0,
        stream: int = 0,
    ) -> None:
        """Launches an entry point of a kernel of `Service.register_source`.

        Args:
            grid: blocks, one to three numbers; `block`: threads, likewise.
            parameters: the bytes of the parameter struct, which are copied before this returns.
            entry: index of the entry point.
            shared_bytes: dynamic shared memory of a block.
            stream: CUstream or cudaStream_t as a number; 0 is the default stream.

        Asynchronous: memory that the parameters point to must stay valid until the stream has passed the launch.
        """
        data = ctypes.create_string_buffer(bytes(parameters), len(bytes(parameters)))
        launch = _abi.RawLaunch(
            struct_size=sizeof(_abi.RawLaunch), entry=entry, grid=_three(grid, "grid"), block=_three(block, "block"),
            shared_bytes=shared_bytes, parameters=ctypes.cast(data, c_void_p), parameter_bytes=len(data),
        )  # fmt: skip
        opened = library()
        opened.check(opened.qj_launch_raw(self.handle, byref(launch), stream))

    def __repr__(self) -> str:
        return f"<quantjit.Kernel {self.traits} on device {self.device}>"


class Image:
    """Compiled code for a target, from `Service.image`. Needs no GPU."""

    def __init__(self, handle: int):
        opened = library()
        self.handle = handle
        weakref.finalize(self, opened.qj_image_release, handle)

    def info(self) -> dict[str, Any]:
        """As `Kernel.info`, with `source` (memory, disk, remote, compiled) in place of `device`."""
        return json.loads(library().text_of("qj_image_info", self.handle))

    @property
    def code(self) -> bytes:
        """The cubin or PTX."""
        opened = library()
        code, size = c_void_p(), c_size_t()
        opened.check(opened.qj_image_code(self.handle, byref(code), byref(size)))
        return ctypes.string_at(code, size.value)


def _three(sizes: Sequence[int], name: str) -> ctypes.Array:
    if not 1 <= len(sizes) <= 3:
        raise refuse(name, tuple(sizes), "it must be one to three numbers")
    padded = (*sizes, 1, 1)[:3]
    return (ctypes.c_uint32 * 3)(*padded)
