"""Symmetric graphs at finite regularization: four numbers on the spectrum against the equations of the whole chain."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.points import Points
from gcnlimit.theory.spectrum import Pulls, SpectralProblem
from validation.chain_equations import apply_equations

FILTERS = [
    gl.Residual([0.5, 1.2, -0.3]),
    gl.Residual.constant(1.0, 8),
    gl.Diffusion(-1.2),
    gl.PageRank(0.2),
    gl.Polynomial([0.3, 0.2, -0.5, 0.1]),
    gl.Residual(np.empty(0)),
]
GRAPHS = [
    (gl.CSBM(alpha=2.0, lam=0.9, mu=1.5, rho=0.4), True),
    (gl.CSBM(alpha=0.7, lam=-0.4, mu=0.5, rho=0.9), True),
    (gl.CSBM(alpha=4.0, lam=1.3, mu=2.0, rho=0.1, directed=False), False),
]


@pytest.mark.parametrize("filter", FILTERS, ids=lambda f: repr(f)[:30])
@pytest.mark.parametrize(("data", "symmetrize"), GRAPHS, ids=["symmetrized", "interpolating", "natively symmetric"])
@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_every_order_parameter_solves_the_chain_equations(filter, data, symmetrize, loss):
    """The chain knows the layers and their memory along each edge; the spectrum does not. They agree on everything."""
    for reg in (0.03, 3.0):
        gcn = gl.GCN(filter, loss, reg, symmetrize)
        parameters = gl.predict(data, gcn, tol=1e-13).order_parameters
        for name, new in apply_equations(data, gcn, parameters).items():
            assert np.abs(new - parameters[name]).max(initial=0.0) <= 1e-9 * np.abs(new).max(initial=0.0), name


def test_states_are_packed_without_loss():
    pulls = Pulls(*(np.array(x) for x in ([0.3, 2.0], [0.1, 4.0], [-0.2, 0.5], [0.0, 3.0])))
    peak = np.array([1.0, 30.0])
    for old, new in zip(pulls, Pulls.unpack(pulls.pack(peak), peak), strict=True):
        assert np.allclose(old, new, rtol=1e-14, atol=1e-15)


def test_the_grid_is_refined_until_it_does_not_matter():
    """A filter with a zero inside the spectrum has sharp features at small regularization."""
    data = gl.CSBM(alpha=1.1, lam=0.5, mu=1.0, rho=0.9)
    gcn = gl.GCN(gl.Polynomial([-1.0, 0.0, 1.0]), "square", 1e-5, symmetrize=True)
    points = Points.of(data, gcn)
    prediction = gl.predict(data, gcn)
    assert prediction.train_loss == pytest.approx(_ridge_on_a_fixed_grid(points, 6000), rel=1e-8)


def _ridge_on_a_fixed_grid(points, nodes):
    """Plain iteration of the equations for the square loss on one fine grid."""
    problem = SpectralProblem.of(points, nodes)
    rows = problem.start()
    for _ in range(4000):
        rows = rows + 0.3 * (problem.next(rows) - rows)
    mean, variance, v = problem.graph_side(problem.pulls(rows)).output
    return float((0.5 * ((1 - mean) ** 2 + variance) / (1 + v) ** 2)[0])


def test_a_truncated_series_approaches_the_filter_itself():
    """The spectrum takes PageRank as it is; long polynomials come close to it."""
    data, theta = gl.CSBM(alpha=4, lam=0.6, mu=2.0, rho=0.1), 0.3
    exact = gl.predict(data, gl.GCN(gl.PageRank(theta), "logistic", 0.5, symmetrize=True)).test_accuracy
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


HARD = [
    (gl.Residual.constant(2.0, 30), 1.9, 0.4, 0.05, "logistic", 1e2),
    (gl.Residual.constant(0.5, 30), 1.7, 2.0, 0.6, "hinge", 1e0),
    (gl.Diffusion(4.98), 1.91, 7.8, 0.74, "hinge", 1.5e-4),
    (gl.Diffusion(-4.1), -1.89, 0.46, 0.88, "hinge", 2e-4),
    (gl.Diffusion(5.0), 1.0, 4.0, 0.5, "square", 1e-2),
    (gl.Residual.constant(10.0, 30), 1.0, 4.0, 1.0, "square", 1e-4),
]


@pytest.mark.parametrize("point", HARD, ids=lambda point: f"{point[0]!r:.30} {point[4:]}")
def test_hard_points_are_solved(point):
    """Gains along the labels of up to 1e9 times that of the bulk make outputs large and the equations stiff."""
    filter, lam, alpha, rho, loss, reg = point
    data = gl.CSBM(alpha=alpha, lam=lam, mu=2.0, rho=rho)
    unit = float(SpectralProblem.of(Points.of(data, gl.GCN(filter, symmetrize=True)), 400).gain[0] ** 2)
    nearby = reg * unit * np.array([0.999, 1.0, 1.001])
    prediction = gl.predict(data, gl.GCN(filter, loss, nearby, symmetrize=True), tol=1e-11)
    assert np.all(prediction.residual < 1e-11)
    Q_w = prediction.order_parameters.Q_w  # the weights are a minimum: the envelope theorem in reg
    energy = rho * prediction.train_loss + 0.5 * nearby * Q_w
    assert (energy[2] - energy[0]) / (nearby[2] - nearby[0]) == pytest.approx(0.5 * Q_w[1], rel=1e-5)
