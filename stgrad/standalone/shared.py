"""Derivatives as shared objects for C, with a header: no Python is needed to call one, and Numba and stgrad only to make it.

Numba compiles the program and all that it calls to one module of LLVM. All of it but one function is made private and what nobody calls is dropped, the ways in
from Python with it. What remains may ask for memory (`support.c`), for the C library, and for nothing else: that is checked by name, and so is that no address
of this process stands in the code. The system's C compiler links it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stgrad import errors
from stgrad.api import Argnums, parameter_names
from stgrad.request import Derivative, described, signature_of
from stgrad.runtime.shared import FILL
from stgrad.transformed import Transformed

if TYPE_CHECKING:
    from stgrad.cfunctions import Parameter

_PROGRAM = "stgrad_program"
_ADDRESS = re.compile(r"inttoptr \(i64 (\d{6,}) to ")
_FOREIGN = re.compile(r"numba_|stgrad_|Py|_Py|NRT_|scipy|mkl_|__svml_|omp_|GOMP_")


def build_shared(f: Callable[..., Any], arguments: Sequence[Any], argnums: Argnums, target: Path) -> tuple[Path, Path]:
    """Write a shared object and its header.

    Args:
        f: a function of numbers and arrays that returns one real number.
        arguments: examples of all arguments: their types count, not their values.
        argnums: what to differentiate in, as for `grad`; an empty tuple for the value alone.
        target: where the shared object goes; the header stands beside it.

    Returns:
        The paths of both. The function in them returns the value, NaN where f raises, and writes the gradients to buffers.

    Raises:
        UnsupportedCallerError: C cannot pass these arguments, the program calls what only Python has, or there is no C compiler.
    """
    import numba

    from stgrad.cfunctions import parameter_of, prototype

    names, wrt = list(signature_of(f).parameters), parameter_names(f, argnums)
    both = Transformed(Derivative(f, "value_and_grad" if wrt else "primal", wrt, single=False))
    if len(arguments) != len(names):
        raise errors.UnsupportedCallerError("a function for C has no defaults", hint=f"give an example of each argument: {', '.join(names)}")
    parameters = [parameter_of(name, numba.typeof(value)) for name, value in zip(names, arguments, strict=True)]
    value, name, code = _compiled(both, parameters, wrt)
    declared = prototype(both.__name__, value, parameters, wrt, False)
    inner = prototype(name, value, parameters, wrt, False).replace(f" {name}(", f" {name}({declared.split()[0]} *, void **, ").replace(", )", ")")
    header = target.with_suffix(".h")
    header.write_text(_header(both, header.stem, declared, wrt), encoding="utf-8")
    body = _wrapper(header.name, declared, "int32_t" + inner[inner.index(" ") :], name)
    _link(code, body, header.parent, target)
    return target, header


def _compiled(f: Transformed, parameters: Sequence[Parameter], wrt: Sequence[str]) -> tuple[Any, str, bytes]:
    """The type of the value, the name of the function in the object code, and that code."""
    import numba

    from stgrad import loader
    from stgrad.callable_type import example
    from stgrad.cfunctions import buffers_of, c_text

    program = f.dispatcher_for(tuple(example(p.type) for p in parameters), {}, typed=True)
    scope = {"compiled": program, "np": __import__("numpy"), "carray": numba.carray}
    exec(compile(c_text(_PROGRAM, parameters, wrt, guarded=False), f"<stgrad shared object of {f.__name__}>", "exec"), scope)  # noqa: S102
    outer = numba.njit(**loader.OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(scope[_PROGRAM])
    types = tuple(buffers_of(parameters, wrt))
    outer.compile(types)
    made = outer.overloads[types]
    value = made.signature.return_type
    if value not in (numba.types.float64, numba.types.float32):
        raise errors.UnsupportedCallerError(f"a C function returns a float, not {value}", hint="return one real number")
    return value, _PROGRAM, _object_code(made.library, made.fndesc.llvm_func_name)


def _object_code(library: Any, entry: str) -> bytes:
    """The code of a library for this processor, position independent, with one function to call from outside."""
    import llvmlite.binding as llvm

    module = llvm.parse_bitcode(library._final_module.as_bitcode())
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name != entry and not symbol.name.startswith("llvm."):
            symbol.linkage = "internal"
    function = module.get_function(entry)
    function.name, function.visibility = _PROGRAM, "hidden"
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, reloc="pic", codemodel="default"
    )
    dropping = llvm.create_new_module_pass_manager()
    dropping.add_global_dead_code_eliminate_pass()
    dropping.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    refuse_foreign(module)
    return bytes(machine.emit_object(module))


def _spelled(symbol: str) -> str:
    """What a symbol stands for, where it is one of ours that is compiled by itself."""
    shared = re.fullmatch(r"stgrad_shared_([a-z]+)_+(\w+)_[a-z]+\d+", symbol)
    return f"`{shared[1]}.{shared[2]}` of stgrad's runtime" if shared else symbol


def refuse_foreign(module: Any) -> None:
    """Refuse a module of LLVM that asks for more than `support.c` and the C library have, or holds an address of this process."""
    there = set(re.findall(r"\b(?:NRT_|Py|numba_|stgrad_)\w+", support()))
    asked = {s.name for s in (*module.functions, *module.global_variables) if s.is_declaration}
    foreign = sorted(name for name in asked - there if _FOREIGN.match(name) and name != FILL)
    if foreign or _ADDRESS.search(str(module)):
        listed = ", ".join(sorted(map(_spelled, foreign)))
        said = f"it calls {listed}, which Python brings along" if foreign else "it calls a function at an address of this process"
        raise errors.UnsupportedCallerError(
            "the program cannot leave Python", reason=said, hint="write that as loops over numbers, or make a module: `stgrad build` without --c"
        )


def support() -> str:
    """The part in C that stands in for Numba's runtime."""
    return resources.files("stgrad.standalone").joinpath("support.c").read_text(encoding="utf-8")


def _header(f: Transformed, name: str, declared: str, wrt: Sequence[str]) -> str:
    guard = re.sub(r"\W", "_", name).upper() + "_H"
    told = described(f.derivative) or f"{f.__name__}, compiled."
    gradients = f" The gradients are written to {', '.join(f'{w}_bar' for w in wrt)}." if wrt else ""
    return f"""/* {told} Written by stgrad, which it does not need.

   An array is a pointer to its first element, in C order, followed by its extents.{gradients}
   The result is the value; NaN where the function would raise. */

#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{declared}

#ifdef __cplusplus
}}
#endif

#endif
"""


def _wrapper(header: str, declared: str, inner: str, name: str) -> str:
    """The function that C calls: the program says by a number whether it raised."""
    value, arguments = declared.split()[0], [part.split()[-1].lstrip("*") for part in declared[declared.index("(") + 1 : -2].split(",")]
    return f"""#include "{header}"
{inner}

__attribute__((visibility("default"))) {declared[:-1]} {{
    {value} stgrad_value = NAN;
    void *stgrad_raised = 0;
    return {name}({", ".join(["&stgrad_value", "&stgrad_raised", *arguments])}) ? NAN : stgrad_value;
}}
"""


def _link(code: bytes, body: str, include: Path, target: Path) -> None:
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        raise errors.UnsupportedCallerError("there is no C compiler on this machine", reason="a shared object is linked by `cc`", hint="install gcc or clang")
    with tempfile.TemporaryDirectory() as folder:
        program, wrapper = Path(folder, "program.o"), Path(folder, "wrapper.c")
        program.write_bytes(code)
        wrapper.write_text(support() + body, encoding="utf-8")
        command = [compiler, "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{include.resolve()}", str(wrapper), str(program), "-lm", "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise errors.UnsupportedCallerError("the C compiler does not link the program", reason=done.stderr.strip()[-400:], hint="see what it says")
