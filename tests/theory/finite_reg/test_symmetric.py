"""Averages over the spectrum of a symmetric graph: the grid does not matter, and neither does the form of the filter."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.finite_reg import symmetric
from gcnlimit.theory.finite_reg.symmetric import SymmetricEquations
from gcnlimit.theory.points import Points


@pytest.mark.slow
def test_the_grid_is_refined_until_it_does_not_matter():
    """A filter with a zero inside the spectrum has sharp features at small regularization."""
    data = gl.CSBM(alpha=1.1, lam=0.5, mu=1.0, rho=0.9)
    gcn = gl.GCN(gl.Polynomial([-1.0, 0.0, 1.0]), "square", 1e-5, symmetrize=True)
    points = Points.of(data, gcn)
    prediction = gl.predict(data, gcn)
    assert prediction.train_loss == pytest.approx(_ridge_on_a_fixed_grid(points, 6000), rel=1e-8)


@pytest.mark.parametrize("nodes", [100, 156, 216])
def test_a_point_does_not_depend_on_the_grid_of_its_batch(monkeypatch, nodes):
    """Outputs at the regularization where the search begins are large: it must begin further away, whatever is rounded how."""
    monkeypatch.setattr(symmetric, "_first_nodes", lambda filter: np.array([nodes]))
    data = gl.CSBM(
        alpha=0.01910237, lam=0.51026382, mu=75.79899, rho=1.0, directed=False, noise=0.16925328
    )
    found = gl.predict(data, gl.GCN(gl.PageRank(0.27585253), "hinge", 1.0913388, normalize=True))
    assert found.test_accuracy == pytest.approx(0.9228888690639, abs=1e-7)
    assert found.iterations < 1000


def _ridge_on_a_fixed_grid(points, nodes):
    """Plain iteration of the equations for the square loss on one fine grid."""
    problem = SymmetricEquations.of(points, nodes)
    rows = problem.start()
    for _ in range(4000):
        rows = rows + 0.3 * (problem.next(rows) - rows)
    mean, variance, v = problem.evaluate(rows)[0]
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
