"""Maxima of batches of functions: on an interval against dense scans, in a cube against random points and closed forms."""

import numpy as np
import pytest

from gcnlimit.numerics.climb import ascend
from gcnlimit.numerics.maximize import (
    _first,
    maximize_box,
    maximize_from,
    maximize_interval,
    spread,
)


def test_climb_solves_random_quadratics():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(30, 6, 6))
    A, peak = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(6), rng.normal(size=(30, 6))

    def gradient(x, rows):
        return -np.einsum("bij,bj->bi", A[rows], x - peak[rows])

    def value(x, rows):
        return 0.5 * np.sum((x - peak[rows]) * gradient(x, rows), axis=1)

    x, f, settled, _ = ascend(value, gradient, np.zeros((30, 6)))
    assert settled.all()
    np.testing.assert_allclose(x, peak, atol=1e-7)
    np.testing.assert_allclose(f, 0.0, atol=1e-12)


def test_box_finds_the_higher_of_two_hills_and_the_walls():
    def hills(u, which):
        near, far = np.sum((u - 0.2) ** 2, axis=1), np.sum((u - [0.8, 0.7, 1.5]) ** 2, axis=1)
        return np.exp(-8 * near) + (1.0 + 2.0 * which) * np.exp(-4 * far)

    best = maximize_box(hills, np.repeat(spread(60, 3)[None], 2, axis=0))
    rng = np.random.default_rng(2)
    everywhere = rng.uniform(size=(200_000, 3))
    for k in range(2):
        assert best.value[k] >= hills(everywhere, np.full(200_000, k)).max() - 1e-12
    assert best.u[1, 2] == 1.0


def test_spread_points_fill_the_cube_evenly():
    points = spread(1024, 2)
    counts, _, _ = np.histogram2d(*points.T, bins=8, range=[[0, 1], [0, 1]])
    assert counts.min() >= 12
    assert counts.max() <= 20


def test_a_plateau_does_not_take_all_the_starts():
    def plateau_and_bump(u, which):
        return 1 / (1 + np.exp(-40 * (u[:, 1] - 0.5))) + 1.01 * np.exp(
            -np.sum((u - [0.3, 0.1]) ** 2, axis=1) / 0.005
        )

    best = maximize_box(plateau_and_bump, spread(200, 2)[None], keep=8, apart=0.25)
    np.testing.assert_allclose(best.u[0], [0.3, 0.1], atol=1e-5)


def test_noise_of_the_values_does_not_keep_a_climb_going():
    calls = []

    def rough(u, which):
        calls.append(len(u))
        return -np.sum((u - [0.3, 0.6]) ** 2, axis=1) + 1e-11 * np.sin(1e9 * u[:, 0])

    best = maximize_box(rough, spread(20, 2)[None], accuracy=1e-11)
    np.testing.assert_allclose(best.u[0], [0.3, 0.6], atol=1e-5)
    assert best.converged[0]
    assert sum(calls) < 2000


def test_no_maximum_of_random_waves_is_missed():
    rng = np.random.default_rng(0)
    amplitude, phase = rng.normal(size=(200, 5)), rng.uniform(0, 2 * np.pi, size=(200, 5))

    def waves(u, which):
        return np.sum(
            amplitude[which] * np.cos(2 * np.arange(1, 6) * u[:, None] + phase[which]), axis=1
        )

    best = maximize_interval(waves, 200)
    dense = np.linspace(0, 1, 5001)
    scan = np.array([waves(dense, np.full(dense.size, k)).max() for k in range(200)])
    assert np.all(best.value >= scan - 1e-12)
    assert np.all(best.value <= scan + 1e-5)
    assert best.converged.all()
    np.testing.assert_allclose(waves(best.u[:, 0], np.arange(200)), best.value, atol=1e-12)
    assert np.any(best.u == 0.0)
    assert np.any(best.u == 1.0)


def test_interior_maximum_beside_an_end_differs_from_the_end():
    peak = np.array([-0.1, 1e-4, 1.0 - 1e-4, 1.1])
    best = maximize_interval(lambda u, which: -((u - peak[which]) ** 2), 4)
    np.testing.assert_allclose(best.u[:, 0], np.clip(peak, 0, 1), atol=1e-8)
    assert best.u[0, 0] == 0.0
    assert best.u[3, 0] == 1.0


def test_plateau_ends_at_the_end():
    best = maximize_interval(lambda u, which: 1.0 - np.exp(-500.0 * u) + 1e-16 * np.sin(1e6 * u), 3)
    assert np.all(best.u == 1.0)


def test_a_climb_leaves_the_wall_on_which_it_starts():
    """Along the angle in which it climbs the slope vanishes on a wall, the lower as the upper."""

    def hill(u, which):
        return -np.sum((u - 0.4) ** 2, axis=1)

    walls = np.array([[[0.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]]])
    best = maximize_from(hill, walls, np.ones(3))
    np.testing.assert_allclose(best.u, 0.4, atol=1e-6)


def test_one_climb_takes_values_and_slopes_in_one_call():
    """A call costs more than its points; from a guess of the Hessian, few steps reach the top."""
    calls = []

    def hill(u, which):
        calls.append(len(u))
        x = u - 0.4
        return -np.sum(x**2, axis=1) * (1.0 + 20.0 * x[:, 0] * x[:, 1]) - np.cos(9.0 * u[:, 2]) / 10

    best = maximize_from(hill, np.full((1, 1, 3), 0.5), np.ones(1), walls=-1.0)
    assert best.converged[0]
    assert len(calls) <= 10


def test_a_climb_lengthens_its_steps_where_the_function_bends_up():
    """From the tail of a bell, whose slope says little of how far its top is."""
    calls = []

    def value(x, rows):
        calls.append(x.item())
        return np.exp(-0.5 * np.sum(x**2, axis=1))

    def gradient(x, rows):
        return -x * np.exp(-0.5 * np.sum(x**2, axis=1))[:, None]

    top = ascend(value, gradient, np.full((1, 1), 4.0))
    assert top.settled[0]
    assert top.x[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert len(calls) < 40


@pytest.mark.parametrize("apart", [0.0, 0.2])
def test_climbs_start_at_the_best_candidates_that_are_apart(apart):
    rng = np.random.default_rng(4)
    candidates, values = rng.uniform(size=(3, 40, 2)), rng.normal(size=(3, 40))
    for points, heights, chosen in zip(
        candidates, values, _first(candidates, values, 5, apart), strict=True
    ):
        wanted = []
        for k in np.argsort(heights)[::-1]:
            if all(np.max(np.abs(points[k] - points[j])) >= apart for j in wanted):
                wanted.append(k)
        assert chosen.tolist() == wanted[:5]
