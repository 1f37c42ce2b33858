# SPDX-License-Identifier: Apache-2.0
"""Recorded bytes of the original kernels, from NumPy arrays on the simulated device and from the CPU reference."""

import golden
import numpy as np
import pytest
import quantjit

# Without SiLU: the simulated device's exponential is better than the hardware's.
CASES = list(golden.selected(20_000, silu=False))


def test_cases_of_every_kind_are_selected():
    assert len(CASES) > 60
    assert {case.reference for case in CASES} == {
        "sglang_unified", "sglang_v2_aot", "vllm_packed", "sglang_per_token", "sglang_per_token_aot",
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_simulated_device_gives_the_recorded_bytes(service, case):
    codes, scales, storage = golden.make_outputs(case)
    mask = golden.make_mask(case)
    if case.per_token:
        given = quantjit.per_token_quant(golden.make_input(case), case.traits, output_q=codes, output_s=scales)
    else:
        given = quantjit.per_token_group_quant(
            golden.make_input(case), case.traits, output_q=codes, output_s=scales, masked_m=mask
        )
    assert given[0] is codes and given[1] is scales
    assert golden.sha256(codes.view(np.uint8)) == case.q_sha256
    assert golden.sha256(storage) == case.s_sha256


@pytest.mark.parametrize("case", CASES[::8], ids=lambda case: case.name)
def test_the_cpu_reference_gives_the_recorded_bytes(library, case):
    codes, scales, storage = golden.make_outputs(case)
    quantjit.reference(
        golden.make_input(case), case.traits, arch="sm_90a", output_q=codes, output_s=scales,
        masked_m=golden.make_mask(case), sm_count=132,
    )  # fmt: skip
    assert golden.sha256(codes.view(np.uint8)) == case.q_sha256
    assert golden.sha256(storage) == case.s_sha256
