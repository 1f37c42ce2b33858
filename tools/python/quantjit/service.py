# SPDX-License-Identifier: Apache-2.0
"""Services: where kernels come from (memory, disk, compiler), and what they count."""

from __future__ import annotations

import atexit
import json
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_int32, c_size_t, c_uint64, c_void_p
from typing import Any

from quantjit import _abi
from quantjit._kernel import Image, Kernel
from quantjit._library import library, text_argument
from quantjit._options import PathLike, SourceValues, prewarm_options, service_options, source
from quantjit.errors import PrewarmError, QuantJitError

_INTERRUPT_CHECK_SECONDS = 0.1

# Kernels that launches of this process used and a service no longer hands out. They stay loaded: work on a stream and
# captured graphs may still use them, and nobody could say when that ends.
_retired: list[dict[tuple[str, int], Kernel]] = []

# Services with remote tiers that are open when the process ends: what they have not stored there yet is not lost.
_sharing: weakref.WeakSet[Service] = weakref.WeakSet()
_SECONDS_AT_EXIT = 2.0


@atexit.register
def _flush_at_exit() -> None:
    for service in list(_sharing):
        if service.is_open:
            service.flush_remote(_SECONDS_AT_EXIT)


class Service:
    """A service: one cache, one set of loaded kernels.

    Cheap to make: touches neither CUDA nor NVRTC nor the disk. What is not given is as the environment says
    (QUANTJIT_*), and where that is silent, the default. Thread safe. A context manager; closing is optional.

    Args:
        cache_dir: cache folder, or several in lookup order.
        cache_shared: cache folders that others may write, each with the file of its key.
        cache_max_size: bytes; 0 is unset.
        kernel_dir: folder of kernel sources in place of the built-in ones.
        nvrtc, cuda_driver: paths of the libraries.
        math: "auto", "fast" or "precise"; code: "auto", "cubin" or "ptx"; capture_policy: "error" or "load".
        jit: "on", or "off": never compile.
        record: file that requests are recorded in.
        remote: URLs of remote tiers in lookup order, or one text of them separated by blanks.
        memory_only: no disk cache.
        ignore_environment: the defaults in place of the environment.

    Raises: InvalidArgument; LibraryError if there is no libquantjit.
    """

    def __init__(
        self,
        *,
        cache_dir: PathLike | Sequence[PathLike] | None = None,
        cache_shared: Mapping[PathLike, PathLike] | None = None,
        cache_max_size: int = 0,
        kernel_dir: PathLike | None = None,
        nvrtc: PathLike | None = None,
        cuda_driver: PathLike | None = None,
        math: str | None = None,
        code: str | None = None,
        capture_policy: str | None = None,
        jit: str | None = None,
        record: PathLike | None = None,
        remote: str | Sequence[str] | None = None,
        memory_only: bool = False,
        ignore_environment: bool = False,
    ):
        settings = {
            "kernel_dir": kernel_dir, "nvrtc": nvrtc, "cuda_driver": cuda_driver, "math": math, "code": code,
            "capture_policy": capture_policy, "jit": jit, "record": record,
        }  # fmt: skip
        options = service_options(
            cache_dir, cache_shared, cache_max_size, ignore_environment, memory_only, remote, settings
        )
        opened, handle = library(), c_void_p()
        opened.check(opened.qj_service_open(byref(options), byref(handle)))
        self._opened = opened
        self._handle: int | None = handle.value
        self._finalizer = weakref.finalize(self, opened.qj_service_close, handle.value)
        self._finalizer.atexit = False
        self.cuda_driver = cuda_driver
        # What launches keep by (descriptor, device): kernels, and what PyTorch's launches prepared. Both are replaced
        # as a whole when kernels must be asked for anew.
        self.kernels: dict[tuple[str, int], Kernel] = {}
        self.launchers: dict[tuple[str, int], Any] = {}
        self.calls: dict[tuple, Any] = {}
        self._simulated: bool | None = None
        if self.remote_stats():
            _sharing.add(self)

    @property
    def is_open(self) -> bool:
        """Whether the service is not closed."""
        return self._handle is not None

    @property
    def handle(self) -> int:
        """Address of the C ABI's qj_service. Raises QuantJitError if the service is closed."""
        if self._handle is None:
            raise QuantJitError("the service is closed; make another one")
        return self._handle

    def close(self) -> None:
        """Ends the service. Kernels and images of it stay usable."""
        self._forget_kernels()
        self._handle = None
        self._finalizer()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget_kernels(self) -> None:
        # The table itself is kept: a thread that is about to add a kernel to it still may.
        retired, self.kernels, self.launchers, self.calls = self.kernels, {}, {}, {}
        _retired.append(retired)

    # ---- Kernels ----

    def get(self, traits: str, device: int | None = None, stream: int = 0) -> Kernel:
        """The kernel of a descriptor on a device, compiled and loaded if need be.

        Args:
            device: CUDA ordinal; None is the device of `stream`, or of the current context for a default stream.
            stream: CUstream or cudaStream_t as a number. If it is being captured and the kernel is not loaded yet,
                the capture policy applies.
        """
        handle = c_void_p()
        self._opened.check(
            self._opened.qj_kernel_get(
                self.handle, *text_argument(traits), -1 if device is None else device, stream, byref(handle)
            )
        )
        return Kernel(handle.value or 0, traits)

    def image(self, traits: str, arch: str) -> Image:
        """The compiled code of a descriptor for a target such as "sm_90a". Needs no GPU."""
        handle = c_void_p()
        self._opened.check(
            self._opened.qj_image_get(self.handle, *text_argument(traits), *text_argument(arch), byref(handle))
        )
        return Image(handle.value or 0)

    def prewarm(
        self,
        traits: Sequence[str] = (),
        *,
        manifest: PathLike | None = None,
        trace: PathLike | None = None,
        archs: Sequence[str] = (),
        devices: Sequence[int] = (),
        jobs: int = 0,
        memory_limit: int = 0,
        progress: Callable[[dict[str, Any]], object] | None = None,
    ) -> dict[str, Any]:
        """Prepares descriptors for archs or devices, several at once.

        Args:
            traits: descriptors; with `manifest` and `trace`, files of more.
            archs: targets of what names none itself; devices: CUDA ordinals to load on, and then no archs.
            jobs: compiles at once, at most; 0 is as many as there are cores.
            memory_limit: bytes that compiles may take; 0 is what is free.
            progress: called with `requested hits compiled failed seconds`, by one thread at a time. What it raises
                ends the prewarm and is raised here; so is KeyboardInterrupt.

        Returns: `requested hits compiled failed[{traits,arch,error,log}] loaded jobs cancelled seconds`.
        Raises: Incomplete, whose `report` is that, if some could not be had; Cancelled; InvalidArgument.
        """
        options = prewarm_options(traits, manifest, trace, archs, devices, jobs, memory_limit)
        return _Prewarm(self._opened, self.handle, options, progress).run()

    def seal(self) -> None:
        """From now on the service never compiles: a miss raises SealedMiss."""
        self._opened.check(self._opened.qj_seal(self.handle))

    def reload_sources(self) -> None:
        """Reads kernel sources again (`kernel_dir`, files of `register_source`). The next use of a descriptor has the
        kernel of the new sources; kernels that were handed out stay as they are."""
        self._opened.check(self._opened.qj_reload_sources(self.handle))
        self._forget_kernels()

    def evict_memory(self, device: int) -> int:
        """Drops a device's kernels from the memory tier. Returns how many. Those in use stay loaded."""
        count = c_uint64()
        self._opened.check(self._opened.qj_evict_memory(self.handle, device, byref(count)))
        self._forget_kernels()
        return count.value

    def register_source(
        self,
        op: str,
        path: str,
        *,
        text: str | None = None,
        file: PathLike | None = None,
        keys: Mapping[str, SourceValues] | None = None,
        entries: Sequence[tuple[str, Sequence[str]]],
        includes: Mapping[str, str] | None = None,
        parameter_bytes: int,
        dynamic_shared_bytes: int = 0,
        fmad: bool = False,
    ) -> None:
        """Adds an operation of the caller: its descriptors then work wherever descriptors do.

        Args:
            op: name in descriptors, a lower-case identifier; replaces an operation registered under that name.
            path: name of the source in the include root, e.g. "engine/norm.cuh".
            text: the source; or file: the file that holds it, which `reload_sources` reads again.
            keys: in canonical order, each with its values, the default first: texts, numbers, or pairs of a text
                and the template argument that it stands for.
            entries: one to three (function, arguments): a qualified name, and keys (or integers) whose values are
                its template arguments.
            includes: files of the caller that the source includes, by their path in `#include`.
            parameter_bytes: size of the one struct that every entry takes by value.
            dynamic_shared_bytes: most that a launch asks for a block.
            fmad: let the compiler contract a * b + c.
        """
        given = source(
            op, path, text, file, keys or {}, entries, includes or {}, parameter_bytes, dynamic_shared_bytes, fmad
        )
        self._opened.check(self._opened.qj_register_source(self.handle, byref(given)))
        self._forget_kernels()

    # ---- What it knows ----

    def stats(self) -> dict[str, Any]:
        """Counters: `requests memory_hits disk_hits compiles compile_failures waits loads rejected_entries
        publish_failures sealed_misses capture_misses nvrtc_loaded`, and sums over the remote tiers: `remote_hits
        remote_misses remote_failures remote_rejected remote_puts remote_put_failures remote_dropped remote_benched
        fleet_waits service_compiles`."""
        return json.loads(self._opened.text_of("qj_stats", self.handle))

    def remote_stats(self) -> list[dict[str, Any]]:
        """The remote tiers in lookup order: `label writable leases compiles benched hits misses failures rejected puts
        put_failures dropped skipped waits service_compiles bytes_read bytes_written last_error`."""
        return json.loads(self._opened.text_of("qj_remote_stats", self.handle))["tiers"]

    def flush_remote(self, timeout: float) -> bool:
        """Waits until what was compiled or found so far is stored in the remote tiers, at most `timeout` seconds.
        False if it takes longer; it goes on then. `close` waits for 2 seconds at most."""
        complete = c_int32()
        milliseconds = round(timeout * 1000)
        self._opened.check(self._opened.qj_service_flush_remote(self.handle, milliseconds, byref(complete)))
        return bool(complete.value)

    def device_stats(self, device: int) -> dict[str, Any]:
        """Counters of a device: `requests memory_hits loads load_failures evictions loaded_kernels`."""
        return json.loads(self._opened.text_of("qj_device_stats", self.handle, device))

    def prometheus_text(self) -> str:
        """The counters in the Prometheus text format, version 0.0.4: what an engine's `/metrics` may append."""
        return self._opened.text_of("qj_prometheus_text", self.handle)

    def device_info(self, device: int = 0) -> dict[str, Any]:
        """What a device is: `ordinal name arch sm_count memory_bytes driver_version simulated devices`, of which the
        last is the number of devices."""
        return json.loads(self._opened.text_of("qj_device_info", self.handle, device))

    @property
    def is_simulated(self) -> bool:
        """Whether the driver is the simulated device's, to which host memory is device memory."""
        if self._simulated is None:
            self._simulated = bool(self.device_info(0)["simulated"])
        return self._simulated

    def explain(self, traits: str, arch: str) -> dict[str, Any]:
        """Why a request hits or misses: `traits arch key hit path nearest{key,differs[{field,wanted,found}]}`."""
        arguments = (*text_argument(traits), *text_argument(arch))
        return json.loads(self._opened.text_of("qj_explain", self.handle, *arguments))


class _Prewarm:
    """One prewarm, on a thread of its own so that Ctrl-C reaches the caller's."""

    def __init__(self, opened: Any, service: int, options: _abi.PrewarmOptions, progress: Callable | None):
        self._opened, self._service, self._options = opened, service, options
        self._progress = progress
        self._callback = _abi.PROGRESS_CALLBACK(self._tell)
        self._raised: BaseException | None = None
        self._error: QuantJitError | None = None
        self._report: dict[str, Any] | None = None

    def _tell(self, progress: Any, _: object) -> int:
        try:
            if self._progress is not None:
                names = [field[0] for field in _abi.PrewarmProgress._fields_ if field[0] != "struct_size"]
                self._progress({name: getattr(progress.contents, name) for name in names})
            return 0
        except BaseException as error:  # what is raised through C is lost: it is kept for the caller
            self._raised = error
            return 1

    def _work(self, cancel: c_void_p) -> None:
        json_text, size = c_void_p(), c_size_t()
        self._options.cancel = cancel
        self._options.progress = self._callback
        status = self._opened.qj_prewarm(self._service, byref(self._options), byref(json_text), byref(size))
        if status != _abi.STATUS_OK:
            self._error = self._opened.error(status)
        text = self._opened.take_text(json_text, size)
        self._report = json.loads(text) if text else None

    def run(self) -> dict[str, Any]:
        cancel = c_void_p()
        self._opened.check(self._opened.qj_cancel_create(byref(cancel)))
        thread = threading.Thread(target=self._work, args=(cancel,), name="quantjit-prewarm")
        try:
            thread.start()
            while thread.is_alive():
                thread.join(_INTERRUPT_CHECK_SECONDS)
        except BaseException:
            self._opened.qj_cancel_request(cancel)
            thread.join()
            raise
        finally:
            self._opened.qj_cancel_destroy(cancel)
        if self._raised is not None:
            raise self._raised
        if isinstance(self._error, PrewarmError):
            self._error.report = self._report or {}
        if self._error is not None:
            raise self._error
        return self._report or {}


_default_lock = threading.Lock()
_default: Service | None = None


def default_service() -> Service:
    """The service of launches that name none, made as the environment says when it is first needed."""
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = Service()
    return _default


def set_default_service(service: Service | None) -> None:
    """Replaces the default service; None makes another one when it is next needed. PyTorch's operations use it."""
    global _default
    with _default_lock:
        _default = service
