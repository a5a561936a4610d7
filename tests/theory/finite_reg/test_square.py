"""The square loss by one number: its margins are those of the equations that hold for every loss."""

import numpy as np
import pytest
from problems import random_data

import gcnlimit as gl
from gcnlimit.numerics.spectral import SpikedSemicircle
from gcnlimit.theory.finite_reg import square
from gcnlimit.theory.points import Points

REG = np.logspace(-3, 3, 12)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(
    "filter, symmetrize",
    [
        (gl.Diffusion(0.6), True),
        (gl.Polynomial([0.2, 1.0, -0.3]), True),
        (gl.PageRank(0.15), True),
        (gl.PageRank(-0.3), False),
    ],
    ids=repr,
)
def test_one_number_gives_the_margins_of_all_equations(filter, symmetrize, normalize):
    data = random_data(REG.size, seed=6)
    gcn = gl.GCN(filter, "square", REG, symmetrize, normalize=normalize)
    margin = gl.predict(data, gcn).order_parameters.test_margin
    np.testing.assert_allclose(square.square_margins(Points.of(data, gcn)), margin, rtol=1e-8)


@pytest.mark.parametrize("symmetrize", [True, False])
def test_features_of_any_strength_leave_digits(symmetrize):
    """Strong ones cancel nearly all of the pull along the labels."""
    data = gl.CSBM(5.0, -2.0, 10.0 ** np.arange(0.0, 46.0, 3.0), 0.01)
    gcn = gl.GCN(gl.PageRank(-0.12), "square", 1e-20, symmetrize)
    margin = gl.predict(data, gcn).order_parameters.test_margin
    np.testing.assert_allclose(square.square_margins(Points.of(data, gcn)), margin, rtol=1e-8)
    assert np.all(np.diff(margin) > -1e-9 * margin[1:])


@pytest.mark.parametrize("s", [1e-3, 0.3, 2.0])
def test_the_number_has_its_regularization_and_margin_with_coloured_features(s):
    features = gl.Spectrum([0.2, 1.8, 0.9], [1.5, 0.5, 1.0])
    data = gl.CSBM(0.8, 0.7, 1.5, 0.6, features=features)
    alpha, mu, rho, s = (np.array([x]) for x in (data.alpha, data.mu, data.rho, s))
    measure = SpikedSemicircle.of(np.atleast_1d(data.effective_signal(True)), 200)
    g = 1.0 + 0.5 * measure.x
    d = 1.0 / (1.0 + s * g**2)
    graph = square.spectral_transforms(measure, g * d, g**2 * d, s)
    reg = float(square.square_reg(graph.W, s, alpha, rho, features)[0])
    margin = square.square_margin(graph, s, alpha, mu, rho, features=features)
    there = gl.predict(data, gl.GCN(gl.Polynomial([1.0, 0.5]), "square", reg))
    assert float(margin[0]) == pytest.approx(there.order_parameters.test_margin, rel=1e-8)


def test_beyond_the_most_freedom_there_is_no_regularization():
    alpha, rho = np.array([0.5, 2.0]), np.array([0.3, 0.9])
    most = square.most_freedom(alpha, rho)
    assert most.tolist() == [0.3, 0.5]  # as many as labels, or as features
    for over in (0.999, 1.001):
        reg = square.square_reg(over * most, np.ones(2), alpha, rho)
        assert np.all(reg > 0.0) if over < 1.0 else np.isnan(reg).all()
    assert np.isinf(square.square_reg(np.ones(2), np.zeros(2), alpha, rho)).all()
