"""The examples run from anywhere, without a terminal, and find what they should."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(tmp_path):
    """Runs a copy of an example, so that its output does not land in the checkout."""
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("output", "__pycache__"))

    def example(name: str) -> str:
        script = str(tmp_path / "examples" / f"{name}.py")
        done = subprocess.run([sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return example


def test_lotka_volterra(run, tmp_path):
    shown = run("lotka_volterra")
    alpha, beta = (float(re.search(rf"{name} +([\d.]+)", shown)[1]) for name in ("alpha", "beta"))
    assert 0.5 < alpha < 0.6  # the literature has 0.55 and 0.028
    assert 0.025 < beta < 0.03
    output = tmp_path / "examples" / "output"
    assert (output / "lotka_volterra.png").stat().st_size > 10_000
    text = (output / "lotka_volterra_grad.py").read_text()
    assert text.startswith("import numpy as np\n")
    assert "# grad of" in text
    compile(text, "lotka_volterra_grad.py", "exec")


def test_asian_option(run):
    shown = run("asian_option")
    assert "16 sensitivities by one reverse sweep" in shown
    assert float(re.search(r"relative difference ([\d.e+-]+)", shown)[1]) < 1e-5


def test_digits(run):
    assert float(re.search(r"([\d.]+)% of 360 unseen", run("digits"))[1]) > 95.0


def test_eager_guide(run, tmp_path):
    shown = run("eager_guide")
    assert float(re.search(r"asymmetry ([\d.e+-]+)", shown)[1]) < 1e-6
    assert float(re.search(r"blocks ([\d.e+-]+)", shown)[1]) == 0.0
    assert len(list((tmp_path / "examples" / "output").glob("eager_*.png"))) == 3


def test_shards_logistic(run):
    shown = run("shards_logistic")
    assert "200,000 rows in 10 shards" in shown
    assert float(re.search(r"largest error ([\d.]+)", shown)[1]) < 0.05


def test_shards_paths(run):
    assert float(re.search(r"farthest off ([\d.]+)", run("shards_paths"))[1]) < 4.0


def test_shards_ensemble(run):
    assert float(re.search(r"largest relative error ([\d.]+)", run("shards_ensemble"))[1]) < 0.01
