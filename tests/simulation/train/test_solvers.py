"""Optimality conditions, in the primal and in the dual, and against scikit-learn."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, xlogy

import gcnlimit as gl
from gcnlimit import Hinge, Logistic, Square
from gcnlimit.classes import Classes
from gcnlimit.losses import as_loss
from gcnlimit.simulation.train.descent import (
    CrossEntropy,
    descent,
    driven,
    krylov,
    krylov_function,
    line_search,
)
from gcnlimit.simulation.train.solvers import TOLERANCE, TrainingRows, _Problem


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
        assert np.allclose(rows(n, m).solve(Square(), reg)[0], w, atol=1e-8)


@pytest.mark.parametrize("n, m", [(300, 900), (900, 300)])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_one_krylov_space_serves_all_regularizations_to_the_tolerance_asked(n, m, tolerance):
    problem, reg = rows(n, m), np.logspace(2.5, -1, 8)
    path = problem.ridge(reg, tolerance)
    assert "gram" not in vars(problem)
    Z = problem.Z
    for r, w in zip(reg, path, strict=True):
        gradient = Z.T @ (Z @ w - 1) + r * w
        assert np.linalg.norm(gradient) < 3 * tolerance * np.linalg.norm(Z.T @ np.ones(n))


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_a_hard_ridge_falls_back_on_the_diagonalization(scale):
    Z = scale * rows(200, 200).Z  # a square matrix: the smallest singular value is next to 0
    problem, reg = TrainingRows(Z), np.array([1e-6, 1.0]) * scale**2
    path = problem.ridge(reg)
    assert "gram" in vars(problem)
    assert np.allclose(Z.T @ (Z @ path[0] - 1) + reg[0] * path[0], 0, atol=1e-6 * scale)


def test_one_krylov_space_solves_for_all_shifts():
    G, shifts = np.diag(np.linspace(0.1, 5.0, 400)), np.array([0.01, 3.0])
    x = driven(krylov(np.ones(400), shifts, 1e-12, 200), G.__matmul__)
    assert np.allclose(x, 1 / (np.diag(G) + shifts[:, None]), rtol=1e-10)


def test_a_pivot_that_rounding_cancels_is_no_error():
    """The first pivot is 1, the second 1 - 1: the shift is lost, and the true residual decides."""
    Z, reg = np.ones((10, 20)), np.array([1e-17])
    w = TrainingRows(Z).ridge(reg)[0]
    assert np.allclose(Z.T @ (Z @ w - 1) + reg * w, 0, atol=1e-8)


@pytest.mark.parametrize("n, m", SHAPES)
@pytest.mark.parametrize("reg", REGS)
def test_logistic_gradient_vanishes(n, m, reg):
    Z = rows(n, m).Z
    w, gap, _ = rows(n, m).solve(Logistic(), reg)
    gradient = reg * w - Z.T @ expit(-Z @ w)
    assert gap <= TOLERANCE
    assert np.abs(gradient).max() < 1e-7 * np.abs(Z.T @ np.ones(n)).max()


LOGISTIC = CrossEntropy.of(Logistic(), np.zeros(200, int), Classes.of(2))


def descended(Z, reg, tolerance, start=None):
    solver = descent(LOGISTIC, reg, tolerance, 100, start)
    return driven(solver, TrainingRows(Z).kernel)


@pytest.mark.parametrize("scale", [1e-20, 1e-9, 1.0, 1e20])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-11])
@pytest.mark.parametrize("reg", [0.3, 3.0, 300.0])
def test_a_descent_reaches_the_gradient_asked(reg, tolerance, scale):
    Z = scale * rows(200, 500).Z
    found, settled = descended(Z, scale**2 * reg, tolerance)
    weights = scale * Z.T @ found.beta
    gradient = reg * weights - Z.T @ expit(-Z @ weights / scale) / scale
    allowed = tolerance * np.linalg.norm(0.5 * Z.T @ np.ones(200)) / scale
    assert settled
    assert np.linalg.norm(gradient) <= 1.001 * allowed
    again, _ = descended(Z, scale**2 * reg, tolerance, found)
    assert (
        np.linalg.norm(scale * Z.T @ again.beta - weights) <= 2 * allowed / reg
    )  # the objective is strongly convex


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_step_takes_one_product_unless_rounded_ones_must_be_made_good(dtype):
    """Outputs are computed anew only where products in single precision no longer tell; then the gradient vanishes as well."""
    Z, asked = rows(200, 500).Z, []
    exact, rounded = Z @ Z.T, (Z @ Z.T).astype(dtype)

    def product(x):
        asked.append(x.dtype)
        return (rounded if x.dtype == np.float32 else exact) @ x

    found, settled = driven(descent(LOGISTIC, 3.0, 1e-11, 100), product)
    assert settled
    anew = sum(kind == np.float64 for kind in asked)
    assert 0 < anew < 5 if dtype == np.float32 else anew == 0
    np.testing.assert_allclose(3.0 * found.beta, LOGISTIC.pull(exact @ found.beta), atol=1e-9)


def test_the_gap_is_that_of_the_two_objectives():
    Z, reg = rows(200, 50).Z, 2.0
    found, _ = descended(Z, reg, 1e-2)
    f, w = LOGISTIC.pull(found.outputs)[:, 0], Z.T @ found.beta[:, 0]
    primal = np.sum(np.logaddexp(0, -Z @ w)) + 0.5 * reg * w @ w
    dual = -np.sum(xlogy(f, f) + xlogy(1 - f, 1 - f)) - 0.5 / reg * np.sum((Z.T @ f) ** 2)
    assert found.gap == pytest.approx((primal - dual) / primal, rel=1e-6)


@pytest.mark.parametrize("reg", [10.0, 1.0])
def test_a_descent_and_newtons_method_meet(reg):
    Z = rows(200, 500).Z
    logistic, *_ = TrainingRows(Z).solve(Logistic(), reg, tol=1e-11)
    assert np.allclose(Z.T @ descended(Z, reg, 1e-11)[0].beta[:, 0], logistic, atol=1e-8)


@pytest.mark.parametrize("far", [0.0, 30.0, -300.0])
def test_pulls_at_the_best_bias_sum_to_zero_over_each_class(far):
    rng = np.random.default_rng(0)
    classes = Classes.of([0.5, 0.3, 0.2])
    class_index = rng.integers(0, 3, 80)
    loss = CrossEntropy(class_index, classes.one_hot_basis, biased=True)
    h = rng.standard_normal((80, 2)) + far
    pulls = (
        np.eye(3)[class_index] - np.exp(log_softmax((h + loss.bias(h)) @ loss.E.T, axis=1))
    ).sum(axis=0)
    assert np.allclose(pulls, 0.0, atol=1e-10)


@pytest.mark.parametrize("n, m", SHAPES)
@pytest.mark.parametrize("reg", REGS)
def test_hinge_solution_satisfies_karush_kuhn_tucker(n, m, reg):
    Z = rows(n, m).Z
    w, gap, f = rows(n, m).solve(Hinge(), reg)
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
    both = svm.SVC(kernel="linear", C=1 / 0.5, tol=1e-10).fit(
        np.vstack([F, -F]), np.concatenate([y, -y])
    )
    assert abs(both.intercept_[0]) < 1e-6
    w, *_ = TrainingRows(y[:, None] * F).solve(Hinge(), 0.25)
    assert np.allclose(both.coef_[0], w, atol=1e-5)


class SquaredHinge(gl.Loss):
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
    w, *_ = rows(n, m).solve(as_loss(SquaredHinge()), 0.7)
    assert np.allclose(0.7 * w - Z.T @ np.maximum(0, 1 - Z @ w), 0, atol=1e-8)


@pytest.mark.parametrize("loss", [Logistic(), Hinge()])
def test_a_warm_start_changes_nothing(loss):
    cold, *_ = rows(40, 90).solve(loss, 0.2)
    *_, start = rows(40, 90).solve(loss, 5.0)
    warm, *_ = rows(40, 90).solve(loss, 0.2, start)
    assert np.allclose(cold, warm, atol=1e-6)


@pytest.mark.parametrize("n, m", SHAPES)
@pytest.mark.parametrize("reg", REGS)
def test_a_smooth_loss_takes_few_steps_of_newtons_method(monkeypatch, n, m, reg):
    """Fewer than twenty, and no splitting."""
    steps = []
    step = _Problem._step
    monkeypatch.setattr(_Problem, "_step", lambda *given: steps.append(1) or step(*given))
    monkeypatch.setattr(_Problem, "split", lambda *given: pytest.fail("it was split"))
    rows(n, m).solve(Logistic(), reg)
    assert len(steps) < 20


def test_a_function_of_a_matrix_that_takes_more_steps_is_not_answered():
    K = np.diag(np.geomspace(1e-6, 1.0, 300))
    few, many = (
        driven(krylov_function(np.ones(300), lambda x: np.exp(-30 * x)[None], 1e-10, n), K.dot)
        for n in (8, 200)
    )
    assert few is None
    assert np.allclose(many, np.exp(-30 * np.diag(K)), atol=1e-8)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_a_line_is_searched_to_its_minimum(scale):
    """The derivative there is a thousandth of that at the start, and the pulls are those of the point."""
    rng = np.random.default_rng(0)
    outputs, across = rng.standard_normal((2, 200, 1))
    across *= scale
    f = LOGISTIC.pull(outputs)
    slope, curvature = -abs(float(np.vdot(f, across))) - 1.0, 2.0 * scale**2
    tried = []

    class Counted(CrossEntropy):
        def pull(self, h):
            tried.append(h)
            return super().pull(h)

    loss = Counted.of(Logistic(), np.zeros(200, int), Classes.of(2))
    length, there = line_search(loss, outputs, f, across, slope, curvature)
    assert len(tried) <= 6
    assert np.array_equal(there, LOGISTIC.pull(outputs + length * across))
    tilt = slope + curvature * length + float(np.vdot(f - there, across))
    assert abs(tilt) <= 1e-3 * abs(slope)
    assert length > 0.0


def test_a_line_search_that_does_not_settle_ends_after_twenty_steps():
    """Pulls that are noise, as rounding makes them beside large outputs; those returned are of the last length."""
    rng = np.random.default_rng(0)
    pulls = []

    class Noisy(CrossEntropy):
        def pull(self, h):
            pulls.append(rng.standard_normal(h.shape))
            return pulls[-1]

    loss = Noisy(np.zeros(3, int), LOGISTIC.E, biased=False)
    outputs, f, across = rng.standard_normal((3, 3, 1))
    length, there = line_search(loss, outputs, f, across, -1.0, 1.0)
    assert len(pulls) == 21
    assert there is pulls[-1]
    assert np.isfinite(length)
