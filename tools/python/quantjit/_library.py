# SPDX-License-Identifier: Apache-2.0
"""Finds, opens and checks libquantjit.so. It is opened when it is first needed, and stays."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import threading
from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Any, NoReturn

from quantjit import _abi
from quantjit.errors import LibraryError, QuantJitError, UnsupportedError, from_status

SONAME = "libquantjit.so.1"

_lock = threading.Lock()
_library: Library | None = None


class Library:
    """The opened library. Functions are attributes: `library.qj_version()`.

    Thread safety: everything may be used from any thread; calls let other Python threads run.
    """

    def __init__(self, path: str):
        self.path = path
        self.dll = ctypes.CDLL(path)
        try:
            version = ctypes.CFUNCTYPE(ctypes.c_int32)(("qj_abi_version", self.dll))()
        except AttributeError as error:
            raise LibraryError(
                f"{path} is no libquantjit with a C ABI: {error}; install quantjit 1.0 or newer"
            ) from None
        if version < _abi.ABI_VERSION:
            raise LibraryError(
                f"{path} has version {version} of the C ABI and this package needs {_abi.ABI_VERSION} or newer; "
                "install the library of the same release"
            )
        for name, (result, arguments) in _abi.PROTOTYPES.items():
            try:
                function = self.dll[name]
            except AttributeError:
                setattr(self, name, functools.partial(self._missing, name))
                continue
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def _missing(self, name: str, *_: object) -> NoReturn:
        raise UnsupportedError(f"{self.path} has no {name}; install the library of the same release as this package")

    def error(self, status: int) -> QuantJitError:
        """The error of the call that just gave `status` on this thread."""
        name = self.qj_status_name(status).decode()
        return from_status(status, name, _text(self.qj_last_error()), _text(self.qj_last_error_details()))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the C ABI has no {name}")  # the functions are attributes of the object

    def check(self, status: int) -> None:
        """Raises what a call that did not succeed left."""
        if status != _abi.STATUS_OK:
            raise self.error(status)

    def take_text(self, pointer: c_void_p, size: c_size_t) -> str:
        """The text that a call stored, which is released."""
        try:
            return ctypes.string_at(pointer, size.value).decode() if pointer else ""
        finally:
            self.qj_free(pointer)

    def text_of(self, name: str, *arguments: object) -> str:
        """Calls a function whose last arguments are a text to store, and gives that text."""
        pointer, size = c_void_p(), c_size_t()
        self.check(getattr(self, name)(*arguments, byref(pointer), byref(size)))
        return self.take_text(pointer, size)


def _text(value: bytes | None) -> str:
    return value.decode(errors="replace") if value else ""


def text_argument(text: str) -> tuple[bytes, int]:
    """A text as the two arguments that the C ABI takes."""
    data = text.encode()
    return data, len(data)


def as_text(value: str | os.PathLike[str] | None) -> _abi.Text:
    """A text as a qj_text; None is unset. The struct keeps its bytes alive."""
    if value is None:
        return _abi.Text(None, 0)
    data = os.fsencode(value)
    return _abi.Text(c_char_p(data), len(data))


def candidates() -> list[str]:
    """Where the library is looked for, in order: QUANTJIT_LIBRARY, beside this package, the loader's path.

    QUANTJIT_LIBRARY, a path or a name for the loader, is the only one if it is set.
    """
    named = os.environ.get("QUANTJIT_LIBRARY", "")
    if named:
        return [named]
    package = pathlib.Path(__file__).resolve().parent
    beside = [folder / name for folder in (package, package / "lib") for name in (SONAME, "libquantjit.so")]
    return [str(path) for path in beside if path.exists()] + [SONAME]


def library() -> Library:
    """The library of this process, opened if need be. Raises LibraryError."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _open()
    return _library


def _open() -> Library:
    tried = []
    for path in candidates():
        try:
            return Library(path)
        except OSError as error:
            tried.append(str(error))
    raise LibraryError(
        f"libquantjit was not found: {'; '.join(tried)}; set QUANTJIT_LIBRARY to its path, or install it where the "
        "loader looks"
    )


def version() -> str:
    """Version of the library, e.g. "1.0.0"."""
    return library().qj_version().decode()


def library_path() -> str:
    """The path or name that the library was opened by."""
    return library().path
