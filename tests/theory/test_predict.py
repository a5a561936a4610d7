"""Finite regularization: reference values, closed systems, limits, independent quadrature, any loss."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from problems import DATA, LOSSES
from reference import REFERENCE, name, problem, rows
from scipy.optimize import fsolve

import gcnlimit as gl

FIELDS = ("test_accuracy", "train_accuracy", "test_loss", "train_loss")


@pytest.mark.parametrize("row", rows(infinite=False), ids=name)
def test_reference(row):
    prediction = gl.predict(*problem(row))
    for field in FIELDS:
        assert abs(getattr(prediction, field) - row[field]) < 1e-9, field


@pytest.mark.parametrize("row", REFERENCE["ridgeless_single_layer"], ids=str)
def test_ridgeless_single_layer(row):
    data = gl.CSBM(**{k: row[k] for k in ("alpha", "lam", "mu", "rho")})
    prediction = gl.predict(data, gl.GCN(gl.Residual([0.0]), reg=1e-6, symmetrize=False))
    assert abs(prediction.train_loss - row["train_loss"]) < 1e-5
    assert abs(prediction.test_loss - row["test_loss"]) < 1e-5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize(
    "filter", [gl.Residual([0.5, 2.0]), gl.Diffusion(-0.8), gl.PageRank(0.3)], ids=repr
)
def test_large_regularization_meets_the_explicit_formulas(filter, symmetrize, loss):
    prediction = gl.predict(DATA, gl.GCN(filter, loss, [1e7, math.inf], symmetrize))
    assert np.ptp(prediction.test_accuracy) < 1e-6
    assert np.ptp(prediction.train_accuracy) < 1e-6
    assert np.ptp(prediction.test_loss) < 1e-5
    assert list(prediction.status) == [gl.Status.CONVERGED, gl.Status.EXPLICIT]


def paper_ridge_without_residuals(data, reg, K):
    """The paper's reduced system at c = 0, square loss, iterated plainly: V and V_hat are diagonal."""
    alpha, lam, mu, rho = data.alpha, data.lam, data.mu, data.rho
    V_w, V = 1 / (alpha * reg), np.full(K, 1 / (alpha * reg))
    Vh, mh, m, m_w, Q_w = np.full(K, rho), np.zeros(K), np.zeros(K), 0.0, 1.0
    Q, Qh = np.eye(K), np.eye(K)
    for _ in range(1500):
        previous = np.concatenate([[V_w], V[:-1]])
        V = 0.5 * V + 0.5 * previous / (1 + previous * Vh)
        Vh = np.append(Vh[1:] / (1 + V[:-1] * Vh[1:]), rho / (1 + V[-1]))
        Vh_w = Vh[0] / (1 + V_w * Vh[0])
        V_w = 1 / (alpha * (reg + Vh_w))
        m = V * (mh + np.concatenate([[np.sqrt(mu) * m_w / V_w], lam * m[:-1] / V[:-1]]))
        mh = lam * Vh * (np.append(mh[1:] / Vh[1:], 1.0) - lam * m)
        mh_w = np.sqrt(mu) / V_w * (m[0] - np.sqrt(mu) * m_w)
        m_w = V_w * mh_w
        Qh_w = (V[0] / V_w) ** 2 * Qh[0, 0] + (V[0] / V_w - 1) ** 2 * Q_w / V_w**2 + mh_w**2 / mu
        Q_w = alpha * V_w**2 * (Qh_w + mh_w**2)
        inner = np.zeros((K, K))
        inner[0, 0] = Q_w / V_w**2
        inner[1:, 1:] = Q[:-1, :-1] / np.outer(V[:-1], V[:-1])
        Q = np.outer(V, V) * (Qh + inner) + np.outer(m, m)
        shifted = np.zeros((K, K))
        shifted[:-1, :-1] = Qh[1:, 1:] / np.outer(Vh[1:], Vh[1:])
        train, test = np.ones(K), np.ones(K)
        train[-1], test[-1] = 1 / rho, 0.0
        centre = shifted + rho * Q * np.outer(train, train) + (1 - rho) * Q * np.outer(test, test)
        mean_train, mean_test = mh / lam * train, mh / lam * test
        Qh = (
            np.outer(Vh, Vh) * centre
            + rho * np.outer(mean_train, mean_train)
            + (1 - rho) * np.outer(mean_test, mean_test)
        )
    return Qh[-1, -1] / (2 * rho), (1 + V[-1]) ** 2 * Qh[-1, -1] / (2 * rho)


@pytest.mark.parametrize("reg", [0.3, 3.0])
@pytest.mark.parametrize("K", [1, 3])
def test_ridge_without_residuals_meets_the_papers_reduced_system(reg, K):
    data = gl.CSBM(alpha=2.0, lam=0.8, mu=1.5, rho=0.3)
    prediction = gl.predict(data, gl.GCN(gl.Residual.constant(0.0, K), reg=reg, symmetrize=False))
    train_loss, test_loss = paper_ridge_without_residuals(data, reg, K)
    assert prediction.train_loss == pytest.approx(train_loss, rel=1e-8)
    assert prediction.test_loss == pytest.approx(test_loss, rel=1e-8)


def single_layer_by_two_dimensional_quadrature(data, c, loss, reg):
    """The paper's equations at K = 1, averages over the two Gaussian fields of h_0 and h_1 on a grid, prox in two dimensions.

    With one layer V, V_hat, Q, Q_hat are numbers; psi_h is minimized over (h_0, h_1) for each pair of fields.
    """
    alpha, lam, mu, rho = data.alpha, data.lam, data.mu, data.rho
    x, w = np.polynomial.hermite_e.hermegauss(41)
    w = w / w.sum()

    def equations(unknowns):
        m_w, m, mh = unknowns[:3]
        Q_w, V_w, Q, V, Qh, Vh = np.exp(unknowns[3:])
        # without the loss psi_h is quadratic: precision P, field in direction (h_0, h_1)
        P = np.array([[Vh + 1 / V_w + c**2 / V, -c / V], [-c / V, 1 / V]])
        C = np.linalg.inv(P)
        fields = [
            np.array([mh + np.sqrt(mu) * m_w / V_w - c * lam * m / V, lam * m / V]),
            np.array([np.sqrt(Qh), 0.0]),
            np.array([np.sqrt(Q_w) / V_w, 0.0]),
            np.array([-c * np.sqrt(Q) / V, np.sqrt(Q) / V]),
        ]
        a, b, d = np.meshgrid(x, x, x, indexing="ij")
        weight = (w[:, None, None] * w[:, None] * w).ravel()
        grid = [1.0, a.ravel(), b.ravel(), d.ravel()]
        free = sum(
            np.outer(C @ f, np.broadcast_to(g, weight.size))
            for f, g in zip(fields, grid, strict=True)
        )
        prox = loss.prox(free[1], C[1, 1])
        trained = free + np.outer(C[:, 1] / C[1, 1], prox - free[1])
        slope = loss.prox_derivative(free[1], C[1, 1])

        def mean(f):
            return rho * np.sum(weight * f(trained)) + (1 - rho) * np.sum(weight * f(free))

        shrink = rho * np.sum(weight * (1 - slope)) / C[1, 1]
        cov = C - shrink * np.outer(C[:, 1], C[:, 1])
        noise_0 = np.sqrt(mu) * m_w + np.sqrt(Q_w) * grid[2]
        noise_1 = lam * m + np.sqrt(Q) * grid[3]
        mh_w = np.sqrt(mu) / V_w * mean(lambda h: h[0] - np.sqrt(mu) * m_w)
        Qh_w = mean(lambda h: (h[0] - noise_0) ** 2) / V_w**2
        Vh_w = 1 / V_w - cov[0, 0] / V_w**2
        difference = np.array([-c, 1.0])
        new = [
            mh_w / (alpha * (reg + Vh_w)),
            mean(lambda h: h[0]),
            lam / V * mean(lambda h: h[1] - c * h[0] - lam * m),
            (Qh_w + mh_w**2) / (alpha * (reg + Vh_w) ** 2),
            1 / (alpha * (reg + Vh_w)),
            mean(lambda h: h[0] ** 2),
            cov[0, 0],
            mean(lambda h: (h[1] - c * h[0] - noise_1) ** 2) / V**2,
            1 / V - difference @ cov @ difference / V**2,
        ]
        test = np.sum(weight * loss.value(free[1]))
        train = np.sum(weight * loss.value(trained[1]))
        return np.array([*new[:3], *np.log(new[3:])]) - unknowns, (train, test)

    start = np.array([0.1, 0.1, 0.1, *np.log([0.1, 0.2, 0.1, 0.2, 0.1, 0.1])])
    for _ in range(40):
        start = start + 0.5 * equations(start)[0]
    solution = fsolve(lambda u: equations(u)[0], start, xtol=1e-11)
    assert np.abs(equations(solution)[0]).max() < 1e-8
    return equations(solution)[1]


@pytest.mark.parametrize(
    ("loss", "tolerance"),
    [(gl.Square(), 1e-8), (gl.Logistic(), 2e-5), (gl.Hinge(), 2e-3)],
    ids=repr,
)
def test_single_layer_meets_the_papers_equations(loss, tolerance):
    """Gauss-Hermite in each field is spectral for the square loss, good for the logistic, coarse for the hinge's kinks."""
    data = gl.CSBM(alpha=2.0, lam=0.9, mu=1.5, rho=0.4)
    prediction = gl.predict(data, gl.GCN(gl.Residual([0.7]), loss, reg=1.5, symmetrize=False))
    train_loss, test_loss = single_layer_by_two_dimensional_quadrature(data, 0.7, loss, 1.5)
    assert prediction.train_loss == pytest.approx(train_loss, abs=tolerance)
    assert prediction.test_loss == pytest.approx(test_loss, abs=tolerance)


@dataclass(frozen=True)
class Huberized(gl.Loss):
    """A smooth hinge: quadratic between 0 and 1, linear below; a loss of a user's own, with kinks in its prox' slope."""

    def value(self, z):
        z = np.asarray(z, float)
        return np.where(z < 0, 0.5 - z, 0.5 * np.maximum(1 - z, 0.0) ** 2)

    def prox(self, omega, v):
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        return np.where(
            omega >= 1, omega, np.where(omega + v < 0, omega + v, (omega + v) / (1 + v))
        )

    def prox_derivative(self, omega, v):
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        return np.where((omega < 1) & (omega + v >= 0), 1 / (1 + v), 1.0)

    def breakpoints(self, v):
        return np.stack([-np.asarray(v), np.ones_like(v)])


@pytest.mark.parametrize("loss", [*LOSSES, Huberized()])
@pytest.mark.parametrize("symmetrize", [False, True])
def test_the_minimum_obeys_the_envelope_theorem(loss, symmetrize):
    """d/dr of the minimal training objective, rho E_train + r Q_w / 2, is Q_w / 2: the weights are a minimum."""
    h = 1e-4
    reg = 0.7 * np.array([1 - h, 1.0, 1 + h])
    prediction = gl.predict(
        DATA, gl.GCN(gl.Residual([1.3, 0.2, -0.5]), loss, reg, symmetrize), tol=1e-13
    )
    Q_w = prediction.order_parameters.weights.Q
    energy = DATA.rho * prediction.train_loss + 0.5 * reg * Q_w
    assert (energy[2] - energy[0]) / (reg[2] - reg[0]) == pytest.approx(0.5 * Q_w[1], rel=1e-6)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_a_filter_does_not_depend_on_how_it_is_written(symmetrize):
    """Residual layers and their polynomial, the exponential and its long Euler product, scale against regularization."""
    c = np.array([0.4, 1.5, -0.6])
    polynomial = gl.Polynomial(np.polynomial.polynomial.polyfromroots(-c))
    scaled = gl.Polynomial(10 * polynomial.coefficients)
    for loss in ("square", "logistic"):
        first, second = (
            gl.predict(DATA, gl.GCN(f, loss, 0.5, symmetrize)) for f in (gl.Residual(c), polynomial)
        )
        third = gl.predict(DATA, gl.GCN(scaled, loss, 50.0, symmetrize))
        for field in FIELDS:
            assert getattr(first, field) == pytest.approx(getattr(second, field), abs=1e-8)
            assert getattr(first, field) == pytest.approx(getattr(third, field), abs=1e-8)


def test_a_graph_without_layers_is_ridge_on_a_gaussian_mixture():
    """Depth 0 on any graph: the graph must not enter, and t = 0 is the same."""
    for loss in ("square", "hinge"):
        answers = [
            gl.predict(
                gl.CSBM(alpha=2, lam=lam, mu=1.5, rho=0.3), gl.GCN(filter, loss, 0.8, symmetrize)
            ).test_loss
            for lam in (0.0, 2.0)
            for filter in (gl.Residual(np.empty(0)), gl.Diffusion(0.0))
            for symmetrize in (False, True)
        ]
        assert np.ptp(answers) < 1e-9


def test_heterophily_is_the_mirror_of_homophily():
    for symmetrize in (False, True):
        t = gl.predict(DATA, gl.GCN(gl.Diffusion(0.9), "logistic", 0.4, symmetrize))
        mirror = gl.CSBM(alpha=4, lam=-1.0, mu=2.0, rho=0.1)
        s = gl.predict(mirror, gl.GCN(gl.Diffusion(-0.9), "logistic", 0.4, symmetrize))
        assert t.test_accuracy == pytest.approx(s.test_accuracy, abs=1e-10)


def test_symmetric_order_parameters_are_symmetric_and_positive():
    o = gl.predict(
        DATA, gl.GCN(gl.Residual([1.0, 0.3, 0.8]), "logistic", 0.5, symmetrize=True)
    ).order_parameters
    for matrix in (o.layers.Q, o.layers.V, o.layers.Q_hat, o.layers.V_hat):
        assert np.allclose(matrix, matrix.T, rtol=1e-8)
        assert np.linalg.eigvalsh(matrix).min() > -1e-10 * np.abs(matrix).max()
    assert o.weights.Q * o.weights.m_hat > 0


def test_batches_equal_single_points():
    lam, reg = np.array([0.3, 1.0, 1.7]), np.array([[0.05], [20.0]])
    data = gl.CSBM(alpha=[2.0, 4.0, 1.0], lam=lam, mu=2.0, rho=0.2)
    together = gl.predict(data, gl.GCN(gl.Residual([0.5, 1.0]), "logistic", reg, symmetrize=False))
    alone = gl.predict(
        gl.CSBM(alpha=4.0, lam=1.0, mu=2.0, rho=0.2),
        gl.GCN(gl.Residual([0.5, 1.0]), "logistic", 20.0, symmetrize=False),
    )
    assert alone.test_accuracy == pytest.approx(together.test_accuracy[1, 1], abs=1e-11)


RANGE = [
    (gl.Residual.constant(0.0, 3), False, 0.1),
    (gl.Residual.constant(10.0, 30), True, 0.1),
    (gl.Residual.constant(1.0, 12), True, 0.5),
    (gl.Diffusion(3.0), True, 0.5),
    (gl.Diffusion(-5.0), False, 0.5),
]


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("filter", "symmetrize", "rho"), RANGE, ids=lambda value: str(value)[:30])
def test_converges_over_ten_decades_of_regularization(filter, symmetrize, rho, loss):
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=rho)
    x = 2 * np.cos(np.arange(1, 200) * np.pi / 200)
    gain = np.sum(filter(x) ** 2 * (1 - x**2 / 4)) / np.sum(1 - x**2 / 4)
    prediction = gl.predict(
        data, gl.GCN(filter, loss, gain * np.array([1e-4, 1e-2, 1.0, 1e3, 1e6]), symmetrize)
    )
    assert np.all(prediction.residual < 1e-10)
    assert np.all(np.diff(prediction.train_loss) >= -1e-9)


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("loss", ["square", "hinge"])
def test_regularization_out_of_all_proportion(loss, symmetrize):
    """Squares of outputs underflow long before the regularization does; the classifier stays that of infinity."""
    reg = [1e12, 1e80, 1e200, 1e300, math.inf]
    prediction = gl.predict(DATA, gl.GCN(gl.Diffusion(0.7), loss, reg, symmetrize))
    assert np.ptp(prediction.test_accuracy) < 1e-10


def test_failure_is_said():
    network = gl.GCN(gl.Residual.constant(1.0, 8), reg=[1.0, 1e-3], symmetrize=False)
    with pytest.raises(
        gl.ConvergenceError,
        match=r"2 of 2 points have no solution.*reg = 1 .*allow more iterations",
    ):
        gl.predict(DATA, network, max_iterations=3)
    with pytest.raises(gl.ConvergenceError, match="1 of 2 points have no solution"):
        gl.predict(DATA, network.replaced(reg=[np.inf, 1e-3]), max_iterations=3)
    quiet = gl.predict(DATA, network, max_iterations=3, throw=False)
    assert np.all(quiet.status == gl.Status.NOT_CONVERGED)
    assert np.all(quiet.residual > 1e-10)


@dataclass(frozen=True)
class Rising(gl.Loss):
    """A loss that pushes outputs away from their labels."""

    slope_at_zero = 1.0

    def value(self, z):
        return (1 + np.asarray(z)) ** 2 / 2

    def prox(self, omega, v):
        return (np.asarray(omega) - v) / (1 + v)


def test_a_loss_that_rises_at_zero_is_refused():
    with pytest.raises(gl.ParameterError, match="does not decrease at z = 0"):
        gl.predict(DATA, gl.GCN(gl.Residual([1.0]), Rising(), math.inf, symmetrize=False))


@pytest.mark.parametrize("symmetrize", [True, False])
def test_a_gain_beyond_all_numbers_is_said_at_once(symmetrize):
    """The gain is about 5**300: reg = 1 is 1e-400 in its units, and following solutions down to it would not end."""
    data, filter = gl.CSBM(4, 1.0, 2.0, 0.1), gl.Residual.constant(5.0, 300)
    lost = gl.predict(data, gl.GCN(filter, "logistic", 1.0, symmetrize), throw=False)
    assert lost.status == gl.Status.OUT_OF_RANGE
    assert lost.iterations == 0
    assert "normalize=True" in lost.status.message


def test_a_search_that_is_given_up_says_how_long_it_was():
    data, gcn = gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0), "hinge", 1e-3)
    with pytest.raises(gl.ConvergenceError, match=r"residual \S+ after \d+ iterations: the fixed"):
        gl.predict(data, gcn, max_iterations=3)
