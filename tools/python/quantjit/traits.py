# SPDX-License-Identifier: Apache-2.0
"""Trait descriptors: one line of text that names a kernel, `op:key=value,...`."""

from __future__ import annotations

import functools
import json
from ctypes import byref, sizeof
from typing import Any

from quantjit import _abi
from quantjit._library import library, text_argument
from quantjit.errors import refuse

GROUP_QUANT = "per_token_group_quant"
TOKEN_QUANT = "per_token_quant"


def compose(op: str, **keys: object) -> str:
    """A descriptor text from keys, as they are: `compose("per_token_group_quant", group=64, silu=True)`.

    Keys that are None are left out; `in_` stands for `in`, which is a word of Python. Nothing is checked.
    """
    parts = []
    for key, value in keys.items():
        if value is not None:
            word = ("true" if value else "false") if isinstance(value, bool) else str(value)
            parts.append(f"{key.rstrip('_')}={word}")
    return f"{op}:{','.join(parts)}" if parts else op


# Keys of a call as a cache takes them. With types, since True and 1 are equal and mean different words.
FrozenKeys = tuple[tuple[str, object, type], ...]


def frozen(keys: dict[str, object]) -> FrozenKeys:
    """Keys as a hashable value. What has no hash is taken as its text, which is what `compose` makes of it anyway."""
    if not keys:
        return ()
    return tuple((key, value if value.__hash__ else str(value), value.__class__) for key, value in keys.items())


def thawed(keys: FrozenKeys) -> dict[str, object]:
    """The keys that `frozen` was given."""
    return {key: value for key, value, _ in keys}


@functools.lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The canonical text of a built-in operation's descriptor: every key in its order. Raises InvalidArgument."""
    opened = library()
    traits = _abi.Traits(struct_size=sizeof(_abi.Traits))
    opened.check(opened.qj_traits_parse(*text_argument(text), byref(traits)))
    return opened.text_of("qj_traits_text", byref(traits))


def descriptor(op: str, **keys: object) -> str:
    """The canonical descriptor of an operation; what is not given has its default. Raises InvalidArgument."""
    return canonical(compose(op, **keys))


@functools.lru_cache(maxsize=4096)
def _fields(text: str) -> dict[str, str]:
    op, _, rest = canonical(text).partition(":")
    return {"op": op, **dict(part.split("=", 1) for part in rest.split(","))}


def fields(text: str) -> dict[str, str]:
    """Operation (key "op") and all keys of a descriptor, defaults filled in. Raises InvalidArgument."""
    return dict(_fields(text))


def has_key(text: str, key: str) -> bool:
    """Whether a descriptor text, canonical or not, states `key`."""
    return f":{key}=" in text or f",{key}=" in text


def completed(op: str, text: str | None, **filled: str | None) -> str:
    """`text` with the keys of `filled` that it does not state; None or "" is the operation with its defaults.

    Raises InvalidArgument if `text` is of another operation.
    """
    text = text or op
    if text != op and not text.startswith(op + ":"):
        raise refuse("traits", text, f"they must be of {op}")
    for key, value in filled.items():
        key = key.rstrip("_")
        if value is not None and not has_key(text, key):
            text += f"{',' if ':' in text else ':'}{key}={value}"
    return text


def operations() -> dict[str, Any]:
    """Every operation with its keys, values (default first) and rules:
    `operations[{op, summary, keys[{key, values[], rule}]}]`."""
    return json.loads(library().text_of("qj_describe_operations"))
