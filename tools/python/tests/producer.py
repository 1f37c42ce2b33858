# SPDX-License-Identifier: Apache-2.0
"""A producer of DLPack capsules made with ctypes, which counts how often it is asked to let go."""

import ctypes

from quantjit import _abi
from quantjit._dlpack import make_tensor, view_of

_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Producer:
    """Gives out a NumPy array, or whatever a qj_dltensor says.

    Attributes:
        deleted: how many of the capsules that were given out were let go.
        asked: the arguments of each call of `__dlpack__`.
    """

    def __init__(self, array=None, *, tensor=None, versioned=True, version=(1, 0), flags=0, copies=False, device=None):
        self.array = array
        self.tensor = tensor or view_of(array, "array").tensor
        self.versioned, self.version, self.flags, self.copies = versioned, version, flags, copies
        self.device = device or (self.tensor.device.device_type, self.tensor.device.device_id)
        self.deleted = 0
        self.asked = []
        self._kept = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **arguments):
        self.asked.append(arguments)
        if not self.versioned and "max_version" in arguments:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        if self.copies and arguments.get("copy") is False:
            raise BufferError("this needs a copy")
        deleter = _abi.DELETER(self._delete)
        if self.versioned:
            managed = _abi.DLManagedVersioned(
                version=_abi.DLPackVersion(*self.version), deleter=deleter, flags=self.flags, dl_tensor=self.tensor
            )
        else:
            managed = _abi.DLManagedTensor(dl_tensor=self.tensor, deleter=deleter)
        name = ctypes.c_char_p(b"dltensor_versioned" if self.versioned else b"dltensor")
        self._kept.append((managed, deleter, name, self.tensor))
        return _new_capsule(ctypes.addressof(managed), name, None)

    def _delete(self, managed):
        assert managed in [ctypes.addressof(kept[0]) for kept in self._kept], "of another producer"
        self.deleted += 1


def raw_tensor(address, code, shape, strides=None, device=(1, 0), lanes=1):
    """A qj_dltensor with these members; strides None is null."""
    tensor = make_tensor(address, code, shape, strides or [1] * len(shape), device)
    tensor.dtype.lanes = lanes
    if strides is None:
        tensor.strides = ctypes.POINTER(ctypes.c_int64)()
    return tensor
