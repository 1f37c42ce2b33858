# SPDX-License-Identifier: Apache-2.0
"""From Python values to the option structs of the C ABI."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from ctypes import POINTER, c_int32, cast, sizeof

from quantjit import _abi
from quantjit._library import as_text
from quantjit.errors import refuse

PathLike = str | os.PathLike[str]

# A value of a key of an own operation: the text, or the text and the template argument that it stands for.
SourceValues = Sequence[str | int | bool | tuple[str, str]]


def texts(values: Sequence[PathLike]) -> tuple[ctypes.Array | None, int]:
    """Texts as an array and its length. The array keeps their bytes alive."""
    if not values:
        return None, 0
    return (_abi.Text * len(values))(*(as_text(value) for value in values)), len(values)


def service_options(
    cache_dir: PathLike | Sequence[PathLike] | None,
    cache_shared: Mapping[PathLike, PathLike] | None,
    cache_max_size: int,
    ignore_environment: bool,
    memory_only: bool,
    remote: str | Sequence[str] | None,
    settings: Mapping[str, PathLike | None],
) -> _abi.ServiceOptions:
    """The options of a service; `settings` are the texts among them, by member."""
    options = _abi.ServiceOptions(
        struct_size=sizeof(_abi.ServiceOptions), ignore_environment=ignore_environment, memory_only=memory_only,
        cache_max_bytes=cache_max_size, **{name: as_text(value) for name, value in settings.items()},
    )  # fmt: skip
    folders = [cache_dir] if isinstance(cache_dir, (str, os.PathLike)) else list(cache_dir or [])
    options.cache_roots, options.num_cache_roots = texts(folders)
    options.remote, options.num_remote = texts(remote.split() if isinstance(remote, str) else list(remote or []))
    if cache_shared:
        roots = [_abi.SharedRoot(as_text(root), as_text(key)) for root, key in cache_shared.items()]
        options.shared_roots = (_abi.SharedRoot * len(roots))(*roots)
        options.num_shared_roots = len(roots)
    return options


def prewarm_options(
    traits: Sequence[str],
    manifest: PathLike | None,
    trace: PathLike | None,
    archs: Sequence[str],
    devices: Sequence[int],
    jobs: int,
    memory_limit: int,
) -> _abi.PrewarmOptions:
    """What a prewarm prepares. A single text may stand for a list."""
    options = _abi.PrewarmOptions(
        struct_size=sizeof(_abi.PrewarmOptions), manifest=as_text(manifest), trace=as_text(trace), jobs=jobs,
        memory_limit=memory_limit,
    )  # fmt: skip
    options.traits, options.num_traits = texts([traits] if isinstance(traits, str) else list(traits))
    options.archs, options.num_archs = texts([archs] if isinstance(archs, str) else list(archs))
    if devices:
        options.devices = (c_int32 * len(devices))(*devices)
        options.num_devices = len(devices)
    return options


def _source_value(key: str, value: object) -> _abi.SourceValue:
    if isinstance(value, bool):
        value = "true" if value else "false"
    text, argument = value if isinstance(value, tuple) else (str(value), None)
    if not isinstance(text, str) or not (argument is None or isinstance(argument, str)):
        raise refuse(f"keys[{key!r}]", value, "a value is a text, a number, or a pair of texts: value and argument")
    return _abi.SourceValue(as_text(text), as_text(argument))


def _source_key(key: str, values: SourceValues) -> _abi.SourceKey:
    made = [_source_value(key, value) for value in values]
    array = (_abi.SourceValue * len(made))(*made)
    return _abi.SourceKey(as_text(key), cast(array, POINTER(_abi.SourceValue)), len(made))


def _source_entry(function: str, arguments: Sequence[str]) -> _abi.SourceEntry:
    array, count = texts(arguments)
    first = cast(array, POINTER(_abi.Text)) if array is not None else None
    return _abi.SourceEntry(as_text(function), first, count)


def source(
    op: str,
    path: str,
    text: str | None,
    file: PathLike | None,
    keys: Mapping[str, SourceValues],
    entries: Sequence[tuple[str, Sequence[str]]],
    includes: Mapping[str, str],
    parameter_bytes: int,
    dynamic_shared_bytes: int,
    fmad: bool,
) -> _abi.Source:
    """An operation of the caller."""
    result = _abi.Source(
        struct_size=sizeof(_abi.Source), op=as_text(op), path=as_text(path), text=as_text(text), file=as_text(file),
        parameter_bytes=parameter_bytes, dynamic_shared_bytes=dynamic_shared_bytes, fmad=fmad,
    )  # fmt: skip
    if includes:
        files = [_abi.SourceFile(as_text(name), as_text(content)) for name, content in includes.items()]
        result.includes, result.num_includes = (_abi.SourceFile * len(files))(*files), len(files)
    if keys:
        listed = [_source_key(key, values) for key, values in keys.items()]
        result.keys, result.num_keys = (_abi.SourceKey * len(listed))(*listed), len(listed)
    if entries:
        found = [_source_entry(function, arguments) for function, arguments in entries]
        result.entries, result.num_entries = (_abi.SourceEntry * len(found))(*found), len(found)
    return result
