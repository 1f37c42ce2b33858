# SPDX-License-Identifier: Apache-2.0
"""What calls raise. Every message is one sentence: what failed, on what, why, what next."""

from __future__ import annotations

import json
from typing import Any


class QuantJitError(RuntimeError):
    """Base of all errors of this package.

    Attributes:
        status: the C ABI's status, e.g. "QJ_COMPILE_ERROR"; "" for errors of the Python side.
        details: what the error carries beside its message, as the C ABI tells it.
    """

    def __init__(self, message: str, status: str = "", details: dict[str, Any] | None = None):
        super().__init__(message)
        self.status = status
        self.details = details or {}


class LibraryError(QuantJitError, ImportError):
    """libquantjit.so was not found, or is of another interface."""


class InvalidArgument(QuantJitError, ValueError):
    """An argument breaks a rule. Nothing was launched or written.

    Attributes:
        parameter: the argument, e.g. "input.shape[1]"; "" if the message alone tells.
        value: what was given.
        rule: what is allowed.
    """

    def __init__(self, message: str, status: str = "", details: dict[str, Any] | None = None):
        super().__init__(message, status, details)
        self.parameter = str(self.details.get("parameter", ""))
        self.value = str(self.details.get("value", ""))
        self.rule = str(self.details.get("rule", ""))


class CompileError(QuantJitError):
    """NVRTC is missing or refused the kernel. `log` is the compiler's."""

    def __init__(self, message: str, status: str = "", details: dict[str, Any] | None = None):
        super().__init__(message, status, details)
        self.log = str(self.details.get("log", ""))


class DriverError(QuantJitError):
    """A CUDA driver call failed, or there is no usable driver. `code` is its CUresult, or None."""

    def __init__(self, message: str, status: str = "", details: dict[str, Any] | None = None):
        super().__init__(message, status, details)
        self.code: int | None = self.details.get("code")


class SealedMiss(QuantJitError, LookupError):
    """The kernel is in no tier, and compiling is off."""


class CaptureMiss(QuantJitError):
    """A kernel that is not loaded was asked for on a stream that is being captured."""


class UnsupportedError(QuantJitError, NotImplementedError):
    """Valid, but not in this version or build."""


class OutOfMemory(QuantJitError, MemoryError):
    """The host has no memory left."""


class PrewarmError(QuantJitError):
    """A prewarm that did not prepare everything. `report` says what it did, as `Service.prewarm` returns it."""

    report: dict[str, Any]


class Cancelled(PrewarmError):
    """A prewarm ended early because the caller asked for it."""


class Incomplete(PrewarmError):
    """A prewarm ended, and some kernels could not be had: `report["failed"]`."""


# The order is that of qj_status.
BY_STATUS: dict[int, type[QuantJitError]] = {
    1: InvalidArgument,
    2: CompileError,
    3: DriverError,
    4: SealedMiss,
    5: CaptureMiss,
    6: UnsupportedError,
    7: OutOfMemory,
    8: Cancelled,
    9: Incomplete,
    10: QuantJitError,
}


def refuse(parameter: str, value: object, rule: str) -> InvalidArgument:
    """The error of an argument that is refused on the Python side, in the library's words."""
    details = {"parameter": parameter, "value": str(value), "rule": rule}
    return InvalidArgument(f"{parameter} is {value}, but {rule}", "QJ_INVALID_ARGUMENT", details)


def from_status(status: int, name: str, message: str, details: str) -> QuantJitError:
    """The error for a status that the library returned."""
    try:
        parsed = json.loads(details)
    except ValueError:
        parsed = {}
    return BY_STATUS.get(status, QuantJitError)(message or name, name, parsed)
