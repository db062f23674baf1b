"""Arrays in lists, tuples, dicts and objects outside the function are parameters, as arrays outside it are."""

import subprocess
import sys
import types
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

W, B = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7], [0.2, 0.4, 0.6]]), np.array([0.1, -0.2, 0.3])
Pair = namedtuple("Pair", ["w", "b"])


@dataclass
class Layer:
    w: Any
    b: Any


PAIR, LAYERS, TUPLES = Pair(W, B), [Layer(W, B), Layer(W.T.copy(), -B)], [(W, B), (W.T.copy(), -B)]
NESTED = {"layers": [{"w": W, "scale": 1.5}], "steps": [np.sin, lambda t: t * t], "name": "l2"}


class Model:
    def __init__(self):
        self.weights, self.table = [W, W + 1.0], {"b": B}

    def loss(self, x):
        for w in self.weights:
            x = np.tanh(w @ x)
        return np.sum(x * self.table["b"])


MODEL = Model()


def of_a_list(x):
    s = 0.0
    for q, (w, b) in zip([x, x * x], TUPLES):
        s = s + np.sum(np.tanh(w @ q + b))
    return s


def of_a_namedtuple(x):
    return np.sum(np.tanh(PAIR.w @ x + PAIR.b))


def of_instances(x):
    for layer in LAYERS:
        x = np.tanh(layer.w @ x + layer.b)
    return np.sum(x)


def of_a_nested_dict(x):
    y = np.sum((NESTED["layers"][0]["w"] @ x) ** 2 * NESTED["layers"][0]["scale"])
    return y + sum(np.sum(step(x)) for step in NESTED["steps"]) + len(NESTED["name"])


def helper(x, pair=(W, B), *, more={"b": B}):  # noqa: B006
    return np.sum(pair[0] @ x * more["b"]) + np.sum(x**2 * pair[1])


def of_defaults(x):
    return helper(x) * helper(x)


def of_a_gradient_inside(x):
    return np.sum(stgrad.grad(lambda t: np.sum(np.sin(TUPLES[0][0] @ t)))(x) ** 2)


def stacked(x):
    return np.sum(np.stack([w for w, _ in TUPLES]) @ x)


PROGRAMS = [of_a_list, of_a_namedtuple, of_instances, of_a_nested_dict, of_defaults, of_a_gradient_inside, stacked, MODEL.loss]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(function):
    x = np.array([0.3, -0.5, 0.8])
    assert np.isclose(stgrad.value_and_grad(function, jit=False)(x)[0], function(x))
    check_gradient(function, [x])


def test_second_order():
    x, step = np.array([0.3, -0.5, 0.8]), 1e-6
    g = stgrad.grad(of_a_list, jit=False)
    differences = [(g(x + step * e) - g(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(stgrad.hessian(of_a_list, jit=False)(x), differences, rtol=1e-6, atol=1e-8)


def changed_in_every_way():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    ws = [a, b]

    def f(x):
        s = 0.0
        for w in ws:
            s = s + np.sum(w * x * x)
        return s

    def set_first(value):
        ws[0] = value

    changes = [
        lambda: set_first(np.array([5.0, 6.0])),
        lambda: set_first(np.array([2.0])),
        lambda: set_first(7.0),
        lambda: set_first(np.array([1.0, 2.0], np.float32)),
        lambda: ws.append(np.array([1.0, -1.0])),
        lambda: ws.reverse(),
        lambda: set_first(ws[1]),
        lambda: ws.__delitem__(1),
        lambda: ws[0].__setitem__(0, 9.0),
        lambda: ws.__setitem__(slice(None), [b]),
        lambda: ws.clear(),
    ]
    return f, changes


@pytest.mark.parametrize("jit", [False, True])
def test_changes_between_calls_are_seen(jit):
    f, changes = changed_in_every_way()
    g, x = stgrad.value_and_grad(f, jit=jit), np.array([0.5, -1.5])
    for change in [lambda: None, *(changes if not jit else changes[:1] + changes[4:9])]:
        change()
        value, gradient = g(x)
        assert value == f(x)
        np.testing.assert_allclose(gradient, (f(x + 1j * np.array([1e-20, 0])).imag * 1e20, f(x + 1j * np.array([0, 1e-20])).imag * 1e20))


SETTINGS = types.ModuleType("settings_of_a_test")
SETTINGS.weights, SETTINGS.scale = [np.array([1.0, 2.0])], 2.0  # type: ignore[attr-defined]


class Options:
    rate = 3.0


def test_attributes_of_modules_and_classes_may_change():
    def f(x):
        return np.sum(SETTINGS.weights[0] * x) * SETTINGS.scale * Options.rate

    g, x = stgrad.grad(f, jit=False), np.ones(2)
    assert g(x).tolist() == [6.0, 12.0]
    SETTINGS.scale = 1.0  # type: ignore[attr-defined]
    assert g(x).tolist() == [3.0, 6.0]
    SETTINGS.weights[0] = np.array([5.0, 5.0])
    assert g(x).tolist() == [15.0, 15.0]
    Options.rate = 1.0
    assert g(x).tolist() == [5.0, 5.0]


def test_deques_and_dicts_with_defaults():
    queue, table = deque([np.array([1.0, 2.0])]), defaultdict(list, a=[np.array([3.0, 4.0])])

    def f(x):
        return sum(np.sum(w * x) for w in queue) + sum(np.sum(w * x) for w in table["a"])

    g, x = stgrad.grad(f, jit=False), np.ones(2)
    assert g(x).tolist() == [4.0, 6.0]
    queue.append(np.ones(2))
    table["a"].append(np.ones(2))
    assert g(x).tolist() == [6.0, 8.0]


def test_arrays_without_numbers():
    labels, objects = [np.array(["a", "b"]), np.ones(2)], np.array([np.ones(2), np.ones(3)], dtype=object)

    def of_labels(x):
        return np.sum(labels[1] * x) * (2.0 if labels[0][0] == "a" else 3.0)

    g = stgrad.grad(of_labels, jit=False)
    assert g(np.ones(2)).tolist() == [2.0, 2.0]
    labels[0][0] = "c"
    assert g(np.ones(2)).tolist() == [3.0, 3.0]
    with pytest.raises(errors.NotDifferentiableError, match="`objects` is an array of object"):
        stgrad.grad(lambda x: np.sum(objects[0] * x), jit=False)(np.ones(2))


def test_containers_from_outside_are_not_changed():
    ws = [np.ones(2)]

    def appends(x):
        ws.append(x)
        return np.sum(x)

    def sets(x):
        ws[0] = x
        return np.sum(x)

    for function in (appends, sets):
        with pytest.raises(errors.AliasingError, match="changes `ws`, a list from outside"):
            stgrad.grad(function, jit=False)(np.ones(2))
    assert len(ws) == 1


def test_one_array_in_two_places_is_one_parameter():
    first = [B, {"again": B}]

    def twice(x):
        return np.sum(first[0] * x) + np.sum(first[1]["again"] * x * x) + np.sum(B * x)

    text = stgrad.grad(twice, jit=False).lowered(np.ones(3))
    assert len(text[text.index("(") : text.index(")")].split(",")) == 2, text


def test_what_is_not_read_is_no_parameter():
    data = [np.ones(3) for _ in range(50)]

    def first_of_many(x):
        return np.sum(x * data[0]) * len(data)

    text = stgrad.grad(first_of_many, jit=False).lowered(np.ones(3))
    assert text[text.index("(") : text.index(")")].count("data") == 1, text


def test_compiled_callers():
    x = np.array([0.3, -0.5, 0.8])
    np.testing.assert_allclose(stgrad.jit(of_a_list)(x), of_a_list(x))
    np.testing.assert_allclose(stgrad.grad(of_a_list).dispatcher(x)(x), stgrad.grad(of_a_list, jit=False)(x))


PROGRAM = """
import numpy as np, stgrad, sys
from stgrad import assumed
ws = {"first": [np.array([1.0, 2.0]), 3.0], "second": np.array([4.0, 5.0])}
if sys.argv[1] == "other":
    ws["first"][1] = 4.0
def f(x):
    return np.sum(ws["first"][0] * x * x) * ws["first"][1] + np.sum(ws["second"] * x)
if sys.argv[1] == "again":
    def compile_program(*args, **kwargs): raise SystemExit("compiled again")
    assumed.compile_program = compile_program
print(stgrad.grad(f, jit=False)(np.array([1.0, 1.0])).tolist())
"""


def test_another_process_finds_the_program(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)

    def run(how):
        environment = {**__import__("os").environ, "STGRAD_CACHE_DIR": str(tmp_path), "STGRAD_PROGRAM_CACHE": "1", "STGRAD_CHECK": "0"}
        done = subprocess.run([sys.executable, str(script), how], env=environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() or done.stderr

    assert run("first") == run("again") == "[10.0, 17.0]"
    assert run("other") == "[12.0, 21.0]"
