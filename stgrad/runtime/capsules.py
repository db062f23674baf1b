"""Addresses of the C functions that SciPy exports to Cython, for calls from compiled code.

>>> import scipy.special.cython_special as exported
>>> from stgrad.runtime.capsules import entry
>>> form, address = entry(exported.__pyx_capi__["gammaln"])
>>> form.startswith("double"), address > 0
(True, True)
"""

from __future__ import annotations

import ctypes


def entry(capsule: object) -> tuple[str, int]:
    """The form of a C function, as C writes its type, and its address.

    A capsule keeps the type of what it points to as its name (https://docs.python.org/3/c-api/capsule.html).
    """
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    form: bytes = api.PyCapsule_GetName(capsule)
    return form.decode(), api.PyCapsule_GetPointer(capsule, form)


__all__ = ["entry"]
