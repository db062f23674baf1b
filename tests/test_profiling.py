"""`stgrad.profile`: the time of a gradient by the user's lines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad
from stgrad.errors import NotDifferentiableError
from stgrad.profiling.packing import packed
from stgrad.profiling.regions import cut


def steps(x, n):
    y = x
    for _ in range(n):
        y = y - 0.1 * math.sin(y) * math.exp(-y)
    small = 3.0 * x
    return y * small


def elementwise(x, w):
    y = np.tanh(x * x)
    return np.sum(y * w)


def test_the_hot_line_has_the_time() -> None:
    found = stgrad.profile(stgrad.grad(steps), 1.0, 20_000)
    lines = {line.text.strip(): line for line in found.lines}
    hot = lines["y = y - 0.1 * math.sin(y) * math.exp(-y)"]
    assert hot.line == steps.__code__.co_firstlineno + 3
    assert hot.seconds > 0.5 * found.seconds
    assert hot.forward > 0.05 * found.seconds
    assert hot.backward > 0.05 * found.seconds
    assert hot.vectorised == "no"
    assert sum(line.stored or 0 for line in found.lines) == 8 * 20_000 * len(stgrad.grad(steps).memory(1.0, 20_000).kept) > 0
    assert sum(line.seconds for line in found.lines) == pytest.approx(found.seconds, rel=0.02)
    assert 0.0 < found.resolution < 1e-6
    text = str(found).splitlines()
    assert text[0].startswith("steps_grad: ")
    assert text[1].split() == ["line", "share", "forward", "back", "stored", "vectorised"]
    assert any(" kB " in row for row in text)


def test_what_is_packed_is_said_to_be() -> None:
    x = np.linspace(0.0, 1.0, 5000)
    found = stgrad.profile(stgrad.grad(elementwise), x, x)
    assert {line.vectorised for line in found.lines if line.seconds > 0.3 * found.seconds} == {"yes"}
    np.testing.assert_array_equal(x, np.linspace(0.0, 1.0, 5000))


def test_takes_functions_of_stgrad_alone() -> None:
    with pytest.raises(NotDifferentiableError, match="takes what grad or jit returned"):
        stgrad.profile(steps, 1.0, 2)


TEXT = """
import math
def f(x, n):
    y = x
    for i in range(n):
        for j in range(3):
            y = y * 2.0
        y = y + math.exp(y)
    return y / 3.0
"""


def test_a_loop_is_one_region_until_it_is_opened() -> None:
    closed, opened = cut(TEXT, "f", frozenset()), cut(TEXT, "f", frozenset([5]))
    assert [type(region.nodes[0]).__name__ for region in closed.regions] == ["Assign", "For", "Assign"]
    assert closed.regions[1].can_open
    assert closed.regions[1].loops == 1
    assert closed.regions[1].costs == ((7, 100.0 * 1.5), (8, 10.0 * 16.5))
    assert "_trips[1] += len(range(n))" in closed.text
    assert [region.nodes[0].lineno for region in opened.regions] == [4, 6, 8, 9]
    assert not opened.regions[1].can_open
    scope: dict = {}
    text = opened.text.replace("from stgrad.runtime import clock", "class clock:\n    now = staticmethod(lambda mark: 0)")
    exec(text, scope)
    runs = np.zeros(5, int)
    assert scope["f"](-50.0, 2, np.zeros(5, int), runs, np.zeros(5, int)) == scope["f"](-50.0, 2, np.zeros(5, int), runs, np.zeros(5, int))
    assert list(runs) == [2, 4, 4, 2, 0]


LLVM = """
define i32 @f() {
entry:
  call void asm sideeffect "", "i,~{memory}"(i64 0)
  br label %loop
loop:
  %x = fadd <4 x double> %a, %b
  br i1 %c, label %loop, label %rest
rest:
  %y = fadd double %a, %b
  br i1 %c, label %rest, label %done
done:
  call void asm sideeffect "", "i,~{memory}"(i64 1)
  call void asm sideeffect "", "i,~{memory}"(i64 2)
  br label %single
single:
  %z = fmul double %a, %b
  br i1 %c, label %single, label %out
out:
  call void asm sideeffect "", "i,~{memory}"(i64 3)
  %v = fadd <2 x double> %a, %b
  call void asm sideeffect "", "i,~{memory}"(i64 4)
  call void asm sideeffect "", "i,~{memory}"(i64 5)
  ret i32 0
}
"""


def test_vectors_count_where_something_repeats() -> None:
    assert packed(LLVM, 4) == ["yes", "no", "unknown", "unknown"]
