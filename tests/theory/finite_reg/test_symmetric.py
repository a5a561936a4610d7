"""Averages over the spectrum of a symmetric graph: the grid does not matter, and neither does the form of the filter."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations
from gcnlimit.theory.points import Points


def test_the_grid_is_refined_until_it_does_not_matter():
    """A filter with a zero inside the spectrum has sharp features at small regularization."""
    data = gl.CSBM(alpha=1.1, lam=0.5, mu=1.0, rho=0.9)
    gcn = gl.GCN(gl.Polynomial([-1.0, 0.0, 1.0]), "square", 1e-5, symmetrize=True)
    points = Points.of(data, gcn)
    prediction = gl.predict(data, gcn)
    assert prediction.train_loss == pytest.approx(_ridge_on_a_fixed_grid(points, 6000), rel=1e-8)


def _ridge_on_a_fixed_grid(points, nodes):
    """Plain iteration of the equations for the square loss on one fine grid."""
    problem = SymmetricEquations.of(points, nodes)
    rows = problem.start()
    for _ in range(4000):
        rows = rows + 0.3 * (problem.next(rows) - rows)
    mean, variance, v = problem.evaluate(rows)[0].output
    return float((0.5 * ((1 - mean) ** 2 + variance) / (1 + v) ** 2)[0])


def test_a_truncated_series_approaches_the_filter_itself():
    """The spectrum takes PageRank as it is; long polynomials come close to it."""
    data, theta = gl.CSBM(alpha=4, lam=0.6, mu=2.0, rho=0.1), 0.3
    exact = gl.predict(
        data, gl.GCN(gl.PageRank(theta), "logistic", 0.5, symmetrize=True)
    ).test_accuracy
    errors = [
        abs(
            gl.predict(
                data, gl.GCN(gl.Polynomial(theta ** np.arange(n)), "logistic", 0.5, symmetrize=True)
            ).test_accuracy
            - exact
        )
        for n in (5, 10, 20, 40)
    ]
    assert np.all(np.diff(errors) < 0.0)
    assert errors[-1] < 1e-9
