# SPDX-License-Identifier: Apache-2.0
"""Tensor files written and read with the standard library alone."""

import ast
import json
import random
import struct


def random_floats(count, seed):
    """Floats that are exact in every dtype, some of them small or large."""
    source = random.Random(seed)
    return [source.randrange(-127, 128) / 64 * 2.0 ** source.randrange(-3, 4) for _ in range(count)]


def as_f32(values):
    return struct.pack(f"<{len(values)}f", *values)


def as_f16(values):
    return struct.pack(f"<{len(values)}e", *values)


def as_bf16(values):
    # Exact for these values: the lower half of the float is zero.
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def write_npy(path, descr, shape, data):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    header += " " * ((-len(header) - 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path):
    """(header, data) of a version 1 file."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    (length,) = struct.unpack("<H", content[8:10])
    return ast.literal_eval(content[10 : 10 + length].decode()), content[10 + length :]


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, data)."""
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def read_safetensors(path):
    """name -> (dtype, shape, data)."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    body = content[8 + length :]
    return {
        name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])]) for name, entry in header.items()
    }
