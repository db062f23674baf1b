"""The order of the house: a module imports only from lower layers."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import stgrad
from stgrad.transforms import pipeline
from stgrad.transforms.registry import REGISTRY

ROOT = Path(stgrad.__file__).parent

LAYERS = [
    {"errors", "manual", "names", "line_costs", "progress", "checkpoints", "hooks", "cache", "contents", "implicit", "instances", "types", "renaming", "stubs"},
    {"rules", "budgets", "resolutions", "inner_code", "variable_lifetimes", "kept_stores", "decompiled"},
    {"ir", "lookups", "native", "generated", "stack_slots"},
    {"source", "printer", "runtime", "verify", "values"},
    {"loader", "registered", "shipping"},
    {"calls"},
    {"request", "mode_choices"},
    {"syntax", "guess"},
    {"frontend"},
    {"analysis"},
    {"transforms"},
    {"implicit_calls"},
    {"readings"},
    {"recursion"},
    {"heap", "lighter", "short_extents", "unit_readings"},
    {"peak"},
    {"program", "as_python", "memory", "straight"},
    {"assumed"},
    {"stage_texts", "nested"},
    {"program_units", "explain"},
    {"adapter", "callable_type", "points"},
    {"cfunctions", "prepared", "late_refusals"},
    {"programs"},
    {"transformed", "typed"},
    {"plain"},
    {"colouring", "jacobians", "mapping"},
    {"tangent_calls"},
    {"pushforwards"},
    {"api"},
    {"called", "compressed", "inside"},
    {"directional"},
    {"batches", "differentials", "minima", "sparse"},
    {"curves", "fits", "linear_fits", "scalar_minima", "taylor"},
    {"distributed"},
    {"eager", "testing", "command_request", "interop", "profiling", "standalone"},
    {"pytest_plugin"},
    {"cli"},
    {"__init__", "__main__"},
]
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


# Every module of the package, named from below it: `transforms.lower.fuse`.
MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def unit(module: str) -> str:
    """What a module belongs to: its entry in the table of layers."""
    return module.split(".")[0]


def imported(module: str, path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each module of the package that a module imports."""
    package = ["stgrad", *module.split(".")[: None if path.name == "__init__.py" and module != "__init__" else -1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            targets = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            head, _, rest = target.partition(".")
            if head == "stgrad":
                while rest and rest not in MODULES:
                    rest = rest.rpartition(".")[0]
                yield node.lineno, rest or "__init__"


@pytest.mark.parametrize(("module", "path"), MODULES.items(), ids=MODULES.keys())
def test_imports_only_from_lower_layers(module: str, path: Path) -> None:
    own = unit(module)
    assert own in LEVEL, f"{module}: give it a layer in this file"
    wrong = [
        f"{path}:{line} imports stgrad.{other}"
        for line, other in imported(module, path)
        if unit(other) != own and LEVEL[unit(other)] >= LEVEL[own]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ["runtime", "rules"])
def test_runs_by_itself(package: str) -> None:
    """What generated code calls, and the rules, know nothing of the compiler."""
    wrong = [
        f"{path}:{line} imports stgrad.{other}"
        for module, path in MODULES.items()
        if unit(module) == package
        for line, other in imported(module, path)
        if unit(other) not in (package, "errors")
    ]
    assert not wrong, "\n".join(wrong)


def test_the_eager_api_sees_the_compiler_only_through_its_api() -> None:
    wrong = [
        f"{path}:{line} imports stgrad.{other}"
        for module, path in MODULES.items()
        if unit(module) == "eager"
        for line, other in imported(module, path)
        if unit(other) in ("transforms", "analysis", "syntax", "printer", "loader")
    ]
    assert not wrong, "\n".join(wrong)


def _passes() -> dict[str, str]:
    """The module of each pass, by its name; `cleanup` is what passes that leave something to simplify are followed by, and no module of theirs."""
    found = {}
    for name, step in {**pipeline._bound(frozenset()), "reverse": pipeline.reverse, "forward": pipeline.forward}.items():
        function = step.func if isinstance(step, functools.partial) else step
        code = function.__code__
        if code.co_name == "<lambda>":
            (inner,) = {n for n in code.co_names if n != "simplify"}
            function = function.__globals__[inner]
        found[name] = function.__module__.removeprefix("stgrad.")
    return {name: module for name, module in found.items() if name != "cleanup"}


def test_every_pass_has_a_module_of_its_own() -> None:
    found = _passes()
    assert found.keys() >= {info.name for info in REGISTRY} - {"cleanup"}
    assert len(set(found.values())) == len(found)


def test_passes_do_not_import_each_other() -> None:
    modules = set(_passes().values())
    wrong = [
        f"{MODULES[module]}:{line} imports stgrad.{other}"
        for module in sorted(modules)
        for line, other in imported(module, MODULES[module])
        if other in modules - {module}
    ]
    assert not wrong, "\n".join(wrong)


def test_analyses_and_what_passes_share_import_no_pass() -> None:
    """What is not a pass itself, and stands under `transforms`, may be asked by any: only what composes passes imports them."""
    modules = set(_passes().values())
    composers = {"transforms.pipeline", "transforms.lower"}
    made_of = {  # derivatives that are made of others
        ("transforms.series", "transforms.forward"),  # the tangent program, with power series for tangents
        ("transforms.transpose", "transforms.reverse"),  # a linear program is transposed by its reversal
        ("transforms.reruns", "transforms.reverse"),  # a part of the reversal; the type alone
    }
    wrong = [
        f"{path}:{line} imports stgrad.{other}"
        for module, path in MODULES.items()
        if module.startswith(("transforms.", "analysis.")) and module not in modules | composers
        for line, other in imported(module, path)
        if other in modules and (module, other) not in made_of
    ]
    assert not wrong, "\n".join(wrong)


def test_finds_an_import_that_is_not_allowed(tmp_path: Path) -> None:
    """The test itself can fail."""
    bad = tmp_path / "core.py"
    bad.write_text("from .. import ir\nfrom stgrad.transforms.reverse import reverse\nimport stgrad.api\n")
    assert [other for _, other in imported("rules.core", bad)] == ["ir", "transforms.reverse", "api"]
