"""The best filter at infinite regularization: exact gradients, dense scans, nesting, the ceiling above every family."""

import math

import numpy as np
import pytest
from problems import DATA, margin, random_data

import gcnlimit as gl
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.polynomials import DirectedFilters, SymmetricFilters
from gcnlimit.theory import limits
from gcnlimit.theory.points import Points

SIGNAL = np.array([0.0, 0.3, 0.9, -0.5, 1.0, 1.4, -2.1])


@pytest.mark.parametrize(
    "features", [None, gl.Spectrum([0.2, 1.8], [1.5, 0.5])], ids=["white", "coloured"]
)
@pytest.mark.parametrize("family, symmetrize", [(SymmetricFilters, True), (DirectedFilters, False)])
def test_margin_is_that_of_predict_and_its_gradient_is_exact(family, symmetrize, features):
    rng = np.random.default_rng(0)
    n, degree, h = SIGNAL.size, 6, 1e-6
    alpha, mu, rho = rng.uniform(0.5, 5, n), rng.uniform(0, 4, n), rng.uniform(0.05, 0.9, n)
    data = gl.CSBM(alpha, SIGNAL, mu, rho, directed=not symmetrize, features=features)
    filters = family(Points.of(data, gl.GCN(gl.Polynomial([1.0]), symmetrize=symmetrize)), degree)
    a, everyone = rng.normal(size=(n, degree + 1)), np.arange(n)

    network = gl.GCN(gl.Polynomial(filters.coefficients(a)), symmetrize=symmetrize)
    prediction = gl.predict(data, network)
    np.testing.assert_allclose(
        filters.margin(a, everyone), prediction.order_parameters.test_margin, rtol=1e-11
    )

    shift = h * np.eye(degree + 1)
    slope = [
        (filters.margin(a + d, everyone) - filters.margin(a - d, everyone)) / (2 * h) for d in shift
    ]
    np.testing.assert_allclose(filters.gradient(a, everyone), np.transpose(slope), atol=2e-8)
    np.testing.assert_allclose(filters.fit(filters.coefficients(a)), a, atol=1e-10)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_degree_one_against_a_scan_of_every_direction(symmetrize):
    data = random_data(30)
    angle = np.linspace(0, np.pi, 4001)
    lines = gl.Polynomial(np.stack([np.cos(angle), np.sin(angle)], axis=-1))
    columns = gl.CSBM(*(np.asarray(p)[:, None] for p in (data.alpha, data.lam, data.mu, data.rho)))
    scan = margin(gl.predict(columns, gl.GCN(lines, symmetrize=symmetrize))).max(axis=1)
    answer = gl.best_filter(data, 1, symmetrize, reg=math.inf)
    assert np.all(answer.status == gl.Status.CONVERGED)
    best = margin(answer.prediction)
    assert np.all(best >= scan - 1e-12)
    np.testing.assert_allclose(best, scan, atol=1e-5)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_degree_three_against_random_directions_and_climbs(symmetrize):
    data = random_data(4, seed=1)
    rng = np.random.default_rng(2)
    best = margin(gl.best_filter(data, 3, symmetrize, reg=math.inf).prediction)
    for k in range(4):
        one = gl.CSBM(data.alpha[k], data.lam[k], data.mu[k], data.rho[k])
        anything = gl.Polynomial(rng.normal(size=(40_000, 4)) / [1, 2, 4, 8])
        assert best[k] >= margin(gl.predict(one, gl.GCN(anything, symmetrize=symmetrize))).max()
        climbed = gl.tune(
            one, gl.GCN(gl.Polynomial(np.ones(4)), symmetrize=symmetrize), {"coefficients": (-1, 1)}
        )
        assert best[k] == pytest.approx(margin(climbed.prediction), abs=1e-9)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_nothing_is_above_the_ceiling(symmetrize):
    data = random_data(25, seed=3)
    ceiling = filter_ceiling(data, symmetrize, reg=math.inf)
    families = [
        (gl.Diffusion(1.0), {"t": (-20, 20)}),
        (gl.PageRank(0.0), {"theta": (-1, 1)}),
        (gl.Residual.constant(1.0, 3), {"c": [(-20, 20)] * 3}),
    ]
    for filter, free in families:
        tuned = gl.tune(data, gl.GCN(filter, symmetrize=symmetrize), free)
        assert np.all(ceiling.margin + ceiling.error >= margin(tuned.prediction) - 1e-12)
    assert np.all(ceiling.log_test_error >= gl.bayes_optimal(data).log_test_error)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_accuracy_grows_with_the_degree_towards_the_ceiling(symmetrize):
    data = random_data(6, seed=4)
    steps = np.array(
        [
            margin(gl.best_filter(data, k, symmetrize, reg=math.inf).prediction)
            for k in (0, 1, 2, 4, 8, 16, 24)
        ]
    )
    assert np.all(np.diff(steps, axis=0) >= -1e-10)
    ceiling = filter_ceiling(data, symmetrize, reg=math.inf)
    assert np.all(ceiling.margin >= steps[-1] - 1e-9)
    assert np.all(np.diff(steps, axis=0)[0] > np.diff(steps, axis=0)[-1])


def test_the_ceiling_is_reached_through_the_transition():
    signal = np.array([0.95, 1.0, 1.05])
    for symmetrize in (True, False):
        data = gl.CSBM(alpha=4, lam=signal / np.sqrt(2) if symmetrize else signal, mu=2.0, rho=0.01)
        ceiling = filter_ceiling(data, symmetrize, reg=math.inf)
        assert np.all(ceiling.status == gl.Status.CONVERGED)
        assert np.all(np.diff(ceiling.margin) > 0)


def test_degree_zero_ignores_the_graph():
    best = gl.best_filter(DATA, 0, reg=math.inf)
    assert margin(best.prediction) == pytest.approx(
        limits.short_diffusion_margin(DATA, 0.0, True), abs=1e-13
    )


def test_filter_follows_the_sign_of_the_graph_signal():
    lam = np.array([-0.9, 0.9])
    best = gl.best_filter(gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1), 6, reg=math.inf)
    sign = (-1.0) ** np.arange(7)
    np.testing.assert_allclose(best.coefficients[0], sign * best.coefficients[1], atol=1e-6)
    assert best.g[1, -2] == pytest.approx(best.g[0, 0], abs=1e-6)


def test_values_on_the_spectrum_are_those_of_the_coefficients():
    data = gl.CSBM(alpha=4, lam=[0.5, 1.5], mu=2.0, rho=0.1)
    best = gl.best_filter(data, 5)
    for k in range(2):
        np.testing.assert_allclose(
            gl.Polynomial(best.coefficients[k])(best.x[k]), best.g[k], atol=1e-12
        )
        assert np.abs(best.g[k]).max() == pytest.approx(1.0)
    signal = 1.5 * np.sqrt(2)
    assert best.x[1, -1] == pytest.approx(signal + 1 / signal)


@pytest.mark.parametrize(
    "features", [None, gl.Spectrum([0.2, 1.8], [1.5, 0.5])], ids=["white", "coloured"]
)
def test_the_margin_at_finite_reg_is_that_of_predict_and_its_gradient_is_exact(features):
    known = random_data(5, seed=2)
    data = gl.CSBM(known.alpha, known.lam, known.mu, known.rho, features=features)
    filters = SymmetricFilters(Points.of(data, gl.GCN(gl.Polynomial([1.0]))), 5, finite=True)
    everyone, h = np.arange(5), 1e-6
    a = np.concatenate(
        [np.random.default_rng(0).normal(size=(5, 6)), np.full((5, 1), -1.5)], axis=1
    )

    gcn = gl.GCN(gl.Polynomial(filters.coefficients(a)), reg=filters.reg(a))
    found = gl.predict(data, gcn, tol=1e-12).order_parameters.test_margin
    np.testing.assert_allclose(filters.margin(a, everyone), found, atol=1e-10)

    slope = [
        (filters.margin(a + d, everyone) - filters.margin(a - d, everyone)) / (2 * h)
        for d in h * np.eye(7)
    ]
    np.testing.assert_allclose(filters.gradient(a, everyone), np.transpose(slope), atol=1e-8)
