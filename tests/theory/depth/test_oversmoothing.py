"""Along the depth: signal, feature information, distance to PCA, and learning rates recovered from predicted errors."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.depth import oversmoothing
from gcnlimit.theory.depth.oversmoothing import _leading

GRAPHS = {"directed": False, "symmetrized": True}
graphs = pytest.mark.parametrize("symmetrize", GRAPHS.values(), ids=GRAPHS)


def slope(x, y):
    """Slope of a straight line."""
    return np.polyfit(x, y, 1)[0]


def profile(data, c, depths, symmetrize):
    filters = [gl.Residual.constant(c(K), int(K)) for K in depths]
    return gl.depth.oversmoothing(data, filters, symmetrize=symmetrize)


@graphs
@pytest.mark.parametrize("c", [0.0, 1.0, 3.0])
def test_above_the_transition_the_distance_to_pca_falls_exponentially(symmetrize, c):
    data = gl.CSBM(alpha=4, lam=1.5, mu=3, rho=0.1)
    depths = np.arange(60, 121, 10)
    found = profile(data, lambda K: c, depths, symmetrize)
    gamma = gl.limits.pca_rate(data.effective_signal(symmetrize), c, symmetrize)
    power = (
        1.5 if symmetrize else (0.0 if c == 0 else 0.5)
    )  # of the edge of the semicircle, of the central binomial
    distance = found.pca_distance * depths**power
    good = distance > 1e-28
    assert np.isclose(-slope(depths[good], np.log(distance[good])), gamma, rtol=0.02)
    assert np.all(np.abs(found.pca_gap[-1]) < 0.02)
    assert np.all(np.diff(np.abs(found.feature_information)) < 1e-12)


@pytest.mark.parametrize("c", [0.0, 1.0, 3.0])
def test_the_margin_of_a_directed_network_converges_at_its_own_rate(c):
    data, lam = gl.CSBM(alpha=4, lam=1.5, mu=3, rho=0.1), 1.5
    depths = np.arange(24, 34, 2) if c == 0 else np.arange(40, 71, 10)
    gap = np.abs(profile(data, lambda K: c, depths, False).pca_gap)
    assert np.isclose(
        -slope(depths, np.log(gap / depths)), np.log((lam + c) / (1 / lam + c)), rtol=0.02
    )


def test_the_margin_of_a_symmetric_network_feels_the_edge_linearly():
    data, depths = gl.CSBM(alpha=4, lam=1.5, mu=3, rho=0.1, directed=False), np.arange(120, 221, 20)
    gap = np.abs(profile(data, lambda K: 1.0, depths, False).pca_gap)
    assert np.isclose(
        -slope(depths, np.log(gap * depths**1.5)), gl.limits.pca_rate(1.5, 1.0, True) / 2, rtol=0.05
    )


def test_below_the_transition_the_margin_of_bare_layers_falls_like_one_over_the_root():
    """The paper's law, with its constant: a directed graph and no residual connections."""
    lam, rho = 0.6, 0.1
    gathered = lam**2 / (1 - lam**2)
    constant = gathered / np.sqrt(1 / rho + gathered)
    margin = profile(
        gl.CSBM(alpha=4, lam=lam, mu=1, rho=rho), lambda K: 0.0, [100, 200], False
    ).pca_gap
    assert np.isclose(np.diff(margin**-2.0) / 100, constant**-2.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("symmetrize", "c"), [(False, 1.0), (False, 3.0), (True, 0.0), (True, 1.0)]
)
def test_below_the_transition_other_networks_forget_faster(symmetrize, c):
    data = gl.CSBM(alpha=4, lam=0.3, mu=1, rho=0.1)
    depths = np.array([400, 600, 900])
    margin = profile(data, lambda K: c, depths, symmetrize).pca_gap
    assert np.isclose(slope(np.log(depths), np.log(margin)), -0.75, atol=0.03)


@graphs
def test_growing_residual_strength_keeps_the_features(symmetrize):
    data, t = gl.CSBM(alpha=4, lam=0.7, mu=1, rho=0.1), 0.7
    grown = profile(data, lambda K: K / t, [16, 32, 64], symmetrize)
    continuous = gl.depth.oversmoothing(data, [gl.Diffusion(t)], symmetrize=symmetrize)
    for name in ("test_accuracy", "signal", "feature_information", "pca_distance"):
        values, limit = getattr(grown, name), getattr(continuous, name)[0]
        assert abs(values[2] - limit) <= 0.6 * abs(values[1] - limit) + 1e-12  # like 1/K
        assert np.isclose(values[2], limit, rtol=0.05)
    assert continuous.feature_information[0] > 0.2 * continuous.signal[0]


@graphs
def test_the_distance_to_pca_is_that_of_sampled_outputs(symmetrize):
    N, alpha, lam, mu, rho = 500, 2.0, 1.6, 1.5, 0.3
    filters = [gl.Residual([0.0]), gl.Residual([1.0, 1.0, 1.0]), gl.Diffusion(1.0)]
    expected = gl.depth.oversmoothing(
        gl.CSBM(alpha, lam, mu, rho, directed=not symmetrize), filters, symmetrize=symmetrize
    ).pca_distance
    rng, seen = np.random.default_rng(1), []
    for _ in range(40):
        y, X = rng.choice([-1.0, 1.0], N), rng.normal(size=(N, int(N / alpha)))
        X += np.sqrt(mu / N) * np.outer(y, rng.normal(size=X.shape[1]))
        noise = rng.normal(size=(N, N)) / np.sqrt(N)
        a = lam / N * np.outer(y, y) + ((noise + noise.T) / np.sqrt(2) if symmetrize else noise)
        v = y
        for _ in range(50):
            v = a @ v
            v /= np.linalg.norm(v)
        train = y * (rng.permutation(N) < rho * N)
        outputs = [f.apply(a, X @ (X.T @ f.apply(a.T, train))) for f in filters]
        seen.append([1 - (h @ v) ** 2 / (h @ h) for h in outputs])
    error = np.std(seen, axis=0, ddof=1) / np.sqrt(len(seen))
    assert np.all(error < 0.01)
    assert np.all(np.abs(np.mean(seen, axis=0) - expected) < 4 * error)


def test_without_noise_the_distance_to_pca_is_that_of_moments():
    """All nodes labelled and many features: the output of one layer is (a^2 + mu s a) y, of moments :math:`y^T a^k y`."""
    s, mu = 1.7, 0.8
    data = gl.CSBM(alpha=1e-12, lam=s, mu=mu, rho=1.0, directed=False)
    (found,) = gl.depth.oversmoothing(data, [gl.Residual([0.0])], symmetrize=False).pca_distance
    atom, x = 1.0 - s**-2, s + 1.0 / s
    second, third, fourth = s**2 + 1.0, s**3 + 2.0 * s, s**4 + 3.0 * s**2 + 2.0
    norm = fourth + 2.0 * mu * s * third + (mu * s) ** 2 * second
    assert found == pytest.approx(1.0 - atom * (x**2 + mu * s * x) ** 2 / norm, rel=1e-9)


def test_below_the_transition_pca_is_as_far_as_anything():
    found = profile(gl.CSBM(alpha=4, lam=[0.5, -0.9], mu=1, rho=0.1), lambda K: 1.0, [1, 4], False)
    assert np.all(found.pca_distance == 1.0)
    assert np.all(found.pca_gap**2 == found.signal)


def test_filters_are_validated():
    data = gl.CSBM(alpha=4, lam=1.5, mu=3, rho=0.1)
    for filters in ([], [gl.Diffusion([1.0, 2.0])], [1.0], gl.Diffusion(1.0)):
        with pytest.raises(gl.ParameterError, match="filters"):
            gl.depth.oversmoothing(data, filters, symmetrize=False)


SEVERAL = gl.CSBM(alpha=[4.0, 1.0, 0.5], lam=1.0, mu=[1.0, 3.0, 0.0], rho=[0.1, 0.3, 0.9])
DEEP = [
    gl.Residual.constant(0.0, 2),
    gl.Residual.constant(1.0, 2),
    gl.Residual([1.0, -0.5, 2.0]),
    gl.Diffusion(1.0),
]


@pytest.mark.parametrize("filter", DEEP)
def test_deep_networks_reach_half_of_the_rate_and_all_of_it_if_symmetrized(filter):
    assert np.allclose(
        gl.depth.learning_rate(SEVERAL, gl.GCN(filter, symmetrize=False)), 0.5, atol=1e-5
    )
    assert np.allclose(
        gl.depth.learning_rate(SEVERAL, gl.GCN(filter, symmetrize=True)), 1.0, atol=1e-5
    )


def test_bayes_optimal_rate():
    assert np.allclose(gl.depth.learning_rate(SEVERAL), 1.0, atol=1e-6)
    symmetric = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1, directed=False)
    assert np.isclose(gl.depth.learning_rate(symmetric), 0.5, atol=1e-6)
    assert np.isclose(
        gl.depth.learning_rate(symmetric, gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=False)),
        0.5,
        atol=1e-5,
    )


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("c", [0.0, 1.0, -2.0])
def test_one_layer_stays_below(symmetrize, c):
    rate = gl.depth.learning_rate(SEVERAL, gl.GCN(gl.Residual([c]), symmetrize=symmetrize))
    assert np.allclose(rate, gl.limits.one_layer_rate(SEVERAL, c, symmetrize=symmetrize), atol=1e-5)
    assert np.all(rate < (1.0 if symmetrize else 0.5))


def test_one_layer_reaches_it_when_the_features_say_everything():
    assert np.isclose(
        gl.limits.one_layer_rate(gl.CSBM(alpha=1, lam=1.0, mu=1e6, rho=0.1), symmetrize=False),
        0.5,
        atol=1e-5,
    )


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_regularization_barely_matters(loss):
    signals = np.linspace(8.0, 30.0, 10)
    data = gl.CSBM(alpha=1, lam=1.0, mu=1.0, rho=0.5)
    finite = gl.depth.learning_rate(
        data, gl.GCN(gl.Residual([0.0, 0.0]), loss, reg=1e4, symmetrize=False), signals=signals
    )
    assert np.isclose(finite, 0.5, atol=0.05)


def test_bad_input_is_refused():
    with pytest.raises(gl.ParameterError, match="one network"):
        gl.depth.learning_rate(SEVERAL, gl.GCN(gl.Diffusion([1.0, 2.0]), symmetrize=False))
    with pytest.raises(gl.ParameterError, match="six"):
        gl.depth.learning_rate(SEVERAL, signals=[10.0, 20.0])


def test_the_rate_is_read_off_beside_every_power_and_the_logarithm():
    lam = np.array([20.0, 30.0, 45.0, 70.0, 100.0, 150.0, 230.0])
    rng = np.random.default_rng(0)
    terms = [lam**2, lam, np.log(lam), lam**0.0, 1.0 / lam, lam**-2.0]
    coefficients = rng.normal(size=(2, 3, len(terms)))
    np.testing.assert_allclose(
        _leading(lam, coefficients @ terms), coefficients[..., 0], rtol=0, atol=1e-9
    )


def test_a_rate_whose_largest_signal_has_no_solution_waits_for_no_other(monkeypatch):
    asked = []

    def unsolved(data, gcn):
        asked.append(data.lam)
        raise gl.ConvergenceError(f"no solution at reg = {gcn.reg:g}")

    monkeypatch.setattr(oversmoothing, "predict", unsolved)
    with pytest.raises(gl.ConvergenceError, match=r"reg = 1"):
        gl.depth.learning_rate(gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Residual([1.0]), "hinge", 1.0))
    assert asked == [400.0]
