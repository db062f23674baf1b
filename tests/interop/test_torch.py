"""Functions of NumPy on PyTorch's tensors."""

import math

import numpy as np
import pytest

from stgrad.errors import NotDifferentiableError

torch = pytest.importorskip("torch")

from stgrad.interop.torch import Module, function  # noqa: E402


def network(p, x, n, sizes):
    h = np.tanh(p["w"] @ x + p["b"]) * sizes["k"]
    return np.sum(h**n), [h * 2.0, sizes["k"]]


def test_first_and_second_derivatives_are_those_of_differences() -> None:
    torch.manual_seed(0)
    w, b, x = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 2), (3,), (2,)))
    f = function(network)

    def call(w, b, x):
        value, (h, k) = f({"w": w, "b": b}, x, 3, {"k": 2})
        assert k == 2
        return value, h

    assert torch.autograd.gradcheck(call, (w, b, x))
    assert torch.autograd.gradgradcheck(call, (w, b, x))


def test_numbers_go_to_any_order() -> None:
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = function(lambda t: math.sin(t) * t)(x)
    for expected in (math.sin(0.5) + 0.5 * math.cos(0.5), 2 * math.cos(0.5) - 0.5 * math.sin(0.5), -3 * math.sin(0.5) - 0.5 * math.cos(0.5)):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_single_precision_stays() -> None:
    x = torch.ones(3, requires_grad=True)
    y = function(lambda x: np.sum(x**2))(x)
    y.backward()
    assert (y.dtype, x.grad.dtype) == (torch.float32, torch.float32)
    assert not function(np.sin)(x.detach()).requires_grad
    assert function(lambda x: x * 2.0)(1.5).item() == 3.0


def test_a_module_learns() -> None:
    line = Module(lambda p, x, y: np.mean((p["slope"] * x + p["start"][0] - y) ** p["power"]), {"slope": 0.0, "start": [np.zeros(1)], "power": 2})
    assert sorted(name for name, _ in line.named_parameters()) == ["slope", "start_0"]
    x = torch.linspace(0.0, 1.0, 20, dtype=torch.float64)
    optimiser = torch.optim.LBFGS(line.parameters(), max_iter=50)

    def closure():
        optimiser.zero_grad()
        loss = line(x, 3.0 * x + 1.0)
        loss.backward()
        return loss

    optimiser.step(closure)
    assert line.slope.item() == pytest.approx(3.0, abs=1e-4)
    assert line.start_0.item() == pytest.approx(1.0, abs=1e-4)


def test_what_numpy_does_not_take_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match="no numbers of the kind torch.bfloat16"):
        function(np.sin)(torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(NotDifferentiableError, match="on the device meta"):
        function(np.sin)(torch.ones(2, device="meta"))
