"""Optimality conditions, in the primal and in the dual, and against scikit-learn."""

import numpy as np
import pytest
from scipy.special import expit

from gcnlimit import Hinge, Logistic, Square
from gcnlimit.simulation.solvers import TOLERANCE, TrainingRows


def rows(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return TrainingRows(rng.standard_normal((n, m)) + 0.3 * rng.standard_normal(m))


SHAPES = [(40, 90), (90, 40), (50, 50)]
REGS = [300.0, 1.0, 1e-3]


@pytest.mark.parametrize("n, m", SHAPES)
def test_ridge_path_is_stationary_and_agrees_with_the_general_solver(n, m):
    path = rows(n, m).ridge(np.array(REGS))
    Z = rows(n, m).Z
    for reg, w in zip(REGS, path, strict=True):
        assert np.allclose(Z.T @ (Z @ w - 1) + reg * w, 0, atol=1e-9)
        assert np.allclose(rows(n, m).solve(Square(), reg)[0].weights, w, atol=1e-8)


@pytest.mark.parametrize("n, m", SHAPES)
@pytest.mark.parametrize("reg", REGS)
def test_logistic_gradient_vanishes(n, m, reg):
    Z = rows(n, m).Z
    solution, _ = rows(n, m).solve(Logistic(), reg)
    gradient = reg * solution.weights - Z.T @ expit(-Z @ solution.weights)
    assert solution.gap <= TOLERANCE
    assert np.abs(gradient).max() < 1e-7 * np.abs(Z.T @ np.ones(n)).max()


@pytest.mark.parametrize("n, m", SHAPES)
@pytest.mark.parametrize("reg", REGS)
def test_hinge_solution_satisfies_karush_kuhn_tucker(n, m, reg):
    Z = rows(n, m).Z
    (w, gap), f = rows(n, m).solve(Hinge(), reg)
    z = Z @ w
    assert gap <= TOLERANCE
    assert np.all((f > -1e-9) & (f < 1 + 1e-9))
    assert np.allclose(z[f < 1e-7].clip(max=1), 1, atol=1e-6)
    assert np.allclose(z[f > 1 - 1e-7].clip(min=1), 1, atol=1e-6)
    assert np.allclose(z[(f > 1e-7) & (f < 1 - 1e-7)], 1, atol=1e-6)


def test_hinge_agrees_with_a_support_vector_machine():
    svm = pytest.importorskip("sklearn.svm")
    rng = np.random.default_rng(2)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    F = rng.standard_normal((60, 30)) + 0.2 * y[:, None]
    # mirror images double the loss and leave no room for an intercept
    both = svm.SVC(kernel="linear", C=1 / 0.5, tol=1e-10).fit(np.vstack([F, -F]), np.concatenate([y, -y]))
    assert abs(both.intercept_[0]) < 1e-6
    (w, _), _ = TrainingRows(y[:, None] * F).solve(Hinge(), 0.25)
    assert np.allclose(both.coef_[0], w, atol=1e-5)


class SquaredHinge:
    """A loss of one's own, with the three methods that a loss needs."""

    def value(self, z):
        return 0.5 * np.maximum(0.0, 1.0 - np.asarray(z)) ** 2

    def prox(self, omega, v):
        omega = np.asarray(omega, float)
        return np.where(omega >= 1, omega, (omega + v) / (1 + v))

    def prox_derivative(self, omega, v):
        return np.where(np.asarray(omega) >= 1, 1.0, 1 / (1 + v))


@pytest.mark.parametrize("n, m", SHAPES)
def test_any_loss_with_a_proximal_operator_is_trained(n, m):
    Z = rows(n, m).Z
    solution, _ = rows(n, m).solve(SquaredHinge(), 0.7)
    w = solution.weights
    assert np.allclose(0.7 * w - Z.T @ np.maximum(0, 1 - Z @ w), 0, atol=1e-8)


@pytest.mark.parametrize("loss", [Logistic(), Hinge()])
def test_a_warm_start_changes_nothing(loss):
    cold, _ = rows(40, 90).solve(loss, 0.2)
    _, start = rows(40, 90).solve(loss, 5.0)
    warm, _ = rows(40, 90).solve(loss, 0.2, start)
    assert np.allclose(cold.weights, warm.weights, atol=1e-6)
