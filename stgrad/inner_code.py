"""The functions that a program calls, without machine code that nobody runs.

Numba compiles each implementation of an operation as if somebody would call it from outside: it optimises it in full, vectorises its loops, makes a wrapper
for callers in C and machine code. Then it links it into what calls it, where all of this is done again; of the time that Numba took for a program with a
few array operations, this was more than half. Here a function inside a program is simplified alone, so that what it is linked into stays small. The whole
of the program is optimised, and gets machine code, once.

A function that Python can call (compiled functions of users, our own that are kept on disk) gets its code as ever.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba.core import cgutils, dispatcher
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker

_libraries: weakref.WeakValueDictionary[str, InnerLibrary] = weakref.WeakValueDictionary()  # by the names of their functions
_READS_ENVIRONMENT = re.compile(r'^ .*@"?[^ ,]*NumbaEnv', re.MULTILINE)


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library that gets machine code where the address of one of its functions is asked for."""

    _emitted = False
    _reads_environment = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Take the text in; what a function keeps in its environment (constants that are objects of Python) needs an address."""
        self._raise_if_finalized()
        text = cgutils.normalize_ir_text(str(ir_module))
        self._reads_environment |= _READS_ENVIRONMENT.search(text) is not None
        module = binding.parse_assembly(text)
        module.name = ir_module.name
        module.verify()
        module.data_layout = self._codegen._data_layout
        self._final_module.link_in(module)

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function; 0 where the library does not define it."""
        self._ensure_finalized()
        if not self._emitted and (self._reads_environment or self._defines(name)):
            self._emit()
        return int(super().get_pointer_to_function(name))

    def serialize_using_object_code(self) -> Any:
        """What a cache on disk keeps."""
        self._ensure_finalized()
        self._emit()
        return super().serialize_using_object_code()

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        if self._disable_inspection:  # it was kept on disk, with its machine code
            self._emitted = True
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True
        defined = {f.name for f in self._final_module.functions if not f.is_declaration}
        _libraries.update(dict.fromkeys(defined, self))
        called = [v.name.removeprefix(RuntimeLinker.PREFIX) for v in self._final_module.global_variables if v.name.startswith(RuntimeLinker.PREFIX)]
        if called or defined & self._codegen._rtlinker._unresolved.keys():  # functions that call themselves do so by an address
            self._emit()
        for name in called:
            if name in _libraries:
                _libraries[name]._emit()

    def _defines(self, name: str) -> bool:
        try:
            return not self._final_module.get_function(name).is_declaration
        except NameError:
            return False

    def _emit(self) -> None:
        if not self._emitted:
            self._emitted = True
            super()._optimize_final_module()
            super()._finalize_final_module()


@contextmanager
def simplified() -> Iterator[None]:
    """Compile functions on the way so, until the outermost program is compiled."""
    if JITCPUCodegen._library_class is InnerLibrary:
        yield
        return
    compilers: Any = vars(dispatcher)["_FunctionCompiler"]
    flags_of, set_env = compilers._customize_flags, JITCPUCodegen.set_env

    def without_wrappers(self: Any, flags: Any) -> Any:
        flags = flags_of(self, flags)
        if flags.no_cpython_wrapper:
            flags.no_cfunc_wrapper = True
        return flags

    def set_where_emitted(self: Any, env_name: str, env: Any) -> None:
        if self._engine.is_symbol_defined(env_name):
            set_env(self, env_name, env)

    with _put(JITCPUCodegen, _library_class=InnerLibrary, set_env=set_where_emitted), _put(compilers, _customize_flags=without_wrappers):
        yield


@contextmanager
def _put(owner: Any, **members: Any) -> Iterator[None]:
    """Members of a class that are others for a while."""
    before = {name: getattr(owner, name) for name in members}
    for name, value in members.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
