"""Roots between bounds: found whatever the slopes say, and as precise as the function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcnlimit.numerics.roots import bracketed_roots, first_root

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
