"""Roots between bounds: found whatever the slopes say, and as precise as the function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcnlimit as gl
from gcnlimit.losses import FromValue
from gcnlimit.normalization import as_normalization
from gcnlimit.numerics import leave_one_out
from gcnlimit.numerics.roots import bracketed_roots, first_root
from gcnlimit.theory.decision import mean_margin
from gcnlimit.theory.finite_reg.square import feature_gain, square_margins
from gcnlimit.theory.points import Points
from gcnlimit.theory.propensity_spectrum import spectrum

NOWHERE = np.full(3, np.inf)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.floats(-10.0, 10.0))
def test_a_root_anywhere_is_found_from_anywhere(root, width, start):
    def step(x):
        return np.arctan((x - root) / width), width / (width**2 + (x - root) ** 2)

    x = bracketed_roots(step, np.array([start]), np.array([-np.inf]), np.array([np.inf]))
    assert abs(x[0] - root) <= 1e-14 * (1.0 + abs(root))


@pytest.mark.parametrize("slope", [0.0, -1.0, 1e-12])
def test_wrong_slopes_leave_halving(slope):
    roots = np.array([0.1, 0.5, 0.9])
    x = bracketed_roots(
        lambda x: (x - roots, np.full(3, slope)), np.full(3, 0.3), np.zeros(3), np.ones(3)
    )
    np.testing.assert_allclose(x, roots, rtol=1e-15)


def test_a_jump_is_found_to_the_last_digit():
    places = np.array([1e-3, 1.0, 700.0])
    x = bracketed_roots(
        lambda x: (np.sign(x - places) + 0.5, 0.0 * x), 0.0 * places, -NOWHERE, NOWHERE
    )
    np.testing.assert_allclose(x, places, rtol=1e-15)


def test_roots_do_not_depend_on_their_neighbours():
    a = np.array([2.0, 9.0, 1e10])

    def square(a):
        return lambda x: (x**2 - a, 2.0 * x)

    together = bracketed_roots(square(a), np.ones(3), np.zeros(3), NOWHERE)
    alone = [
        bracketed_roots(square(a[k : k + 1]), np.ones(1), np.zeros(1), NOWHERE[:1])[0]
        for k in range(3)
    ]
    assert together.tolist() == alone


def test_the_first_interval_with_two_signs_holds_the_root():
    asked = []

    def cosine(x):
        asked.append(x)
        return float(np.cos(x))

    root = first_root(cosine, [(0.0, 1.0), (1.0, 2.0), (4.0, 5.0)])
    assert abs(root - np.pi / 2) < 1e-15
    assert len(asked) == len(set(asked))  # a costly function is asked once


def test_no_interval_holds_no_root_and_an_end_may_be_one():
    assert first_root(lambda x: 1.0 + x**2, [(-1.0, 1.0), (-2.0, 2.0)]) is None
    assert first_root(lambda x: x, [(0.0, 1.0)]) == 0.0


DATA = gl.CSBM(alpha=2.0, lam=[0.4, -0.7], mu=1.5, rho=0.3)


def margins(data, filter, symmetrize):
    return square_margins(Points.of(data, gl.GCN(filter, reg=0.2, symmetrize=symmetrize)))


SEARCHES = {
    "losses.base": lambda: FromValue(lambda z: np.exp(-z)).prox(np.linspace(-2.0, 3.0, 7), 1.5),
    "numerics.leave_one_out": lambda: leave_one_out.best_sharpness(
        np.random.default_rng(0).normal(size=(2, 30, 3)),
        np.array([0.1, 0.2]),
        np.full(30, 1 / 30),
        np.ones(2),
        (np.full(2, 0.01), np.full(2, 100.0)),
    ),
    "theory.finite_reg.class_losses": lambda: gl.predict(
        DATA.replaced(classes=[0.3, 0.7]), gl.GCN(gl.Diffusion(0.5), "logistic", 0.5)
    ),
    "theory.finite_reg.square": lambda: (
        margins(DATA, gl.PageRank(0.3), False),
        margins(DATA, gl.Polynomial([1.0, 0.5]), True),
        feature_gain(gl.Spectrum([0.2, 1.8], [1.5, 0.5]), np.array([0.2, 0.7])),
    ),
    "theory.decision": lambda: mean_margin(np.array([[0.3, 1.2]]), 3, np.array([0.2, 0.8])),
    "theory.propensity_spectrum": lambda: spectrum(
        as_normalization("symmetric"), gl.Gamma(0.5), np.array([0.9, 1.5])
    ),
}


@pytest.mark.parametrize("module", SEARCHES)
def test_newtons_method_is_given_the_slopes_of_the_values(module, monkeypatch):
    """Wrong ones leave the roots and cost steps, which no other test would see."""
    found = 0

    def checked(function, x, low, high, tol=1e-15):
        nonlocal found
        root = bracketed_roots(function, x, low, high, tol)
        size = 1e-5 * (1.0 + np.abs(root))
        at = np.clip(root - 1e-2, low + size, high - size)
        room = np.isfinite(at) & (high - low > 4.0 * size)
        difference = (function(at + size)[0] - function(at - size)[0]) / (2.0 * size)
        slope = function(at)[1]
        np.testing.assert_allclose(slope[room], difference[room], rtol=1e-5, atol=1e-8)
        found += np.count_nonzero(room)
        return root

    monkeypatch.setattr(f"gcnlimit.{module}.bracketed_roots", checked)
    SEARCHES[module]()
    assert found
