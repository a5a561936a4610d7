"""Graphs with heterogeneous degrees: sampled, stored, trained on and inferred, against the theory."""

import math

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.normalization import as_normalization
from gcnlimit.simulation.data.operator import normalized_operator, propensities
from gcnlimit.simulation.measure import AVERAGES
from gcnlimit.simulation.simulate import _standard_error

LAW = gl.Degrees([1.0, 2.0, 6.0], weight=[4.0, 3.0, 1.0])


def model(law=LAW, **changes):
    return gl.CSBM(
        **(
            {"alpha": 4.0, "lam": 1.1, "mu": 2.0, "rho": 0.2, "directed": False, "degrees": law}
            | changes
        )
    )


@pytest.mark.parametrize(
    "law", [gl.Gamma(0.5), gl.LogNormal(0.3), gl.Pareto(2.5, 20.0), LAW], ids=repr
)
def test_instances_keep_their_law(law, tmp_path):
    instance = gl.sample(model(law), nodes=300, degree=10, seed=1)
    instance.save(tmp_path / "graph.npz")
    again = gl.Instance.load(tmp_path / "graph.npz")
    assert again.data == instance.data
    assert np.array_equal(again.latents.theta, instance.latents.theta)
    degree = instance.adjacency.sum(axis=1)
    assert np.corrcoef(degree, instance.latents.theta)[0, 1] > 0.5
    assert abs(degree.mean() - 10) < 1


@pytest.mark.parametrize("directed, symmetrize", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(
    "normalization", ["symmetric", "none", "random-walk", gl.Regularized()], ids=repr
)
def test_operators_are_the_modularity_matrix_divided_by_powers_of_the_degrees(
    normalization, directed, symmetrize
):
    instance = gl.sample(model(directed=directed), nodes=60, degree=8, seed=0)
    given, A = as_normalization(normalization), instance.adjacency.toarray()
    theta, d = propensities(instance.adjacency), A.sum() / 60
    a = (A - d * np.outer(theta, theta) / 60) / math.sqrt(d * (1 - d / 60))
    if symmetrize:
        a = (a + a.T) / math.sqrt(2)
    tau = 1 / instance.data.effective_signal(symmetrize) ** 2 if given.tau is None else given.tau
    scale = (theta + tau) / (1 + tau)
    expected = a * np.outer(scale**-given.left, scale**-given.right)
    found = instance.observation.operator(symmetrize, normalization=given)
    assert found @ np.eye(60) == pytest.approx(expected)
    assert found.T @ np.eye(60) == pytest.approx(expected.T)
    assert found.symmetric == np.allclose(expected, expected.T)


def test_a_node_without_an_edge_stays_apart():
    instance = gl.sample(model(gl.Gamma(2.0)), nodes=200, degree=2, seed=0)
    alone = np.flatnonzero(instance.adjacency.sum(axis=1) == 0)
    operator = instance.observation.operator(False)
    assert alone.size
    assert not np.any((operator @ np.eye(200))[alone])


@pytest.mark.parametrize(
    "normalization",
    ["symmetric", "none", pytest.param("random-walk", marks=pytest.mark.slow), gl.Regularized()],
    ids=repr,
)
def test_networks_on_sampled_graphs(normalization):
    gcn = gl.GCN(gl.PageRank(0.2), reg=[math.inf, 1.0], normalization=normalization)
    measured = gl.simulate(model(), gcn, nodes=1000, degree=50, trials=6, seed=3, workers=1)
    expected = gl.predict(model(), gcn)
    assert np.all(
        abs(measured.test_accuracy - expected.test_accuracy)
        < 4 * measured.standard_error.test_accuracy
    )
    assert np.all(
        abs(measured.train_loss - expected.train_loss)
        <= 4 * measured.standard_error.train_loss + 1e-3
    )
    found, exact, error = (
        p.accuracy_by_degree(LAW.theta) for p in (measured, expected, measured.standard_error)
    )
    assert found.shape == (2, 3)
    assert np.all(abs(found - exact) < 4 * error)


@pytest.mark.parametrize(
    "infer", [gl.amp, pytest.param(gl.belief_propagation, marks=pytest.mark.slow)]
)
def test_message_passing_reaches_the_ceiling(infer):
    data = model(gl.Gamma(0.5), rho=0.1)
    graphs = [gl.sample(data, nodes=2000, degree=30, seed=seed) for seed in range(4)]
    found = [infer(graph, max_iterations=60) for graph in graphs]
    accuracy = [posterior.performance.test_accuracy for posterior in found]
    expected = gl.bayes_optimal(data)
    assert abs(np.mean(accuracy) - expected.test_accuracy) < 4 * np.std(accuracy, ddof=1) / 2
    assert np.mean([posterior.free_entropy for posterior in found]) == pytest.approx(
        expected.free_entropy, rel=0.2
    )
    theta = data.degrees.theta[np.searchsorted(data.degrees.theta, [0.3, 1.0, 3.0])]
    by_degree = [posterior.performance.accuracy_by_degree(theta) for posterior in found]
    error = np.std(by_degree, axis=0, ddof=1) / 2
    assert np.all(abs(np.mean(by_degree, axis=0) - expected.accuracy_by_degree(theta)) < 4 * error)


def test_the_error_of_an_accuracy_by_degree_is_that_of_a_ratio():
    """Trials with more nodes in a cell have more that are right: the scatter of their quotient is much less."""
    rng = np.random.default_rng(0)
    errors, ratios = [], []
    for _ in range(400):
        nodes = rng.poisson(50, size=(20, 1)) + 1.0
        right = rng.binomial(nodes.astype(int), 0.8)
        sums = np.concatenate([np.zeros((20, AVERAGES)), right, nodes], axis=1)
        errors.append(_standard_error(sums)[AVERAGES] / nodes.mean())
        ratios.append(right.mean() / nodes.mean())
    assert np.mean(errors) == pytest.approx(np.std(ratios), rel=0.15)


def test_accuracy_by_degree_adds_up_to_the_accuracy():
    instance = gl.sample(model(gl.Gamma(0.5)), nodes=400, degree=20, seed=2)
    theta, test = instance.latents.theta, ~instance.train_mask
    fit = gl.fit(instance, gl.GCN(gl.PageRank(0.2), reg=[math.inf, 1.0]))
    at_nodes = fit.performance.accuracy_by_degree(theta[test])
    np.testing.assert_allclose(at_nodes.mean(axis=1), fit.performance.test_accuracy)
    with pytest.raises(gl.ParameterError, match="law of degrees"):
        gl.simulate(
            model(None), gl.GCN(gl.PageRank(0.2)), 100, 10.0, 2, workers=1
        ).accuracy_by_degree(1.0)
    lost = gl.simulate(
        model(), gl.GCN(gl.PageRank([0.2, 0.9])), 200, 20.0, 2, workers=1, throw=False
    )
    assert np.isnan(lost.accuracy_by_degree(LAW.theta)).any(axis=1).tolist() == [False, True]


def test_what_is_refused():
    with pytest.raises(gl.ParameterError, match="no degrees to vary"):
        gl.sample(model(), nodes=100, degree=None)
    with pytest.raises(gl.ParameterError, match="take normalize=False"):
        gl.predict(model(), gl.GCN(gl.PageRank(0.1), reg=1.0, normalize=True, normalization="none"))
    with pytest.warns(UserWarning, match="not reliable at degree 8"):
        gl.simulate(
            model(gl.Gamma(0.5)),
            gl.GCN(gl.Residual([1.0])),
            nodes=200,
            degree=8,
            trials=1,
            workers=1,
        )


def test_normalizations_agree_where_all_degrees_are_alike():
    instance = gl.sample(model(None), nodes=200, degree=10, seed=0)
    networks = [
        gl.GCN(gl.PageRank(0.2), normalization=n) for n in ("symmetric", "none", gl.Regularized())
    ]
    assert len({gl.fit(instance, gcn).outputs.tobytes() for gcn in networks}) == 1
    assert normalized_operator(
        instance.adjacency, np.ones(200), as_normalization("none"), 1.0
    ).symmetric
