"""Ridge regressions at complex regularizations: their equation, its root, the ends of the spectrum, and real ones."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.finite_reg.path import PageRankRidge, SymmetricRidge
from gcnlimit.theory.points import Points

DATA = gl.CSBM(alpha=1.7, lam=0.8, mu=1.5, rho=0.4)
RIDGES = {
    "diffusion": (gl.Diffusion(-0.7), True),
    "symmetric PageRank": (gl.PageRank(0.3), True),
    "directed PageRank": (gl.PageRank(0.3), False),
}


def ridge_of(data, filter, symmetrize):
    points = Points.of(data, gl.GCN(filter, symmetrize=symmetrize))
    return SymmetricRidge(points, 200) if symmetrize else PageRankRidge(points)


@pytest.fixture(params=RIDGES.values(), ids=RIDGES)
def ridge(request):
    return ridge_of(DATA, *request.param)


def around(ridge, width):
    """Regularizations on an ellipse around the spectrum, above and below the real axis."""
    (low,), (high,) = ridge.ends()
    angle = np.linspace(0.05, np.pi - 0.05, 20)
    above = -0.5 * (low + high + (high - low) * np.cosh(width + 1j * angle))
    return np.concatenate([above, above.conj()])[None]


def test_the_slope_of_the_regularization_is_its_derivative(ridge):
    variable = ridge.followed(around(ridge, 0.4))
    for step in (1e-6 * variable, 1e-6j * variable):
        above, below = (ridge.reg(variable + side * step)[0] for side in (1, -1))
        difference = (above - below) / (2.0 * step)
        np.testing.assert_allclose(ridge.reg(variable)[1], difference, rtol=1e-7)


def test_roots_are_followed_to_the_spectrum_in_their_half_plane(ridge):
    for width in (0.02, 0.3, 2.0):
        zeta = around(ridge, width)
        variable = ridge.followed(zeta)
        np.testing.assert_allclose(ridge.reg(variable)[0], zeta, rtol=1e-10)
        assert np.all(variable.imag * zeta.imag > 0.0)
        few = np.arange(0, zeta.shape[1], 3)[:7]
        part = slice(0, few[-1] + 1)
        between = ridge.between(variable[:, few], few, zeta[:, part])
        np.testing.assert_allclose(between, variable[:, part], rtol=1e-9)
        astray = ridge.between(variable[:, few].conj(), few, zeta[:, part])
        np.testing.assert_allclose(astray, variable[:, part], rtol=1e-9)


def test_far_away_the_variable_is_explicit(ridge):
    for zeta in (np.array([[1e4 + 0j]]), np.array([[1e4j]])):
        start = ridge.start(zeta)
        # on a symmetric graph up to the second power of 1/zeta
        rtol = 1e-7 if isinstance(ridge, SymmetricRidge) else 1e-3
        np.testing.assert_allclose(ridge.polished(start, zeta), start, rtol=rtol)


@pytest.mark.parametrize("name", RIDGES)
def test_at_real_regularizations_it_is_the_trained_network(name):
    filter, symmetrize = RIDGES[name]
    ridge = ridge_of(DATA, filter, symmetrize)
    variable = ridge.start(np.array([[1e3 + 0j]]))
    zeta = np.geomspace(1e3, 0.05, 31)
    columns = []
    for each in zeta:
        variable = ridge.polished(variable, np.array([[each]]))
        columns.append(np.ravel(ridge.path(variable)).real)
    missed, kept, scale, weights = np.transpose(columns[::10])
    zeta, unit = zeta[::10], float(ridge.unit[0])
    gcn = gl.GCN(filter, "square", zeta * unit, symmetrize)
    answer = gl.predict(DATA, gcn).order_parameters
    np.testing.assert_allclose(1.0 - missed, answer.output.mean, rtol=1e-8)
    np.testing.assert_allclose(weights / np.sqrt(unit), answer.weights.m, rtol=1e-8)
    np.testing.assert_allclose(kept * scale, zeta, rtol=1e-9)


@pytest.mark.parametrize("alpha, rho", [(1.7, 0.4), (0.3, 0.9), (5.0, 0.6)])
def test_without_a_graph_the_spectrum_is_that_of_covariances(alpha, rho):
    """The law of Marchenko and Pastur, and beyond the transition the eigenvalue that the class means make."""
    for mu in (0.0, 0.3, 4.0):
        data = gl.CSBM(alpha, 0.0, mu, rho)
        for filter, symmetrize in ((gl.Polynomial([1.0]), True), (gl.PageRank(0.0), False)):
            low, high = ridge_of(data, filter, symmetrize).ends()
            root = np.sqrt(rho), np.sqrt(1.0 / alpha)
            edge = (root[0] + root[1]) ** 2
            if mu**2 * rho > alpha:
                edge = (1.0 + rho * mu) * (1.0 / alpha + 1.0 / mu)
            least = (root[0] - root[1]) ** 2
            assert least - 0.1 * edge <= low[0] <= least * (1.0 + 1e-9)
            assert edge * (1.0 - 1e-9) <= high[0] <= edge * 1.01
