"""Signs of life: the log, a line for whoever waits, and loops that leave native code."""

from __future__ import annotations

import contextlib
import io
import logging
import time
import warnings

import numpy as np
import pytest

import stgrad
from stgrad import progress
from stgrad.analysis import leaving
from stgrad.errors import NativeCodeWarning


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def generated(name: str, patience: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal is told while a program is generated."""

    def loss(x):
        return np.sum(np.sin(x) ** 2)

    loss.__name__ = name
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with contextlib.redirect_stderr(Terminal()) as stream:
        stgrad.grad(loss, jit=False).lowered(np.ones(3))
    return stream.getvalue()


def test_a_terminal_is_told_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    told = generated("slow", 0.0, monkeypatch)
    assert told.startswith("stgrad: slow_grad: generating its program")
    assert told.count("\n") == 1


def test_quiet_and_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    assert generated("quick", 60.0, monkeypatch) == ""
    monkeypatch.setenv("STGRAD_QUIET", "1")
    assert generated("quiet", 0.0, monkeypatch) == ""


def test_what_is_no_terminal_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "isatty", lambda _: False)
    assert generated("piped", 0.0, monkeypatch) == ""


def test_the_log(caplog: pytest.LogCaptureFixture) -> None:
    unlike_before = float(time.time_ns() % 10**9)  # native code on disk is not compiled again
    with caplog.at_level(logging.DEBUG, logger="stgrad"):
        stgrad.grad(lambda x: np.sum(x * x * unlike_before))(np.ones(2))
    told = [record.getMessage() for record in caplog.records if record.name == "stgrad"]
    assert any("optimised" in text for text in told)
    assert any("generating its program took" in text for text in told)
    assert any("compiling took" in text for text in told)


def test_compile_tells_of_its_progress(capsys: pytest.CaptureFixture[str]) -> None:
    unlike_before = float(time.time_ns() % 10**9)

    def energy(x):
        return np.sum(x * x * unlike_before)

    gradient = stgrad.grad(energy)
    assert stgrad.compile(gradient, (np.ones(2),), "float32[:]", progress=True) is gradient
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in told] == ["energy_grad, 1 of 2", "energy_grad, 2 of 2"]
    assert all("(generating its program " in line and ", compiling " in line for line in told), told
    stgrad.compile(gradient, (np.ones(2),), progress=True)
    assert "compiling" not in capsys.readouterr().err, "it was there"
    stgrad.compile(gradient, (np.ones((2, 2)),))
    assert capsys.readouterr().err == ""


def test_progress_moves_through_the_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.status import Status

    seen: list[str] = []
    monkeypatch.setattr(Status, "update", lambda self, text: seen.append(text))
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    unlike_before = float(time.time_ns() % 10**9)
    with contextlib.redirect_stderr(Terminal()) as stream:
        stgrad.compile(stgrad.grad(lambda x: np.sum(np.sin(x)) * unlike_before), (np.ones(2),), progress=True)
    stages = [text.split("'")[1] for text in seen if "after stage" in text]
    assert stages[:3] == ["anf", "reverse", "optimised"] and len(stages) > 20, stages
    assert seen[-1].endswith(": compiling")
    assert "takes more than" not in stream.getvalue(), "it is told already"


def test_a_loop_that_calls_python_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "_told", set())
    arguments = (np.ones(3),)
    text = stgrad.jit(transformed).lowered(*arguments)
    assert "runtime.call_python" in text
    monkeypatch.setattr(leaving, "_told", set())
    with pytest.warns(NativeCodeWarning, match=r"a loop of `transformed` leaves native code in line \d+ .*np\.fft") as found:
        stgrad.jit(transformed)(*arguments)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", NativeCodeWarning)
        stgrad.jit(transformed)(np.ones(3))
        stgrad.jit(transformed_once)(np.ones((3, 2)))  # outside of loops
        monkeypatch.setattr(leaving, "_told", set())
        stgrad.jit(transformed).lowered(*arguments)  # only looked at


def transformed(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.abs(np.fft.fft(x * i)[1])
    return total


def transformed_once(x):
    return np.sum(np.abs(np.fft.fft(x)))
