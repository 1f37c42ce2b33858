# SPDX-License-Identifier: Apache-2.0
"""Tensors of others: what is read from them, what is refused, and when they are let go. Needs no library."""

import gc

import ml_dtypes
import numpy as np
import pytest
from producer import Producer, raw_tensor
from quantjit import InvalidArgument
from quantjit._dlpack import consume, view_of

DTYPES = [
    (ml_dtypes.bfloat16, 4, 16, "bf16"), (np.float16, 2, 16, "f16"), (np.float32, 2, 32, "f32"),
    (ml_dtypes.float8_e4m3fn, 10, 8, "e4m3"), (ml_dtypes.float8_e8m0fnu, 14, 8, None), (np.int8, 0, 8, "int8"),
    (np.int32, 0, 32, None), (np.int64, 0, 64, None),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "code", "bits", "word"), DTYPES, ids=lambda value: getattr(value, "__name__", None))
def test_every_element_type_has_its_code(dtype, code, bits, word):
    array = np.zeros((3, 5), dtype)
    view = view_of(array, "x")
    assert (view.tensor.dtype.code, view.tensor.dtype.bits, view.tensor.dtype.lanes) == (code, bits, 1)
    assert view.trait_dtype == word
    assert view.address == array.ctypes.data
    assert (view.shape, view.strides, view.on_host) == ((3, 5), (5, 1), True)


@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.complex64, np.dtype(">f4"), np.dtype("V2")])
def test_other_element_types_are_refused(dtype):
    with pytest.raises(InvalidArgument, match="x.dtype"):
        view_of(np.zeros((2, 2), dtype), "x")


def test_strides_are_in_elements_and_may_be_anything():
    array = np.zeros((8, 6), np.float32)
    assert view_of(array.T, "x").strides == (1, 6)
    assert view_of(array[::2, ::3], "x").strides == (12, 3)
    assert view_of(array[2:, 1:], "x").address == array.ctypes.data + 4 * 13
    assert view_of(np.zeros((0, 4), np.float32), "x").shape == (0, 4)


def test_strides_that_are_no_whole_elements_are_refused():
    packed = np.zeros(4, np.dtype([("a", "f4"), ("b", "u1")], align=False))["a"]
    with pytest.raises(InvalidArgument, match="x.strides"):
        view_of(packed, "x")


def test_read_only_arrays_are_inputs_only():
    array = np.zeros((2, 2), np.float32)
    array.flags.writeable = False
    view_of(array, "x")
    with pytest.raises(InvalidArgument, match="read-only"):
        view_of(array, "x", writable=True)


@pytest.mark.parametrize("value", [None, 3, "text", [1.0, 2.0], object()])
def test_what_is_no_tensor_is_refused(value):
    with pytest.raises(InvalidArgument, match="it must be a PyTorch tensor, a NumPy array or have __dlpack__"):
        view_of(value, "x")


# ---- Producers ----


@pytest.mark.parametrize("versioned", [True, False])
def test_a_producers_tensor_is_seen_and_let_go_once(versioned):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    producer = Producer(array, versioned=versioned)
    view = view_of(producer, "x")
    assert (view.address, view.shape, view.strides, view.trait_dtype) == (array.ctypes.data, (3, 4), (4, 1), "f32")
    assert producer.deleted == 0
    view.release()
    view.release()
    assert producer.deleted == 1
    del view
    gc.collect()
    assert producer.deleted == 1


def test_a_view_that_is_dropped_lets_go():
    producer = Producer(np.zeros((2, 2), np.float32))
    view_of(producer, "x")
    gc.collect()
    assert producer.deleted == 1


def test_producers_are_asked_for_dlpack_1_without_a_copy_and_older_ones_again():
    producer = Producer(np.zeros((2, 2), np.float32))
    view_of(producer, "x")
    assert producer.asked == [{"max_version": (1, 0), "copy": False}]
    older = Producer(np.zeros((2, 2), np.float32), versioned=False)
    view_of(older, "x")
    assert older.asked[-1] == {}


@pytest.mark.parametrize(("stream", "told"), [(0, 1), (7, 7)])
def test_producers_of_gpu_memory_are_told_the_stream(stream, told):
    tensor = raw_tensor(0x1000, (2, 32), (2, 2), (2, 1), device=(2, 3))
    producer = Producer(tensor=tensor)
    view = view_of(producer, "x", stream=stream)
    assert producer.asked[0]["stream"] == told
    assert not view.on_host and view.tensor.device.device_id == 3


def test_null_strides_mean_contiguous_and_the_offset_counts():
    tensor = raw_tensor(0x1000, (2, 32), (2, 3, 4))
    tensor.byte_offset = 64
    view = view_of(Producer(tensor=tensor), "x")
    assert view.strides == (12, 4, 1)
    assert view.address == 0x1040


def test_copies_are_refused_and_let_go():
    with pytest.raises(InvalidArgument, match="without a copy"):
        view_of(Producer(np.zeros((2, 2), np.float32), copies=True), "x")
    copied = Producer(np.zeros((2, 2), np.float32), flags=2)
    with pytest.raises(InvalidArgument, match="without a copy"):
        view_of(copied, "x")
    assert copied.deleted == 1


def test_read_only_tensors_are_inputs_only_and_let_go():
    producer = Producer(np.zeros((2, 2), np.float32), flags=1)
    view_of(producer, "x").release()
    with pytest.raises(InvalidArgument, match="read only"):
        view_of(producer, "x", writable=True)
    assert producer.deleted == 2


def test_vectors_of_lanes_are_refused_and_let_go():
    producer = Producer(tensor=raw_tensor(0x1000, (2, 32), (2, 2), (2, 1), lanes=4))
    with pytest.raises(InvalidArgument, match="lanes"):
        view_of(producer, "x")
    assert producer.deleted == 1


def test_another_major_version_is_refused_untouched():
    producer = Producer(np.zeros((2, 2), np.float32), version=(2, 0))
    with pytest.raises(InvalidArgument, match="version 2.0"):
        view_of(producer, "x")
    assert producer.deleted == 0


def test_a_capsule_is_used_once():
    producer = Producer(np.zeros((2, 2), np.float32))
    capsule = producer.__dlpack__(max_version=(1, 0), copy=False)
    consume(capsule, "x").release()
    with pytest.raises(InvalidArgument, match="was not used yet"):
        consume(capsule, "x")
    assert producer.deleted == 1


@pytest.mark.parametrize("capsule", [None, 3, "dltensor"])
def test_what_is_no_capsule_is_refused(capsule):
    class Liar:
        def __dlpack__(self, **_):
            return capsule

    with pytest.raises(InvalidArgument, match="capsule"):
        view_of(Liar(), "x")


def test_a_producer_that_fails_is_named():
    class Broken:
        def __dlpack__(self, **_):
            raise RuntimeError("no memory of mine")

    with pytest.raises(InvalidArgument, match="no memory of mine"):
        view_of(Broken(), "x")
