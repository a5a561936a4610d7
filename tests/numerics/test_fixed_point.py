"""The fixed-point loop: linear maps solved in as many steps as they have dimensions, failures reported."""

import numpy as np
import pytest

from gcnlimit.numerics.fixed_point import fixed_point


def test_many_linear_problems_at_once_even_expanding_ones():
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(20, 5, 5)) * np.geomspace(0.1, 3, 20)[:, None, None]
    shift = rng.normal(size=(20, 5))
    result = fixed_point(
        lambda x, rows: (maps[rows] @ x[:, :, None])[:, :, 0] + shift[rows],
        np.zeros((20, 5)),
        scale=np.ones_like,
        tol=1e-12,
        max_iterations=30,
        memory=6,
    )
    expected = np.linalg.solve(np.eye(5) - maps, shift[:, :, None])[:, :, 0]
    assert result.converged.all()
    assert np.allclose(result.state, expected, rtol=1e-8)


def test_a_row_does_not_depend_on_its_neighbours():
    """Of which the first finds no fixed point."""
    starts = np.array([[0.1, 2.0], [0.5, 1.0], [3.0, 0.2]])

    def update(x, rows):
        return np.stack([np.cos(x[:, 1]), np.exp(-x[:, 0])], axis=1)

    together = fixed_point(update, starts, scale=np.abs, tol=1e-13, max_iterations=100)
    assert together.converged.tolist() == [False, True, True]
    for i in (1, 2):
        alone = fixed_point(update, starts[[i]], scale=np.abs, tol=1e-13, max_iterations=100)
        assert alone.iterations[0] == together.iterations[i]
        assert np.allclose(alone.state[0], together.state[i], rtol=1e-14, atol=0)


@pytest.mark.parametrize("allowed, fewest, most", [(50, 50, 50), (10_000, 51, 2000)])
def test_no_fixed_point_is_said(allowed, fewest, most):
    """Each fall halves the steps: once they have no length, iterations that are left would only wait."""
    result = fixed_point(
        lambda x, rows: x + 1.0 + x**2,
        np.zeros((1, 1)),
        scale=np.abs,
        tol=1e-10,
        max_iterations=allowed,
    )
    assert not result.converged[0]
    assert fewest <= result.iterations[0] <= most
    assert result.residual[0] > 1e-10


def test_forbidden_states_are_left():
    """The map is NaN beyond 1; an overshooting step is taken back and made smaller."""

    def update(x, rows):
        return np.where(x < 1.0, -4.0 * x + 2.0, np.nan)

    result = fixed_point(
        update, np.full((1, 1), 0.9), scale=np.abs, tol=1e-12, max_iterations=99, memory=1
    )
    assert result.converged[0]
    assert abs(result.state[0, 0] - 0.4) < 1e-10


def test_each_entry_is_judged_on_its_own_scale():
    rate = np.array([0.5, 0.9])
    scale = np.array([1e12, 1e-12])
    result = fixed_point(
        lambda x, rows: rate * x + scale,
        np.zeros((1, 2)),
        scale=np.abs,
        tol=1e-10,
        max_iterations=999,
        memory=1,
    )
    assert np.allclose(result.state, scale / (1 - rate), rtol=1e-8)


def test_a_start_that_is_not_allowed_ends_at_once_and_alone():
    def update(x, rows):
        return np.where(x < 1.0, 0.5 * x + 0.2, np.nan)

    result = fixed_point(
        update, np.array([[2.0], [0.5]]), scale=np.abs, tol=1e-12, max_iterations=99
    )
    assert list(result.converged) == [False, True]
    assert result.iterations[0] == 1
    assert np.isinf(result.residual[0])
