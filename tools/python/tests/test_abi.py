# SPDX-License-Identifier: Apache-2.0
"""The table of prototypes and the structs are the headers'; errors are the statuses'. Needs no library."""

import ctypes
import re

import header
import pytest
from quantjit import _abi, _library, errors

# C type -> ctypes type. Handles and pointers to structs are addresses.
SCALARS = {
    "void": None, "char*": ctypes.c_char_p, "void*": ctypes.c_void_p, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double, "qj_status": ctypes.c_int,
    "char**": ctypes.POINTER(ctypes.c_void_p), "void**": ctypes.POINTER(ctypes.c_void_p),
    "size_t*": ctypes.POINTER(ctypes.c_size_t), "uint64_t*": ctypes.POINTER(ctypes.c_uint64),
    "int64_t*": ctypes.POINTER(ctypes.c_int64), "int32_t*": ctypes.POINTER(ctypes.c_int32),
    "deleter": _abi.DELETER, "function": ctypes.c_void_p, "qj_progress_callback": _abi.PROGRESS_CALLBACK,
}  # fmt: skip
STRUCTS = {
    "qj_text": _abi.Text, "qj_dldevice": _abi.DLDevice, "qj_dldatatype": _abi.DLDataType, "qj_dltensor": _abi.DLTensor,
    "qj_dlpack_version": _abi.DLPackVersion, "qj_dlmanaged_versioned": _abi.DLManagedVersioned,
    "qj_tensor_spec": _abi.TensorSpec, "qj_traits": _abi.Traits, "qj_shared_root": _abi.SharedRoot,
    "qj_service_options": _abi.ServiceOptions, "qj_operands": _abi.Operands,
    "qj_reference_target": _abi.ReferenceTarget, "qj_prewarm_progress": _abi.PrewarmProgress,
    "qj_prewarm_options": _abi.PrewarmOptions, "qj_source_value": _abi.SourceValue, "qj_source_key": _abi.SourceKey,
    "qj_source_entry": _abi.SourceEntry, "qj_source_file": _abi.SourceFile, "qj_source": _abi.Source,
    "qj_raw_launch": _abi.RawLaunch, "qj_object_reader": _abi.ObjectReader,
    "qj_object_operands": _abi.ObjectOperands,
}  # fmt: skip


def parameter(c_type):
    """What a parameter or result of that type is in the table."""
    if c_type in SCALARS:
        return SCALARS[c_type]
    if c_type.endswith("**"):
        return ctypes.POINTER(ctypes.c_void_p)
    assert c_type.startswith("qj_") and c_type.endswith("*"), f"a type that the test does not know: {c_type}"
    return ctypes.c_void_p


def member(c_type):
    array = re.fullmatch(r"(\w+)\[(\d+)\]", c_type)
    if array:
        return SCALARS[array.group(1)] * int(array.group(2))
    if c_type in SCALARS:
        return SCALARS[c_type]
    if c_type in STRUCTS:
        return STRUCTS[c_type]
    name = c_type.removesuffix("*")
    return ctypes.POINTER(STRUCTS[name]) if name in STRUCTS else ctypes.c_void_p


def test_every_function_of_the_header_is_in_the_table_and_none_else():
    declared = header.functions()
    assert len(declared) > 30
    assert set(_abi.PROTOTYPES) == set(declared)


@pytest.mark.parametrize("name", sorted(header.functions()))
def test_prototype_is_the_headers(name):
    result, arguments = header.functions()[name]
    wanted = (parameter(result), tuple(parameter(argument) for argument in arguments))
    assert _abi.PROTOTYPES[name] == wanted, f"{name}{tuple(arguments)} -> {result}"


def test_every_struct_of_the_header_is_known():
    assert set(header.structs()) == set(STRUCTS)


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_struct_is_the_headers(name):
    wanted = [(member_name, member(c_type)) for c_type, member_name in header.structs()[name]]
    assert STRUCTS[name]._fields_ == wanted


def test_constants_are_the_headers():
    wanted = {
        name: value
        for name, value in header.constants().items()
        if name.startswith(("QJ_DEVICE_", "QJ_CODE_", "QJ_FLAG_"))
    }
    assert len(wanted) == 11
    assert {name: getattr(_abi, name.removeprefix("QJ_")) for name in wanted} == wanted
    text = (header.INCLUDE / "qj_types.h").read_text()
    assert f"#define QJ_ABI_VERSION {_abi.ABI_VERSION}\n" in text


def test_every_status_has_its_error():
    statuses = {value: name for name, value in header.constants().items() if not name.startswith(("QJ_OP_",))}
    named = re.search(r"enum qj_status \{(.*?)\}", header.code("qj_types.h"), re.DOTALL).group(1)
    numbers = {int(value) for value in re.findall(r"=\s*(\d+)", named)}
    assert set(errors.BY_STATUS) == numbers - {0}
    assert len(statuses) > 10


def test_errors_are_also_what_python_calls_them():
    assert issubclass(errors.InvalidArgument, ValueError)
    assert issubclass(errors.SealedMiss, LookupError)
    assert issubclass(errors.UnsupportedError, NotImplementedError)
    assert issubclass(errors.OutOfMemory, MemoryError)
    assert issubclass(errors.LibraryError, ImportError)
    assert all(issubclass(kind, errors.QuantJitError) for kind in errors.BY_STATUS.values())


def test_an_error_carries_details_and_survives_broken_ones():
    details = '{"parameter": "x", "value": "3", "rule": "no"}'
    error = errors.from_status(1, "QJ_INVALID_ARGUMENT", "x is 3, but no", details)
    assert isinstance(error, errors.InvalidArgument)
    assert (error.parameter, error.value, error.rule, error.status) == ("x", "3", "no", "QJ_INVALID_ARGUMENT")
    assert str(error) == "x is 3, but no"
    assert str(errors.from_status(99, "unknown status", "", "not JSON")) == "unknown status"


def test_the_library_is_looked_for_where_the_variable_says_and_nowhere_else(monkeypatch):
    monkeypatch.setenv("QUANTJIT_LIBRARY", "/nonexistent/lib.so")
    assert _library.candidates() == ["/nonexistent/lib.so"]
    with pytest.raises(errors.LibraryError, match="QUANTJIT_LIBRARY"):
        _library._open()


def test_the_library_is_looked_for_beside_the_package_and_then_by_the_loader(monkeypatch, tmp_path):
    monkeypatch.delenv("QUANTJIT_LIBRARY", raising=False)
    assert _library.candidates()[-1] == "libquantjit.so.1"
    monkeypatch.setattr(_library, "__file__", str(tmp_path / "_library.py"))
    (tmp_path / "libquantjit.so.1").touch()
    assert _library.candidates() == [str(tmp_path / "libquantjit.so.1"), "libquantjit.so.1"]


def test_a_library_without_the_interface_is_refused(monkeypatch):
    monkeypatch.setenv("QUANTJIT_LIBRARY", "libm.so.6")
    with pytest.raises(errors.LibraryError, match="no libquantjit"):
        _library._open()
