"""Every rule, at every sample that stands below it."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import stgrad.rules as rules
from stgrad.testing import check_rule

rules.load_scipy()
OWN = {name: rule for name, rule in rules.TABLE.items() if not name.startswith("stgrad.")}  # the eager API adds its own when imported
OF_SHAPES = {"np.broadcast_shapes", "np.ix_"}  # take and give shapes and indices: nothing to differentiate, their values are tested where they are read
SAMPLED = sorted(name for name, rule in OWN.items() if rule.samples)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")  # in single precision, by SciPy itself
@pytest.mark.parametrize("name", SAMPLED)
def test_rule(name: str) -> None:
    rule = rules.TABLE[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for generator in rule.samples:
        for args, kwargs in generator(rng):
            check_rule(rule.op, *args, **kwargs)


def test_every_rule_has_samples() -> None:
    bare = [name for name, rule in OWN.items() if rule.kind != "nondiff" and not rule.samples]
    assert set(bare) == OF_SHAPES


def test_every_adjoint_rule_has_a_tangent() -> None:
    assert not [name for name, rule in OWN.items() if rule.kind == "adjoint" and rule.tangent is None]


def test_rules_do_not_answer_to_two_kinds() -> None:
    for name, rule in OWN.items():
        forms = {"partials": rule.partials, "adjoint": rule.adjoint, "linear": rule.adjoint, "composite": rule.composite}
        assert rule.kind == "nondiff" or forms[rule.kind] is not None, name
