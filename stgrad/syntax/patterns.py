"""`match` -> `if` and `elif`: each pattern as a test of the subject, its captures as assignments in the test."""

from __future__ import annotations

from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.names import Names
from stgrad.syntax.build import assign, at, constant, load


def match_to_if(node: Any, names: Names) -> list[Any]:
    """The statements that a `match` stands for.

    match point:                     _m = point
        case (0.0, y): return y  ->  if isinstance(_m, (tuple, list)) and len(_m) == 2 and _m[0] == 0.0 and ((y := _m[1]), True)[1]: return y
        case _: return 1.0           else: return 1.0
    """
    subject = names.fresh("_m")
    rest: list[Any] = []
    for case in reversed(node.cases):
        tests = [*_tests(case.pattern, load(subject)), *([case.guard] if case.guard is not None else [])]
        rest = [at(node, gast.If(_all(tests), case.body, rest))] if tests else case.body
    return [assign(node, subject, node.subject), *rest]


def _all(tests: list[Any]) -> Any:
    return tests[0] if len(tests) == 1 else gast.BoolOp(gast.And(), tests)


def _tests(pattern: Any, subject: Any) -> list[Any]:
    """The tests that a pattern makes, in order; none where it always matches."""
    match pattern:
        case gast.MatchValue():
            return [gast.Compare(subject, [gast.Eq()], [pattern.value])]
        case gast.MatchSingleton():
            return [gast.Compare(subject, [gast.Is()], [constant(pattern.value)])]
        case gast.MatchOr():
            choices = [_tests(p, subject) for p in pattern.patterns]
            return [gast.BoolOp(gast.Or(), [_all(tests) for tests in choices])] if all(choices) else []
        case gast.MatchAs():
            inner = [] if pattern.pattern is None else _tests(pattern.pattern, subject)
            return inner if pattern.name is None else [*inner, _capture(pattern.name, subject)]
        case gast.MatchSequence():
            return _sequence(pattern, subject)
        case gast.MatchMapping():
            return _mapping(pattern, subject)
    return _instance(pattern, subject)


def _sequence(pattern: Any, subject: Any) -> list[Any]:
    star = next((i for i, p in enumerate(pattern.patterns) if isinstance(p, gast.MatchStar)), None)
    count = len(pattern.patterns)
    kinds = gast.Tuple([load("tuple"), load("list")], gast.Load())
    length = gast.Compare(_call("len", subject), [gast.Eq() if star is None else gast.GtE()], [constant(count if star is None else count - 1)])
    tests = [_call("isinstance", subject, kinds), length]
    for i, inner in enumerate(pattern.patterns):
        if star is not None and i == star:
            end = i + 1 - count
            part = gast.Slice(constant(i), constant(end) if end else None, None)
            tests += [_capture(inner.name, _item(subject, part))] if inner.name is not None else []
        else:
            tests += _tests(inner, _item(subject, constant(i if star is None or i < star else i - count)))
    return tests


def _mapping(pattern: Any, subject: Any) -> list[Any]:
    tests = [_call("isinstance", subject, load("dict"))]
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        tests += [gast.Compare(key, [gast.In()], [subject]), *_tests(inner, _item(subject, key))]
    return tests if pattern.rest is None else [*tests, _capture(pattern.rest, _others(subject, pattern.keys))]


def _others(subject: Any, keys: list[Any]) -> Any:
    """`{_k: _v for _k, _v in subject.items() if _k not in (keys)}`."""
    entry = gast.Tuple([gast.Name(name, gast.Store(), None, None) for name in ("_k", "_v")], gast.Store())
    left_out = gast.Compare(load("_k"), [gast.NotIn()], [gast.Tuple(list(keys), gast.Load())])
    items = gast.Call(gast.Attribute(subject, "items", gast.Load()), [], [])
    return gast.DictComp(load("_k"), load("_v"), [gast.comprehension(entry, items, [left_out], 0)])


_THEMSELVES = {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}  # `case float(x)`: x is the subject


def _instance(pattern: Any, subject: Any) -> list[Any]:
    tests = [_call("isinstance", subject, pattern.cls)]
    whole = isinstance(pattern.cls, gast.Name) and pattern.cls.id in _THEMSELVES
    for i, inner in enumerate(pattern.patterns or ()):
        name = _item(gast.Attribute(pattern.cls, "__match_args__", gast.Load()), constant(i))
        tests += _tests(inner, subject if whole else _call("getattr", subject, name))
    for name, inner in zip(pattern.kwd_attrs or (), pattern.kwd_patterns or (), strict=True):
        tests += _tests(inner, gast.Attribute(subject, name, gast.Load()))
    return tests


def _capture(name: str, value: Any) -> Any:
    """An assignment as a test that always holds."""
    binding = gast.NamedExpr(gast.Name(name, gast.Store(), None, None), value)
    return _item(gast.Tuple([binding, constant(True)], gast.Load()), constant(1))


def _call(function: str, *args: Any) -> Any:
    return gast.Call(load(function), list(args), [])


def _item(owner: Any, index: Any) -> Any:
    return gast.Subscript(owner, index, gast.Load())
