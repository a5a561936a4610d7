"""The best polynomials of a directed graph at finite regularization: closed margins, exact gradients, nothing above them."""

import math

import numpy as np
import pytest
from problems import random_data

import gcnlimit as gl
from gcnlimit.choose.directed_reg import directed_margins
from gcnlimit.choose.polynomials import SymmetricFilters, TrainedDirectedFilters
from gcnlimit.choose.search import margin
from gcnlimit.theory.points import Points

MANY_LABELS = gl.CSBM(alpha=4, lam=0.75, mu=0.5, rho=0.5)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(
    "filter",
    [
        gl.Diffusion(np.linspace(-2, 2, 12)),
        gl.PageRank(np.linspace(-0.45, 0.45, 12)),
        gl.Residual(np.random.default_rng(2).normal(size=(12, 3))),
    ],
    ids=["diffusion", "pagerank", "residual"],
)
def test_the_closed_margin_solves_the_self_consistent_equations(filter, normalize):
    data = random_data(12)
    gcn = gl.GCN(filter, reg=np.geomspace(1e-3, 1e4, 12), symmetrize=False, normalize=normalize)
    closed = directed_margins(Points.of(data, gcn))
    np.testing.assert_allclose(closed, margin(gl.predict(data, gcn, tol=1e-12)), atol=1e-9)


@pytest.mark.parametrize("features", [None, gl.Spectrum([0.2, 1.8], [1.5, 0.5])], ids=["white", "coloured"])
@pytest.mark.parametrize("family, symmetrize", [(SymmetricFilters, True), (TrainedDirectedFilters, False)])
def test_the_margin_at_finite_reg_is_that_of_predict_and_its_gradient_is_exact(family, symmetrize, features):
    known = random_data(5, seed=2)
    data = gl.CSBM(known.alpha, known.lam, known.mu, known.rho, features=features)
    filters = family(Points.of(data, gl.GCN(gl.Polynomial([1.0]), symmetrize=symmetrize)), 5, finite=True)
    everyone, h = np.arange(5), 1e-6
    a = np.concatenate([np.random.default_rng(0).normal(size=(5, 6)), np.full((5, 1), -1.5)], axis=1)

    gcn = gl.GCN(gl.Polynomial(filters.coefficients(a)), reg=filters.reg(a), symmetrize=symmetrize)
    found = gl.predict(data, gcn, tol=1e-12).order_parameters.test_margin
    np.testing.assert_allclose(filters.margin(a, everyone), found, atol=1e-10)

    slope = [(filters.margin(a + d, everyone) - filters.margin(a - d, everyone)) / (2 * h) for d in h * np.eye(7)]
    np.testing.assert_allclose(filters.gradient(a, everyone), np.transpose(slope), atol=1e-8)


def test_random_filters_at_random_regularizations_stay_below():
    rng = np.random.default_rng(5)
    best = gl.best_filter(MANY_LABELS, 4, False)
    coefficients = best.coefficients + rng.normal(size=(300, 5)) * 10.0 ** rng.uniform(-3, 0, (300, 1))
    gcn = gl.GCN(gl.Polynomial(coefficients), reg=best.gcn.reg * 10.0 ** rng.normal(size=300), symmetrize=False)
    assert margin(gl.predict(MANY_LABELS, gcn, throw=False)).max() <= margin(best.prediction) + 1e-10


def test_polynomials_grow_with_their_order_and_gain_from_a_finite_regularization():
    steps = [margin(gl.best_filter(MANY_LABELS, order, False).prediction) for order in (0, 1, 3, 8)]
    assert np.all(np.diff(steps) > 0)
    infinite = gl.best_filter(MANY_LABELS, 8, False, reg=math.inf)
    assert margin(infinite.prediction) < steps[-1] - 0.01
