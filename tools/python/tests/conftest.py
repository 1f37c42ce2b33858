# SPDX-License-Identifier: Apache-2.0
"""What the tests share. The environment says where things are:

SOURCE_DIR, the repository; QUANTJIT_LIBRARY, the library; SIMULATED_DEVICE, the driver library of the simulated device;
HAVE_NVRTC=0 where there is no compiler. Tests that lack something are skipped, and counted as that.
"""

import importlib.util
import os
import pathlib
import sys

import pytest

# The package in the tree, unless another one is to be tested.
if importlib.util.find_spec("quantjit") is None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
SIMULATOR = os.environ.get("SIMULATED_DEVICE", "")
os.environ["QUANTJIT_CUDA_DRIVER"] = SIMULATOR or "/nonexistent/libcuda.so.1"
for name in [name for name in os.environ if name.startswith("QUANTJIT_")]:
    if name not in ("QUANTJIT_LIBRARY", "QUANTJIT_CUDA_DRIVER", "QUANTJIT_NVRTC"):
        del os.environ[name]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One cache for all tests, so that each kernel is compiled once."""
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    return folder


@pytest.fixture(scope="session")
def library():
    """The opened library."""
    import quantjit._library

    try:
        return quantjit._library.library()
    except quantjit.LibraryError as error:
        pytest.skip(f"no library: {error}")


@pytest.fixture
def simulator(library):
    """Path of the simulated device's driver library."""
    if not SIMULATOR:
        pytest.skip("no simulated device was built (SIMULATED_DEVICE)")
    if os.environ.get("HAVE_NVRTC") == "0":
        pytest.skip("no libnvrtc was found")
    return SIMULATOR


@pytest.fixture
def service(simulator, cache):
    """A service on the simulated device, which is also the default one."""
    import quantjit

    with quantjit.Service(cache_dir=cache) as made:
        quantjit.set_default_service(made)
        yield made
    quantjit.set_default_service(None)
