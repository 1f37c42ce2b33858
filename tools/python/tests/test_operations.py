# SPDX-License-Identifier: Apache-2.0
"""The operations on NumPy arrays and on foreign tensors, on the simulated device."""

import threading

import ml_dtypes
import numpy as np
import pytest
import quantjit
from producer import Producer, raw_tensor
from quantjit import InvalidArgument

BF16 = ml_dtypes.bfloat16
E8M0 = ml_dtypes.float8_e8m0fnu


def values(*shape, dtype=BF16, seed=1):
    return (np.random.default_rng(seed).standard_normal(shape, np.float32) * 3).astype(dtype)


def strides_in_elements(array):
    return tuple(step // array.itemsize for step in array.strides)


# (keys, scale dtype, scale shape, scale strides) for an input of [5, 640].
LAYOUTS = [
    ({}, np.float32, (5, 5), (5, 1)),
    ({"group": 64}, np.float32, (5, 10), (10, 1)),
    ({"layout": "col"}, np.float32, (5, 5), (1, 8)),
    ({"scale": "ue8m0"}, np.int32, (5, 2), (2, 1)),
    ({"scale": "ue8m0", "layout": "col"}, np.int32, (5, 2), (1, 8)),
    ({"scale": "f32_pow2", "numerics": "exact"}, np.float32, (5, 5), (5, 1)),
    ({"scale": "ue8m0", "layout": "col", "numerics": "vllm"}, np.int32, (5, 2), (1, 8)),
    ({"scale": "e8m0", "group": 32, "numerics": "exact"}, E8M0, (5, 20), (20, 1)),
    ({"scale": "e8m0", "group": 32, "numerics": "exact", "layout": "swizzle128x4"}, E8M0, (2560,), (1,)),
    ({"out": "int8"}, np.float32, (5, 5), (5, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "dtype", "shape", "strides"), LAYOUTS, ids=lambda value: str(value)[:60])
def test_outputs_are_allocated_as_documented_and_hold_the_references_bytes(service, keys, dtype, shape, strides):
    x = values(5, 640)
    codes, scales = quantjit.per_token_group_quant(x, **keys)
    assert codes.dtype == (np.int8 if keys.get("out") == "int8" else ml_dtypes.float8_e4m3fn)
    assert (codes.shape, strides_in_elements(codes)) == ((5, 640), (640, 1))
    assert (scales.dtype, scales.shape, strides_in_elements(scales)) == (dtype, shape, strides)
    wanted_codes, wanted_scales = quantjit.reference(x, arch="sm_90a", **keys)
    assert codes.tobytes() == wanted_codes.tobytes()
    assert scales.tobytes() == wanted_scales.tobytes()


@pytest.mark.parametrize("dtype", [BF16, np.float16, np.float32])
def test_the_input_type_is_taken_from_the_tensor(service, dtype):
    x = values(3, 256, dtype=dtype)
    codes, scales = quantjit.per_token_quant(x)
    wanted = quantjit.reference(x, op="per_token_quant", arch="sm_90a")
    assert scales.shape == (3, 1)
    assert (codes.tobytes(), scales.tobytes()) == tuple(array.tobytes() for array in wanted)


def test_a_text_with_keys_beside_it_is_one_descriptor(service):
    x = values(2, 256)
    text = quantjit.per_token_group_quant(x, "per_token_group_quant:group=64,scale=ue8m0")
    both = quantjit.per_token_group_quant(x, "per_token_group_quant:group=64", scale="ue8m0")
    assert text[0].tobytes() == both[0].tobytes()
    assert (text[1] == both[1]).all()


def test_masked_rows_are_written_and_no_others(service):
    x = values(3, 4, 256)
    codes = np.full((3, 4, 256), 0x11, np.uint8).view(ml_dtypes.float8_e4m3fn)
    scales = np.full((3, 4, 2), -1, np.float32)
    live = np.array([0, 4, 2], np.int64)
    quantjit.per_token_group_quant(x, output_q=codes, output_s=scales, masked_m=live, expected_m=2)
    for expert, rows in enumerate(live):
        assert (codes.view(np.uint8)[expert, rows:] == 0x11).all()
        assert (scales[expert, rows:] == -1).all()
        assert (scales[expert, :rows] > 0).all()
    flat = quantjit.per_token_group_quant(x[1])
    assert codes[1].tobytes() == flat[0].tobytes()


def test_strided_inputs_and_outputs_inside_larger_arrays(service):
    wide = values(4, 512)
    narrow = np.ascontiguousarray(wide[:, 128:384])
    codes = np.full((4, 512), 0x22, np.uint8)
    scales = np.full((4, 4), -1, np.float32)
    quantjit.per_token_group_quant(
        wide[:, 128:384], output_q=codes[:, 128:384].view(ml_dtypes.float8_e4m3fn), output_s=scales[:, 1:3]
    )
    wanted = quantjit.per_token_group_quant(narrow)
    assert codes[:, 128:384].tobytes() == wanted[0].tobytes()
    assert (scales[:, 1:3] == wanted[1]).all()
    assert (codes[:, :128] == 0x22).all() and (codes[:, 384:] == 0x22).all()
    assert (scales[:, 0] == -1).all() and (scales[:, 3] == -1).all()


@pytest.mark.parametrize("shape", [(0, 256), (3, 0)])
def test_empty_work_is_no_launch(service, shape):
    codes, scales = quantjit.per_token_group_quant(values(*shape))
    assert codes.size == 0 and scales.size == 0


# ---- What is refused ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": values(4, 200)}, "multiple of 128"),
        ({"x": values(256)}, "ndim"),
        ({"x": np.zeros((4, 256))}, "float64"),
        ({"x": values(4, 256), "group": 48}, "group"),
        ({"x": values(4, 256), "flavour": "mild"}, "flavour"),
        ({"x": values(4, 256), "traits": "per_token_quant"}, "per_token_group_quant"),
        ({"x": values(4, 256), "traits": "per_token_group_quant:group=64", "group": 64}, "states it already"),
        ({"x": values(4, 256), "output_q": np.zeros((4, 256), np.int8)}, "both are given or none"),
        ({"x": values(4, 256), "in_": "f16"}, "input"),
        ({"x": values(4, 257)[:, 1:]}, "16"),
    ],
)
def test_wrong_arguments_are_refused_with_the_rule(service, arguments, message):
    with pytest.raises(InvalidArgument, match=message) as caught:
        quantjit.per_token_group_quant(arguments.pop("x"), **arguments)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("codes", "scales", "message"),
    [
        (((4, 128), np.int8), ((4, 2), np.float32), "output_q"),
        (((3, 256), np.int8), ((4, 2), np.float32), "output_q"),
        (((4, 256), np.int8), ((4, 3), np.float32), "output_s"),
        (((4, 256), np.int8), ((4, 2), np.int32), "output_s"),
        (((4, 256), np.float16), ((4, 2), np.float32), "out"),
    ],
)
def test_wrong_outputs_are_refused_and_nothing_is_written(service, codes, scales, message):
    outputs = [np.full(shape, 7, dtype) for shape, dtype in (codes, scales)]
    with pytest.raises(InvalidArgument, match=message):
        quantjit.per_token_group_quant(values(4, 256), output_q=outputs[0], output_s=outputs[1])
    assert all((array == 7).all() for array in outputs)


def test_overlapping_tensors_are_refused(service):
    memory = np.zeros(8192, np.uint8)
    x = memory[:2048].view(BF16).reshape(4, 256)
    with pytest.raises(InvalidArgument, match="overlap"):
        quantjit.per_token_group_quant(
            x, output_q=memory[1024:2048].view(np.int8).reshape(4, 256), output_s=np.zeros((4, 2), np.float32)
        )


def test_a_gpu_kernel_gets_no_host_memory(service, monkeypatch):
    monkeypatch.setattr(type(service), "is_simulated", False)
    with pytest.raises(InvalidArgument, match="GPU memory"):
        quantjit.per_token_group_quant(values(4, 256))


def test_outputs_are_not_allocated_on_devices_of_others(service):
    producer = Producer(tensor=raw_tensor(0x1000, (4, 16), (4, 256), (256, 1), device=(2, 0)))
    with pytest.raises(InvalidArgument, match="give them"):
        quantjit.per_token_group_quant(producer)
    assert producer.deleted == 1


# ---- Lifetimes and threads ----


def test_every_producer_is_let_go_after_a_launch(service):
    x = Producer(values(4, 256))
    codes = Producer(np.zeros((4, 256), np.int8), versioned=False)
    scales = Producer(np.zeros((4, 2), np.float32))
    quantjit.per_token_group_quant(x, output_q=codes, output_s=scales)
    assert (x.deleted, codes.deleted, scales.deleted) == (1, 1, 1)
    wanted = quantjit.per_token_group_quant(x.array, out="int8")
    assert (codes.array == wanted[0]).all() and (scales.array == wanted[1]).all()


def test_producers_are_let_go_when_a_launch_is_refused(service):
    x = Producer(values(4, 200))
    with pytest.raises(InvalidArgument):
        quantjit.per_token_group_quant(x)
    assert x.deleted == 1


def test_threads_quantize_at_once(service):
    inputs = [values(3 + i % 4, 256, seed=i) for i in range(16)]
    wanted = [quantjit.reference(x, arch="sm_90a", scale="ue8m0") for x in inputs]
    failures = []

    def work(first):
        try:
            for i in range(first, 16, 8):
                codes, scales = quantjit.per_token_group_quant(inputs[i], scale="ue8m0")
                assert codes.tobytes() == wanted[i][0].tobytes() and (scales == wanted[i][1]).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert service.stats()["compiles"] <= 1


@pytest.mark.parametrize("value", [1, "true", [True]])
def test_equal_values_of_other_types_are_other_words(service, value):
    """A call is not answered with what an earlier one with an equal value made."""
    x = np.zeros((1, 256), ml_dtypes.bfloat16)
    quantjit.per_token_group_quant(x, silu=True)
    if value == "true":
        assert quantjit.per_token_group_quant(x, silu=value)[0].shape == (1, 128)
        return
    with pytest.raises(quantjit.InvalidArgument, match="silu"):
        quantjit.per_token_group_quant(x, silu=value)
