# SPDX-License-Identifier: Apache-2.0
"""The recorded cases: what the original kernels gave on an H200. Inputs are made again from their seeds with NumPy."""

import dataclasses
import hashlib
import json

import ml_dtypes
import numpy as np
from places import SOURCE

FILE = SOURCE / "tests" / "golden" / "h200_cases.jsonl"
NUMERICS = {"sglang_unified": "sglang", "sglang_v2_aot": "sglang_v2", "vllm_packed": "vllm"}
IN_DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
OUT_DTYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "int8": np.int8}
POISON_CODE, POISON_SCALE, POISON_WORD = 0xA5, 0x7FC00000, 0xA5A5A5A5


@dataclasses.dataclass
class Case:
    """One recorded case. Missing values are None."""

    name: str
    reference: str
    in_dtype: str
    out_dtype: str
    layout: str
    group: int
    silu: bool
    tokens: int
    hidden: int
    experts: int
    masked_m: list
    mask_dtype: str
    pad_rows: int
    input: str
    seed: int
    q_sha256: str
    s_sha256: str

    @property
    def elements(self):
        return self.tokens * self.hidden * (self.experts or 1)

    @property
    def per_token(self):
        return self.layout == "per_token"

    @property
    def traits(self):
        if self.per_token:
            return f"per_token_quant:in={self.in_dtype},numerics=sglang,zero_rows=legacy"
        scale, layout = self.layout.rsplit("_", 1)
        return (
            f"per_token_group_quant:in={self.in_dtype},out={self.out_dtype},group={self.group},scale={scale},"
            f"layout={layout},silu={'true' if self.silu else 'false'},"
            f"schedule={'masked' if self.experts else 'flat'},numerics={NUMERICS[self.reference]}"
        )


def cases():
    names = [field.name for field in dataclasses.fields(Case)]
    with FILE.open() as lines:
        for line in lines:
            document = json.loads(line)
            yield Case(**{name: document.get(name) for name in names})


def _mix(seed, count):
    x = np.arange(count, dtype=np.uint64) + np.uint64(seed << 32)
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _uniform(h, seed):
    group = np.arange(h.size, dtype=np.int64) // 128
    fraction = ((h >> np.uint64(40)).astype(np.int64) - 2**23).astype(np.float64) * 2.0**-23
    return (fraction * 2.0 ** ((group * 7 + seed) % 9 - 4)).astype(np.float32)


def _bits(h, dtype):
    if dtype == np.float32:
        bits = (h >> np.uint64(32)).astype(np.uint32)
        flipped = np.where((bits >> 23) & 0xFF == 0xFF, bits ^ 0x40000000, bits)
        return flipped.astype(np.uint32).view(np.float32)
    bits = (h >> np.uint64(48)).astype(np.uint16)
    exponents = 0x7C00 if dtype == np.float16 else 0x7F80
    return np.where(bits & exponents == exponents, bits ^ 0x4000, bits).astype(np.uint16).view(dtype)


def _midpoint(h):
    column = np.arange(h.size) % 128
    power = ((h >> np.uint64(8)) % np.uint64(14)).astype(np.int64) - 6
    odd = ((h >> np.uint64(32)) % np.uint64(8)).astype(np.int64) * 2 + 1
    value = (16 + odd) / 16 * 2.0**power
    value = np.where(h & np.uint64(1) == 0, -value, value)
    return np.where(column == 0, 448.0, value).astype(np.float32)


def _denormals(h, dtype):
    small = ((h >> np.uint64(48)) & np.uint64(0x7F)).astype(np.uint32)
    return small.view(np.float32) if dtype == np.float32 else small.astype(np.uint16).view(dtype)


def _largest(h, dtype):
    finite = float(ml_dtypes.finfo(dtype).max)
    return np.where((h >> np.uint64(48)) & np.uint64(1) == 0, finite, -finite).astype(dtype)


def _special(h, seed, dtype):
    values = _uniform(h, seed).astype(dtype)
    index = np.arange(h.size)
    group, column = index // 128, index % 128
    at = column == group * 5 % 128
    values[group % 8 == 0] = 0.0
    for kind, value in ((1, np.nan), (2, np.inf), (3, -np.inf)):
        values[(group % 8 == kind) & at] = value
    values = np.where(group % 8 == 4, _denormals(h, dtype), values)
    values[group % 8 == 5] = -0.0
    return np.where(group % 8 == 6, _largest(h, dtype), values).astype(dtype)


def _rows(h, seed, dtype, columns):
    values = _uniform(h, seed).astype(dtype)
    index = np.arange(h.size)
    row, column = index // columns, index % columns
    at = column == row * 5 % columns
    kind = row % 8
    values[kind == 0] = 0.0
    values[kind == 1] = -0.0
    values[(kind == 2) & at] = np.nan
    values[kind == 3] = np.nan
    values[(kind == 4) & at & (row // 8 % 2 == 0)] = np.inf
    values[(kind == 4) & at & (row // 8 % 2 == 1)] = -np.inf
    values = np.where(kind == 5, _denormals(h, dtype), values)
    return np.where(kind == 6, _largest(h, dtype), values).astype(dtype)


def aligned(shape, dtype):
    """An uninitialized array that starts on 64 bytes."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(count + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + count].view(dtype).reshape(shape)


def make_input(case):
    dtype = IN_DTYPES[case.in_dtype]
    columns = case.hidden * (2 if case.silu else 1)
    shape = ((case.experts,) if case.experts else ()) + (case.tokens, columns)
    h = _mix(case.seed, int(np.prod(shape)))
    with np.errstate(all="ignore"):
        made = {
            "uniform": lambda: _uniform(h, case.seed),
            "bits": lambda: _bits(h, dtype),
            "midpoint": lambda: _midpoint(h),
            "special": lambda: _special(h, case.seed, dtype),
            "rows": lambda: _rows(h, case.seed, dtype, columns),
        }[case.input]()
        values = aligned(shape, dtype)
        values[...] = made.astype(dtype).reshape(shape)
    return values


def make_outputs(case):
    """(codes, scales as the kernel takes them, scale storage), poisoned."""
    outer = (case.experts,) if case.experts else ()
    codes = aligned((*outer, case.tokens + case.pad_rows, case.hidden), np.uint8)
    codes[...] = POISON_CODE
    codes = codes.view(OUT_DTYPES[case.out_dtype])
    if case.per_token:
        storage = aligned((case.tokens + case.pad_rows,), np.uint32)
        storage[...] = POISON_SCALE
        return codes, storage.view(np.float32), storage
    packed = case.layout.startswith("ue8m0")
    columns = case.hidden // case.group
    columns = (columns + 3) // 4 if packed else columns
    rows = case.tokens if case.layout.endswith("row") else (case.tokens + 3) // 4 * 4
    shape = (rows, columns) if case.layout.endswith("row") else (columns, rows)
    storage = aligned((*outer, *shape), np.uint32)
    storage[...] = POISON_WORD if packed else POISON_SCALE
    scales = storage.view(np.int32 if packed else np.float32)
    if case.layout.endswith("col"):
        scales = scales.swapaxes(-1, -2)[..., : case.tokens, :]
    return codes, scales, storage


def make_mask(case):
    return None if case.masked_m is None else np.array(case.masked_m, case.mask_dtype)


def sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).view(np.uint8).tobytes()).hexdigest()


def selected(largest, *, silu, per_kind=2):
    """The smallest cases of each kind, `per_kind` of each, with at most `largest` elements."""
    count = {}
    for case in sorted(cases(), key=lambda case: (case.elements, case.name)):
        kind = (case.reference, case.layout, case.in_dtype, case.out_dtype, case.silu, bool(case.experts), case.input)
        if case.elements <= largest and (silu or not case.silu):
            count[kind] = count.get(kind, 0) + 1
            if count[kind] <= per_kind:
                yield case
