# SPDX-License-Identifier: Apache-2.0
"""Services from Python: kernels, images, prewarm, seal, statistics, sources; and what goes wrong."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import places
import pytest
import quantjit

TRAITS = "per_token_group_quant:scale=ue8m0,layout=col"
ARCH = "sm_90a"


@pytest.fixture
def own(simulator, tmp_path):
    """A service with an empty cache of its own."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    with quantjit.Service(cache_dir=folder) as made:
        yield made


def test_the_library_says_its_version_and_operations(library):
    assert quantjit.version().startswith("1.")
    operations = {entry["op"]: entry for entry in quantjit.operations()["operations"]}
    assert {"per_token_group_quant", "per_token_quant"} <= set(operations)
    assert "group" in [key["key"] for key in operations["per_token_group_quant"]["keys"]]


def test_descriptors_are_made_from_keys_and_read_again(library):
    text = quantjit.descriptor("per_token_group_quant", group=64, silu=True, in_="f16", layout=None)
    assert text.startswith("per_token_group_quant:in=f16,out=e4m3,group=64,scale=f32,layout=row,silu=true,")
    keys = quantjit.fields(text)
    assert (keys["op"], keys["in"], keys["group"], keys["silu"]) == ("per_token_group_quant", "f16", "64", "true")
    assert quantjit.descriptor("per_token_quant", math="precise").endswith(",math=precise")


@pytest.mark.parametrize("text", ["", "nothing", "per_token_group_quant:group=7", "per_token_quant:group=64"])
def test_wrong_descriptors_are_refused(library, text):
    with pytest.raises(quantjit.InvalidArgument):
        quantjit.descriptor(text)


def test_a_kernel_is_compiled_once_and_known(own):
    kernel = own.get(TRAITS)
    info = kernel.info()
    assert info["traits"].startswith("per_token_group_quant:") and info["arch"] == ARCH
    assert info["entry_points"][0]["pdl_wait"] is True
    assert kernel.device == 0
    del kernel
    own.get(TRAITS, device=0)
    assert own.stats()["compiles"] == 1
    assert own.device_stats(0)["loaded_kernels"] == 1
    assert own.device_info(0)["simulated"] is True and own.is_simulated


def test_counters_as_prometheus_reads_them(own):
    own.image(TRAITS, "sm_100a")
    own.get(TRAITS, device=0)
    text = own.prometheus_text()
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples["quantjit_requests_total"] == "2"
    assert samples["quantjit_compile_seconds_count"] == samples["quantjit_compiles_total"] == "2"
    assert samples['quantjit_device_loaded_kernels{device="0"}'] == "1"
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families)) and all(name.startswith("quantjit_") for name in families)


def test_an_image_needs_no_device(own):
    image = own.image(TRAITS, "sm_100a")
    assert image.info()["source"] == "compiled"
    assert len(image.code) == image.info()["code_bytes"] > 1000
    assert own.image(TRAITS, "sm_100a").info()["source"] == "memory"


def test_explain_tells_hit_and_miss(own):
    assert own.explain(TRAITS, ARCH)["hit"] is False
    own.image(TRAITS, ARCH)
    document = own.explain(TRAITS, ARCH)
    assert document["hit"] is True and document["nearest"] is None


def test_kernels_survive_eviction_and_the_service(own):
    kernel = own.get(TRAITS)
    assert own.evict_memory(0) == 1
    own.close()
    assert kernel.info()["device"] == 0
    with pytest.raises(quantjit.QuantJitError, match="closed"):
        own.get(TRAITS)


def test_options_reach_the_service(simulator, tmp_path):
    with quantjit.Service(memory_only=True, jit="off") as service, pytest.raises(quantjit.SealedMiss):
        service.get(TRAITS)
    with pytest.raises(quantjit.InvalidArgument, match="math"):
        quantjit.Service(math="sloppy")
    with quantjit.Service(memory_only=True, nvrtc="/nonexistent/libnvrtc.so") as service:
        with pytest.raises(quantjit.CompileError) as caught:
            service.get(TRAITS)
        assert "nvrtc_path" in caught.value.details
    with quantjit.Service(cache_dir=tmp_path, cuda_driver="/nonexistent/libcuda.so") as service:
        with pytest.raises(quantjit.DriverError):
            service.get(TRAITS)


def test_the_environment_is_read_unless_it_is_ignored(simulator, monkeypatch):
    monkeypatch.setenv("QUANTJIT_JIT", "off")
    with quantjit.Service(memory_only=True) as service, pytest.raises(quantjit.SealedMiss):
        service.get(TRAITS)
    with quantjit.Service(memory_only=True, ignore_environment=True, cuda_driver=simulator) as service:
        assert service.get(TRAITS).device == 0


# ---- Prewarm and seal ----

LIST = [f"per_token_group_quant:group={group}" for group in (32, 64, 128)]


def test_prewarm_then_seal(own):
    seen = []
    report = own.prewarm(LIST, devices=[0], jobs=2, progress=seen.append)
    assert (report["requested"], report["compiled"], report["failed"]) == (3, 3, [])
    assert seen[0]["requested"] == 3 and seen[-1]["compiled"] == 3
    assert own.device_stats(0)["loaded_kernels"] == 3
    own.seal()
    assert own.get(LIST[0]).device == 0
    with pytest.raises(quantjit.SealedMiss) as caught:
        own.get("per_token_group_quant:group=16")
    assert isinstance(caught.value, LookupError)
    assert own.prewarm(LIST, devices=[0])["hits"] == 3


def test_a_prewarm_that_cannot_do_all_says_what_it_did(simulator, own):
    own.prewarm(LIST[:1], archs=[ARCH])
    own.seal()
    with pytest.raises(quantjit.Incomplete) as caught:
        own.prewarm(LIST[:2], archs=[ARCH])
    report = caught.value.report
    assert report["hits"] == 1 and len(report["failed"]) == 1
    assert "group=64" in report["failed"][0]["traits"]


def test_what_the_progress_raises_ends_the_prewarm_and_comes_out(own):
    def stop(_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        own.prewarm(LIST, archs=[ARCH], progress=stop)
    assert own.prewarm(LIST, archs=[ARCH])["failed"] == []


def test_an_interrupt_ends_the_prewarm(own):
    told = []

    def interrupt(progress):
        told.append(progress)
        if len(told) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        own.prewarm(LIST, archs=[ARCH], jobs=1, progress=interrupt)
    assert own.prewarm(LIST, archs=[ARCH])["failed"] == []


def test_a_wrong_prewarm_is_refused(own):
    with pytest.raises(quantjit.InvalidArgument):
        own.prewarm(["nothing"], archs=[ARCH])
    with pytest.raises(quantjit.InvalidArgument):
        own.prewarm(LIST, archs=["sm_12"])


# ---- Sources ----


def test_editing_a_kernel_changes_the_next_result_of_a_running_process(simulator, tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    shutil.copytree(places.SOURCE / "kernels", folder)
    monkeypatch.setenv("QUANTJIT_KERNEL_DIR", str(folder))
    x = np.zeros((2, 128), ml_dtypes.bfloat16)
    with quantjit.Service(memory_only=True) as service:

        def scale():
            return quantjit.per_token_group_quant(x, numerics="exact", service=service)[1][0, 0]

        floor = np.float32(1e-10) / np.float32(448)
        assert scale() == floor
        file = folder / "device" / "scale.cuh"
        text = file.read_text()
        assert text.count("kAmaxFloor = 1e-10F") == 1
        file.write_text(text.replace("kAmaxFloor = 1e-10F", "kAmaxFloor = 448.0F"))
        assert scale() == floor, "it must not change before it is told"
        service.reload_sources()
        assert scale() == 1
        file.write_text("this is no CUDA\n" + text)
        service.reload_sources()
        with pytest.raises(quantjit.CompileError) as caught:
            scale()
        assert "scale.cuh" in caught.value.log
        file.write_text(text)
        service.reload_sources()
        assert scale() == floor


# ---- Errors and lifetimes ----


def test_errors_of_threads_do_not_mix(own):
    failures = []

    def work(word):
        for _ in range(200):
            try:
                own.explain(f"per_token_group_quant:group={word}", ARCH)
            except quantjit.InvalidArgument as error:
                if str(word) not in str(error):
                    failures.append((word, str(error)))

    threads = [threading.Thread(target=work, args=(100001 + i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_handles_are_released_when_they_are_dropped(own):
    for _ in range(50):
        own.get(TRAITS).info()
        own.image(TRAITS, ARCH).info()
    gc.collect()
    assert own.device_stats(0)["loaded_kernels"] == 1
    assert own.stats()["compiles"] == 2, "one is PTX, which the simulated device takes"


def test_a_process_that_ends_with_everything_open_ends_well(simulator, cache):
    program = (
        "import numpy, quantjit\n"
        f"service = quantjit.Service(cache_dir={str(cache)!r})\n"
        "quantjit.set_default_service(service)\n"
        "kernel = service.get('per_token_group_quant')\n"
        "outputs = quantjit.per_token_group_quant(numpy.ones((2, 128), numpy.float32))\n"
        "print('end')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, text=True, capture_output=True, check=False, timeout=300
    )
    assert (result.returncode, result.stdout) == (0, "end\n"), result.stderr


# ---- Remote tiers ----


def test_what_one_machine_compiled_the_next_one_takes(simulator, tmp_path):
    folders = [tmp_path / name for name in ("share", "first", "second", "third")]
    for folder in folders:
        folder.mkdir(mode=0o700)
    share, first, second, third = folders
    url = f"file://{share}"
    with quantjit.Service(cache_dir=first, remote=[url]) as service:
        assert service.image(TRAITS, ARCH).info()["source"] == "compiled"
        assert service.flush_remote(60)
        assert service.stats()["remote_puts"] == 1
        (tier,) = service.remote_stats()
        assert (tier["label"], tier["writable"], tier["puts"], tier["last_error"]) == (url, True, 1, "")
    with quantjit.Service(cache_dir=second, remote=f"{url}?readonly=1 file:///nonexistent/other") as service:
        assert service.image(TRAITS, ARCH).info()["source"] == "remote"
        assert [tier["hits"] for tier in service.remote_stats()] == [1, 0]
    with quantjit.Service(cache_dir=third) as service:
        assert service.remote_stats() == []
        assert service.flush_remote(0)
    with pytest.raises(quantjit.InvalidArgument, match="scheme"):
        quantjit.Service(remote="gopher://host")


def test_what_a_process_leaves_open_is_stored_at_its_end(simulator, tmp_path):
    share, cache = tmp_path / "share", tmp_path / "cache"
    share.mkdir()
    cache.mkdir(mode=0o700)
    script = f"""
import quantjit
service = quantjit.Service(cache_dir={str(cache)!r}, remote="file://{share}")
for group in (16, 32, 64, 128):
    service.image(f"per_token_group_quant:group={{group}}", {ARCH!r})
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=300)
    entries = [path for path in share.rglob("*") if path.is_file() and not path.name.endswith("-latest")]
    assert len(entries) == 4
