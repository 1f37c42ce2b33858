#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a build leaves behind: the libraries, the installed tree and the headers.

usage: test_package.py TEST, with the environment that CMakeLists.txt sets: SOURCE_DIR, BUILD_DIR, WORK_DIR,
CXX_COMPILER, C_COMPILER, CMAKE_COMMAND, CUDA_INCLUDE_DIR.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["BUILD_DIR"])
WORK = pathlib.Path(os.environ["WORK_DIR"])
CXX = os.environ["CXX_COMPILER"]
CC = os.environ["C_COMPILER"]
CMAKE = os.environ["CMAKE_COMMAND"]
PREFIX = WORK / "moved prefix"
SHARED = BUILD / "lib" / "libquantjit.so"

ALLOWED_LIBRARIES = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libzstd|libcrypto|ld-linux-[a-z0-9-]+)\.so\.\d+")
# What a symbol of the public API looks like: a function or object of quantjit, its type information, or the C ABI.
EXPORTED = re.compile(r"_Z(N|NK|TI|TIN|TS|TSN|TV|TVN)8quantjit|qj_")
PRIVATE = re.compile(r"8quantjit(4base|6driver|5nvrtc|5cache|7kernels|3sim|2io|3cli|6models|6bundle|6remote)")
# Without make, CMake's default generator has nothing to build with.
GENERATOR = [] if shutil.which("make") else ["-G", "Ninja"]


def run(*command, **options):
    options.setdefault("cwd", WORK)
    result = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    assert result.returncode == 0, f"{' '.join(map(str, command))} gave {result.returncode}:\n{result.stdout}"
    return result.stdout


def tool(name):
    path = shutil.which(name)
    if path is None:
        print(f"[skipped] {name} is not installed")
        sys.exit(0)
    return path


def check_consumer(program, **environment):
    output = run(program, env={**os.environ, **environment})
    assert "per_token_group_quant:in=bf16" in output and output.endswith("sealed\n"), output


def install():
    """The tree is installed, then moved: whatever uses it afterwards shows that it can be."""
    for folder in (PREFIX, WORK / "first prefix"):
        shutil.rmtree(folder, ignore_errors=True)
    run(CMAKE, "--install", BUILD, "--prefix", WORK / "first prefix")
    (WORK / "first prefix").rename(PREFIX)
    for path in ("include/quantjit/quantjit.hpp", "include/quantjit/quantjit.h", "include/quantjit/version.hpp"):
        assert (PREFIX / path).is_file(), f"{path} is not installed"
    for name in ("quantjit.pc", "quantjitConfig.cmake", "libquantjit.a", "libquantjit.so"):
        assert list(PREFIX.rglob(name)), f"{name} is not installed"
    for path in PREFIX.rglob("*"):
        if path.is_file() and path.suffix in (".cmake", ".pc"):
            assert str(WORK) not in path.read_text(), f"{path} names the folder it was installed to"


def build_consumer(folder, *options):
    build = WORK / folder
    shutil.rmtree(build, ignore_errors=True)
    run(CMAKE, *GENERATOR, "-S", SOURCE / "tests/package/consumer", "-B", build, f"-DCMAKE_CXX_COMPILER={CXX}", *options)
    run(CMAKE, "--build", build, "--parallel", os.cpu_count() or 1)
    for program in ("consumer", "consumer_static"):
        check_consumer(build / program)


def find_package():
    build_consumer("find_package", f"-DCMAKE_PREFIX_PATH={PREFIX}")


def configure_and_build(source, folder, prefix=PREFIX):
    build = WORK / folder
    shutil.rmtree(build, ignore_errors=True)
    run(
        CMAKE, *GENERATOR, "-S", SOURCE / source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_C_COMPILER={CC}",
    )  # fmt: skip
    run(CMAKE, "--build", build, "--parallel", os.cpu_count() or 1)
    return build


def c_project():
    check_consumer(configure_and_build("tests/package/c_consumer", "c_project") / "consumer_c")


def examples():
    for name in ("c_engine", "cpp_graph", "rmsnorm_quant"):
        assert (configure_and_build(f"examples/{name}", name) / name).is_file()


def deb():
    """The package says what it needs, and what it holds can be used from wherever it is unpacked."""
    reader = tool("dpkg-deb")
    folder = WORK / "deb"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run(pathlib.Path(CMAKE).with_name("cpack"), "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
    (package,) = folder.glob("*.deb")
    fields = dict(
        line.split(": ", 1) for line in run(reader, "--field", package).splitlines() if re.match(r"[A-Z][\w-]*: ", line)
    )
    header = (SOURCE / "include/quantjit/version.hpp").read_text()
    assert fields["Package"] == "quantjit" and f'kVersion = "{fields["Version"]}"' in header, fields
    needed = set(re.findall(r"[a-z0-9+.-]+(?=[ ,|(]|$)", re.sub(r"\([^)]*\)", "", fields["Depends"])))
    assert {"libc6", "libstdc++6"} <= needed, needed
    known = r"libc6|libgcc-s1|libstdc\+\+6|libzstd1|libssl3(t64)?|libcurl4(t64)?|libhiredis[0-9.]+|libmicrohttpd12(t64)?"
    foreign = [name for name in needed if not re.fullmatch(known, name)]
    assert not foreign, f"the package needs {foreign}"
    files = set(re.findall(r" \./(usr/\S+)", run(reader, "--contents", package)))
    for pattern in (
        r"usr/include/quantjit/quantjit\.h", r"usr/include/quantjit/qj_types\.h", r"usr/include/quantjit/quantjit\.hpp",
        r"usr/lib/(\S+/)?libquantjit\.so\.1\.\d+\.\d+", r"usr/lib/(\S+/)?libquantjit\.a", r"usr/bin/quantjit",
        r"usr/lib/(\S+/)?cmake/quantjit/quantjitConfig\.cmake", r"usr/lib/(\S+/)?pkgconfig/quantjit\.pc",
    ):  # fmt: skip
        assert any(re.fullmatch(pattern, name) for name in files), f"{pattern} is not among {sorted(files)}"
    run(reader, "--extract", package, folder / "unpacked")
    build = configure_and_build("tests/package/c_consumer", "deb_c_project", folder / "unpacked/usr")
    check_consumer(build / "consumer_c")


def add_subdirectory():
    build_consumer(
        "add_subdirectory",
        f"-DQUANTJIT_SOURCE_DIR={SOURCE}",
        f"-DQUANTJIT_CUDA_INCLUDE_DIR={os.environ['CUDA_INCLUDE_DIR']}",
        f"-DCMAKE_C_COMPILER={CC}",
        "-DCMAKE_BUILD_TYPE=Debug",
    )


def pkg_config():
    pkg = tool("pkg-config")
    library_dir = next(PREFIX.rglob("libquantjit.so")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_dir / "pkgconfig")}
    version = run(pkg, "--modversion", "quantjit", env=environment).strip()
    header = (PREFIX / "include/quantjit/version.hpp").read_text()
    assert f'kVersion = "{version}"' in header, f"pkg-config says version {version}"
    # pkg-config writes blanks in paths with backslashes, for the shell to read.
    flags = run(pkg, "--cflags", "--libs", "quantjit", env=environment).strip()
    source = SOURCE / "tests/package/consumer/main.cpp"
    run("sh", "-c", f"'{CXX}' -std=c++20 '{source}' -o pkg_config_consumer {flags}")
    check_consumer(WORK / "pkg_config_consumer", LD_LIBRARY_PATH=str(library_dir))
    source = SOURCE / "tests/package/consumer/main.c"
    run("sh", "-c", f"'{CC}' -std=c11 '{source}' -o pkg_config_consumer_c {flags}")
    check_consumer(WORK / "pkg_config_consumer_c", LD_LIBRARY_PATH=str(library_dir))


def needed_libraries():
    output = run(tool("readelf"), "-d", "-W", SHARED)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output)
    assert "libc.so.6" in needed, f"readelf -d was not understood:\n{output}"
    optional = os.environ["OPTIONAL_LIBRARIES"].split()
    foreign = [name for name in needed if not ALLOWED_LIBRARIES.fullmatch(name) and name.split(".")[0] not in optional]
    assert not foreign, f"libquantjit.so needs {foreign}"
    assert re.search(r"\(SONAME\).*\[libquantjit\.so\.1\]", output), output


def exported_symbols():
    output = run(tool("nm"), "-D", "--defined-only", SHARED)
    names = [line.split()[-1].partition("@")[0] for line in output.splitlines()]
    assert any("parse_descriptor" in name for name in names), "the API itself is not exported"
    foreign = [name for name in names if not EXPORTED.match(name)]
    assert not foreign, f"{len(foreign)} foreign symbols are exported, such as {foreign[:10]}"
    declared = set(re.findall(r"\b(qj_\w+)\(", (SOURCE / "include/quantjit/quantjit.h").read_text()))
    exported = {name for name in names if name.startswith("qj_")}
    assert exported == declared, f"the header and the library differ in {sorted(exported ^ declared)}"
    private = [name for name in names if PRIVATE.search(name)]
    assert not private, f"{len(private)} private symbols are exported, such as {private[:10]}"


def no_build_paths():
    for path in [SHARED, BUILD / "lib/libquantjit_simcuda.so", BUILD / "bin/quantjit"]:
        assert str(SOURCE).encode() not in path.read_bytes(), f"{path} names the source folder"


def headers_with(cxx, cc):
    headers = sorted((SOURCE / "include").rglob("*.h*"))
    assert headers, "no public header found"
    for header in headers:
        name = header.relative_to(SOURCE / "include")
        flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-I", SOURCE / "include"]
        run(cxx, "-std=c++20", *flags, "-x", "c++", "-", input=f"#include <{name}>\n")
        if header.suffix == ".h":
            run(cc, "-std=c11", *flags, "-x", "c", "-", input=f"#include <{name}>\n")


def headers():
    headers_with(CXX, CC)


def headers_clang():
    headers_with(tool("clang++"), tool("clang"))


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    globals()[sys.argv[1]]()
