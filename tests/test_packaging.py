"""What is in the packages: tests, documentation and examples in the source one, pages for `stgrad help` in the wheel."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import stgrad

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(int(version("setuptools").split(".")[0]) < 77, reason="the packages are built by setuptools 77 and later")
BUILD = "import sys; from setuptools.build_meta import build_sdist, build_wheel; {}(sys.argv[1])"


def built(kind: str, source: Path, target: Path) -> Path:
    """A package of a source tree, by the build backend itself."""
    target.mkdir()
    subprocess.run([sys.executable, "-c", BUILD.format(kind), str(target)], cwd=source, check=True, capture_output=True)
    (found,) = target.iterdir()
    return found


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source package of this tree, unpacked."""
    folder = tmp_path_factory.mktemp("packages")
    copy = folder / "tree"
    left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "output")
    shutil.copytree(ROOT, copy, ignore=left_out)
    with tarfile.open(built("build_sdist", copy, folder / "sdist")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (found,) = (folder / "unpacked").iterdir()
    return found


def test_the_source_package_passes_some_of_its_tests(unpacked: Path) -> None:
    assert unpacked.name == f"stgrad-{stgrad.__version__}"
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    for folder in ("docs", "examples", "tests/rules", "tests/golden"):
        ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert {name for name in ours if "__pycache__" not in name and "output/" not in name} <= names
    assert {"CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "CHANGELOG.md", "LICENSE", "Makefile", "mkdocs.yml"} <= names
    sample = ["tests/test_errors.py", "tests/test_printer.py", "stgrad/names.py"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *sample], cwd=unpacked, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert re.search(r"\d\d+ passed", done.stdout)


def test_the_wheel_has_the_pages_of_help(unpacked: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built("build_wheel", unpacked, tmp_path / "wheel")) as archive:
        archive.extractall(tmp_path / "installed")
    names = {path.relative_to(tmp_path / "installed").as_posix() for path in (tmp_path / "installed").rglob("*")}
    assert {f"stgrad/docs/{page.relative_to(ROOT / 'docs').as_posix()}" for page in (ROOT / "docs").rglob("*.md")} <= names
    assert {"stgrad/py.typed", "stgrad/explain/template.html", "stgrad/standalone/support.c"} <= names
    assert not any(name.startswith(("tests", "docs", "benchmarks")) for name in names)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    line = [sys.executable, "-m", "stgrad", "help", "limits#indices"]
    shown = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("## Indices\n")


def test_the_citation_is_of_this_version() -> None:
    assert f"version: {stgrad.__version__}\n" in (ROOT / "CITATION.cff").read_text()


# Numba's API for users is `numba`, `numba.typed` and `numba.extending`. What else we use may change with each of its minor
# versions, for which the upper bound in pyproject.toml stands: before it is raised, look whether these still do what is said here.
INTERNALS = {
    "numba.core": (
        "ir: statements; analysis, postproc, transforms: where variables begin and end; ssa: names of variables; "
        "event: how long the stages of a compilation take; cgutils, types, lowering: writing native code"
    ),
    "numba.core.caching": "FunctionCache: native code on disk, in files of our own",
    "numba.core.codegen": (
        "JITCodeLibrary: what LLVM makes of a module, and when; JITCPUCodegen: the class of libraries, environments; "
        "RuntimeLinker: functions that call themselves"
    ),
    "numba.core.compiler": "CompilerBase, DefaultPassBuilder: Numba's own passes, two of them replaced, and _compile_core, which runs them",
    "numba.core.compiler_lock": "global_compiler_lock: one thread writes native code at a time",
    "numba.core.compiler_machinery": "register_pass: of the pass that is put in its place",
    "numba.core.dispatcher": (
        "Dispatcher: functions that the user has compiled, their overloads and options; "
        "_FunctionCompiler: flags of functions inside of a program"
    ),
    "numba.core.errors": "what a compilation raises, and how an overload asks for a literal",
    "numba.core.imputils": "impl_ret_borrowed: a result that somebody else owns",
    "numba.core.ir_utils": "build_definitions: which statements define a variable, once it has other names; alias_analysis_extensions: stores to keep",
    "numba.core.registry": "the target of compilations, whose linker learns addresses of C functions",
    "numba.core.serialize": "dumps: functions and code in the disk cache",
    "numba.core.typed_passes": "BaseNativeLowering, NativeLowering: the pass that is replaced",
    "numba.core.untyped_passes": "ReconstructSSA: the pass that is replaced",
    "numba.core.typing": "signature: of an intrinsic",
    "numba.core.typing.npydecl": "parse_dtype: the dtype that an argument stands for",
    "numba.cpython.unsafe.tuple": "tuple_setitem: an index of as many numbers as an array has axes",
    "numba.np.arrayobj": "how an array is laid out and made",
    "numba.np.linalg": "the kind of a number for BLAS and LAPACK, and constants for their arguments",
    "numba.np.random.distributions": "the ziggurats of generators",
    "numba.np.random.generator_core": "what native code draws words by",
    "numba.np.random.random_methods": "integers of generators",
    "numba.np.numpy_support": "dtypes as Numba's types, and back",
}


def test_which_internals_of_numba_are_used() -> None:
    found = set()
    for path in (ROOT / "stgrad").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba"):
                found.add(node.module)
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if alias.name.startswith("numba.")}
    assert found - {"numba", "numba.extending", "numba.typed"} == INTERNALS.keys()
    bound = re.search(r'"numba>=[\d.]+,<([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert bound is not None
    assert tuple(map(int, version("numba").split(".")[:2])) < tuple(map(int, bound[1].split(".")))
