"""Dates are known values: their methods, attributes and differences are computed while a function is read."""

import datetime
import math

import numpy as np
import pytest

import stgrad

NOON = datetime.datetime(2019, 7, 1, 12, 30)


def declination(latitude, day):
    n = day.timetuple().tm_yday
    hours = day.hour + day.minute / 60
    left = (datetime.datetime(2019, 12, 21) - day).days
    return math.sin(latitude) * math.cos(0.017 * n) + 1e-3 * hours * latitude**2 + 0.01 * left * latitude + 1e-3 * day.isocalendar()[1] * latitude**3


def outside(latitude):
    return declination(latitude, NOON)


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
def test_dates(jit):
    n, left, week = 182, 172, 27
    slope = math.cos(0.6) * math.cos(0.017 * n) + 2e-3 * 12.5 * 0.6 + 0.01 * left + 3e-3 * week * 0.36
    curvature = -math.sin(0.6) * math.cos(0.017 * n) + 2e-3 * 12.5 + 6e-3 * week * 0.6
    np.testing.assert_allclose(stgrad.grad(outside, jit=jit)(0.6), slope, rtol=1e-12)
    np.testing.assert_allclose(stgrad.grad(stgrad.grad(outside), jit=jit)(0.6), curvature, rtol=1e-12)
    np.testing.assert_allclose(stgrad.grad(declination, jit=jit)(0.6, NOON), slope, rtol=1e-12)


def test_another_date_is_seen(monkeypatch):
    gradient = stgrad.grad(outside)
    before = gradient(0.6)
    monkeypatch.setitem(globals(), "NOON", datetime.datetime(2019, 1, 1))
    after = gradient(0.6)
    h = 1e-6
    np.testing.assert_allclose(after, (outside(0.6 + h) - outside(0.6 - h)) / (2 * h), rtol=1e-7)
    assert before != after
