"""Every rule, at every sample that stands below it."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import stgrad.rules as rules
from stgrad.testing import check_rule

SAMPLED = sorted(name for name, rule in rules.TABLE.items() if rule.samples)


@pytest.mark.parametrize("name", SAMPLED)
def test_rule(name: str) -> None:
    rule = rules.TABLE[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for generator in rule.samples:
        for args, kwargs in generator(rng):
            check_rule(rule.op, *args, **kwargs)


def test_every_rule_has_samples() -> None:
    bare = [name for name, rule in rules.TABLE.items() if rule.kind != "nondiff" and not rule.samples]
    assert not bare
