# SPDX-License-Identifier: Apache-2.0
"""The package installs with pip, and works from where it is installed."""

import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def run(*command, **options):
    result = subprocess.run(command, text=True, capture_output=True, check=False, timeout=300, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that pip installed the package into."""
    found = [name for name in ("pip", "setuptools") if importlib.util.find_spec(name) is not None]
    if len(found) < 2 or int(importlib.metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("pip or setuptools 77 is not installed")
    work = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, work / "source", ignore=shutil.ignore_patterns("__pycache__"))
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps",
        "--no-build-isolation", "--target", work / "site", work / "source",
    )  # fmt: skip
    return work / "site"


def python(installed, program, tmp_path, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUANTJIT_")}
    kept.update(environment, PYTHONPATH=str(installed))
    return run(sys.executable, "-c", program, cwd=tmp_path, env=kept)


def test_every_module_is_installed_and_nothing_compiled(installed):
    source = PACKAGE / "quantjit"
    wanted = {path.relative_to(source) for path in source.rglob("*.py")} | {(source / "py.typed").relative_to(source)}
    found = {path.relative_to(installed / "quantjit") for path in (installed / "quantjit").rglob("*") if path.is_file()}
    assert wanted == {path for path in found if path.suffix != ".pyc"}


def test_importing_needs_no_library_and_using_one_says_what_is_missing(installed, tmp_path):
    program = (
        "import quantjit\ntry:\n    quantjit.version()\nexcept quantjit.LibraryError as error:\n    print(error)\n"
    )
    assert "set QUANTJIT_LIBRARY" in python(installed, program, tmp_path, QUANTJIT_LIBRARY="/nonexistent/lib.so")


def test_the_library_is_found_by_the_variable(installed, library, tmp_path):
    program = "import quantjit; print(quantjit.library_path(), quantjit.version())"
    path = os.path.abspath(library.path)
    assert python(installed, program, tmp_path, QUANTJIT_LIBRARY=path) == f"{path} 1.0.0\n"


def test_the_library_is_found_beside_the_package(installed, library, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    (site / "quantjit" / "libquantjit.so").symlink_to(os.path.abspath(library.path))
    program = "import quantjit; print(quantjit.library_path())"
    assert python(site, program, tmp_path) == f"{site / 'quantjit' / 'libquantjit.so'}\n"


def test_the_library_is_found_by_the_loader(installed, library, tmp_path):
    (tmp_path / "libquantjit.so.1").symlink_to(os.path.abspath(library.path))
    program = "import quantjit; print(quantjit.library_path())"
    assert python(installed, program, tmp_path, LD_LIBRARY_PATH=str(tmp_path)) == "libquantjit.so.1\n"


def test_numpy_and_torch_are_not_imported_for_nothing(installed, tmp_path):
    program = "import quantjit, sys; print([name for name in ('numpy', 'torch') if name in sys.modules])"
    assert python(installed, program, tmp_path) == "[]\n"
