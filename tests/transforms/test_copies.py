"""Programs of copies: what binds a name between a value and its copy, on whatever path, is seen."""

import random

import numpy as np
import pytest

import stgrad


def smallest(x, y):
    y[:] = y[:]
    a = y[1] if -0.6 < y[0] < 0.8 else x
    for e in y:
        a = np.min(np.where(y > 0.0, y * 2.0, y))
    return a + e**2


class Writer:
    """Draws programs over a few numbers: copies, choices and sums, many names read once, bound anew in branches and loops that depend on the arguments."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = ["x", "y"]

    def value(self) -> str:
        a, b = self.names[-1], self.rng.choice(self.names)
        chosen = [f"{a} if {self.test()} else {b}", f"{b} if {self.test()} else {a}"] * 2
        return self.rng.choice([*[a] * 3, f"{a} * {b} * 0.5", f"0.5 * {a} ** 2", f"{b} - 0.25 * {a}", *chosen, f"{a} * 1.0"])

    def test(self) -> str:
        return f"{self.rng.choice('xy')} {self.rng.choice('<>')} {self.rng.choice([-0.5, 0.0, 0.5])}"

    def anew(self, indent: str) -> list[str]:
        """The last name bound once more, where a test or a loop decides."""
        where = self.rng.choice([f"if {self.test()}:", f"if not {self.test()}:", "for _ in range(2):"])
        value = self.rng.choice(["0.3", self.rng.choice(self.names), f"0.5 * {self.names[-1]}"])
        return [f"{indent}{where}", f"{indent}    {self.names[-1]} = {value}"]

    def block(self, depth: int, indent: str) -> list[str]:
        out, outside = [], len(self.names)
        for _ in range(self.rng.randint(2, 5)):
            value = self.value()
            self.names.append(f"v{self.rng.randrange(10**6)}")
            out.append(f"{indent}{self.names[-1]} = {value}")
            if self.rng.random() < 0.5:
                out += self.anew(indent)
        if depth:
            held, self.names = self.names, [*self.names[:2], self.names[-1]]
            out += [f"{indent}if {self.test()}:", *self.block(depth - 1, indent + "    ")]
            self.names = held
        if indent != "    ":
            out.append(f"{indent}{self.names[2]} = {self.names[-1]}")
            del self.names[outside:]
        return out

    def text(self) -> str:
        body = self.block(2, "    ")
        return "\n".join(["def f(x, y):", *body, f"    return {self.names[-1]} ** 2", ""])


def checked(f, x, y, gradient, *, array=False):
    """Whether a gradient is that of two-sided differences, where those of two widths agree: programs have kinks."""
    for k, g in enumerate(np.concatenate([np.atleast_1d(v) for v in gradient])):
        slopes = []
        for h in (1e-5, 1e-6):
            ends = []
            for step in (h, -h):
                moved = np.concatenate([np.atleast_1d(x), np.atleast_1d(y)]).astype(float)
                moved[k] += step
                ends.append(f(moved[0], moved[1:] if array else moved[1]))
            slopes.append((ends[0] - ends[1]) / (2 * h))
        if abs(slopes[0] - slopes[1]) < 1e-4 * (1.0 + abs(slopes[0])):
            assert g == pytest.approx(slopes[1], rel=1e-3, abs=1e-4), (k, slopes)


@pytest.mark.parametrize("jit", [False, True])
def test_a_path_that_binds_the_copy_anew(jit):
    y = np.array([-0.26485003, -0.76387467, -0.43656505])
    value, gradient = stgrad.value_and_grad(smallest, (0, 1), jit=jit)(0.4, y)
    assert value == pytest.approx(smallest(0.4, y.copy()))
    checked(smallest, 0.4, y, gradient, array=True)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_generated_programs(tmp_path, start):
    for seed in range(start, start + 50):
        text = Writer(seed).text()
        path = tmp_path / f"copies_{seed}.py"
        path.write_text(text)
        names = {"np": np}
        exec(compile(text, str(path), "exec"), names)
        x, y = 0.7, -0.4
        try:
            value, gradient = stgrad.value_and_grad(names["f"], (0, 1), jit=False)(x, y)
            assert value == pytest.approx(names["f"](x, y))
            checked(names["f"], x, y, gradient)
        except AssertionError as problem:
            raise AssertionError(text) from problem
