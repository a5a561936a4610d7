"""Networks read through another filter, or on another graph, where they are sampled."""

from dataclasses import replace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.simulation.train.train import read_outputs, train

DATA = gl.CSBM(1.0, 1.0, 2.0, 0.15, directed=False)
DENSE = {"degree": None, "workers": 1}


def within_four_errors(measured, exact, *names):
    for name in names:
        error = getattr(measured.standard_error, name)
        assert np.all(np.abs(getattr(measured, name) - getattr(exact, name)) < 4 * error), name


@pytest.mark.parametrize(("loss", "reg"), [("square", np.inf), ("logistic", 1.0)])
def test_two_filters_on_the_training_graph(loss, reg):
    gcn = gl.GCN(gl.PageRank(0.4), loss, reg, test_filter=gl.PageRank(0.15), normalize=True)
    measured = gl.simulate(DATA, gcn, 400, trials=8, **DENSE)
    within_four_errors(
        measured, gl.predict(DATA, gcn), "test_accuracy", *["test_loss"] * (reg < np.inf)
    )


@pytest.mark.slow
def test_another_graph_of_twice_as_many_nodes_has_twice_alpha_and_mu():
    gcn = gl.GCN(gl.Diffusion(0.5), "logistic", reg=[0.5, 5.0], test_filter=gl.PageRank(-0.2))
    to = gl.CSBM(2.0, [[-0.8], [0.5]], 4.0, 0.3, directed=False)
    measured, exact = (
        gl.simulate(DATA, gcn, 300, trials=8, to=to, **DENSE),
        gl.transfer(DATA, gcn, to),
    )
    assert measured.to_xarray().sizes == {"to_lam": 2, "reg": 2}
    within_four_errors(measured, exact, "test_accuracy", "test_loss")
    sure, error = measured.calibration, measured.standard_error.calibration
    for name in ("confidence", "log_loss", "calibrated_log_loss"):
        apart = getattr(sure, name) - getattr(exact.calibration, name)
        assert np.all(np.abs(apart) < 4 * getattr(error, name)), name


@pytest.mark.slow
def test_unequal_classes_keep_their_bias_on_another_graph():
    data = gl.CSBM(2.0, 0.9, 1.5, 0.3, directed=False, classes=[0.3, 0.7])
    gcn = gl.GCN(gl.Diffusion(0.5), "logistic", reg=1.0, test_filter=gl.PageRank([0.0, 0.4]))
    for fractions in ([0.3, 0.7], [0.5, 0.5], [0.8, 0.2]):
        to = gl.CSBM(2.0, 0.9, 1.5, 0.3, directed=False, classes=fractions)
        measured, exact = (
            gl.simulate(data, gcn, 300, trials=8, to=to, **DENSE),
            gl.transfer(data, gcn, to),
        )
        within_four_errors(measured, exact, "test_accuracy", "balanced_accuracy")
        apart = measured.calibration.log_loss - exact.calibration.log_loss
        assert np.all(np.abs(apart) < 4 * measured.standard_error.calibration.log_loss)
    assert np.all(
        exact.best_accuracy - exact.test_accuracy > 0.1
    )  # the bias of the training is wrong there


def joined(data, gcn, seed, nodes=500, new=30):
    """Fraction right of the last nodes of a graph, which joined after the training on the others."""
    instance = gl.sample(data, nodes, degree=None, seed=seed)
    whole, first = instance.observation, slice(0, nodes - new)
    parts = {
        name: getattr(whole, name)[first] for name in ("features", "train_mask", "train_labels")
    }
    before = replace(whole, adjacency=whole.adjacency[first, first], **parts)
    outputs = read_outputs(whole, gcn, train(before, gcn).weights, before.nodes)[0, :, 0]
    return np.mean((outputs * instance.labels)[first.stop :] > 0)


@pytest.mark.parametrize(("loss", "reg"), [("square", np.inf), ("logistic", 0.3)])
def test_nodes_that_join_the_training_graph(loss, reg):
    data, gcn = gl.CSBM(4.0, 1.5, 0.2, 0.5, directed=False), gl.GCN(gl.Diffusion(0.7), loss, reg)
    accuracy = np.array([joined(data, gcn, seed) for seed in range(16)])
    error = accuracy.std(ddof=1) / 4
    assert abs(accuracy.mean() - gl.transfer(data, gcn, "joining").test_accuracy) < 4 * error
    assert (
        accuracy.mean() - gl.transfer(data, gcn, data).test_accuracy > 4 * error
    )  # the neighbours carry labels


def test_the_graphs_of_the_training_are_those_without_another_graph():
    gcn = gl.GCN(gl.Diffusion(0.5))
    alone, beside = (gl.simulate(DATA, gcn, 300, 20.0, 2, to=to, workers=1) for to in (None, DATA))
    assert alone.train_accuracy == beside.train_accuracy


def test_a_trained_network_reads_unlabelled_nodes_through_the_second_filter():
    instance = gl.sample(DATA, nodes=300, degree=20, seed=0)
    one, none = gl.GCN(gl.Diffusion(0.5), reg=1.0), gl.Polynomial([1.0])
    single, pair = (gl.fit(instance, gcn) for gcn in (one, one.replaced(test_filter=none)))
    np.testing.assert_array_equal(pair.weights, single.weights)
    inputs = instance.features @ pair.weights / 300**0.5
    known = instance.train_mask
    np.testing.assert_array_equal(pair.outputs[known], single.outputs[known])
    np.testing.assert_allclose(pair.outputs[~known], inputs[~known], rtol=1e-10)


def test_what_is_not_another_graph_is_refused():
    gcn = gl.GCN(gl.Diffusion(0.5))
    with pytest.raises(
        gl.ParameterError, match="simulate needs a CSBM and a CSBM, got CSBM and str"
    ):
        gl.simulate(DATA, gcn, 100, 10.0, 2, to="joining")
    with pytest.raises(gl.ParameterError, match="on the new graph; give both the same"):
        gl.simulate(
            DATA,
            gcn,
            100,
            10.0,
            2,
            to=gl.CSBM(1.0, 1.0, 2.0, 0.1, features=gl.Spectrum([0.5, 2.0])),
        )
    with pytest.raises(gl.ParameterError, match="lam = -9 is not allowed at degree 10"):
        gl.simulate(DATA, gcn, 100, 10.0, 2, to=DATA.replaced(lam=-9.0))
    with pytest.raises(gl.ParameterError, match="number of nodes of the graph to test on"):
        gl.simulate(DATA, gcn, 100, 10.0, 2, to=DATA.replaced(alpha=1e300))


def pair(data, to, nodes, seed, degree=60):
    home = gl.sample(data, nodes, degree, seed=2 * seed)
    nodes_there = round(nodes * to.alpha / data.alpha)
    return home, gl.sample(to, nodes_there, degree, seed=2 * seed + 1, beside=home)


@pytest.mark.parametrize(
    "to", [gl.CSBM(1, -0.6, 1.0, 0.1), gl.CSBM(1, 0.4, 1.0, 0.1, classes=[0.3, 0.7])], ids=repr
)
def test_message_passing_on_both_graphs_reaches_the_joint_ceiling(to):
    data = gl.CSBM(2, 1.0, 1.5, 0.2, directed=to.classes.equal)
    found = [
        gl.amp(home, to=other, tol=1e-4)
        for home, other in (pair(data, to, 600, seed) for seed in range(8))
    ]
    accuracy = np.array([posterior.performance.test_accuracy for posterior in found])
    error = accuracy.std(ddof=1) / 8**0.5
    assert abs(accuracy.mean() - gl.bayes_optimal(data, to=to).test_accuracy) < 4 * error
    assert accuracy.mean() - gl.bayes_optimal(to).test_accuracy > 4 * error  # the other graph helps


def test_graphs_without_features_in_common_are_inferred_apart():
    home, other = pair(gl.CSBM(2, 1.2, 1.5, 0.3), gl.CSBM(3, 1.4, 0.0, 0.3), 400, seed=0)
    graphs, together = (
        (home, other),
        (gl.amp(other, to=home, tol=1e-10), gl.amp(home, to=other, tol=1e-10)),
    )
    alone = [gl.amp(graph, tol=1e-10) for graph in graphs]
    for one, both in zip(alone, together, strict=True):
        np.testing.assert_allclose(both.labels, one.labels, atol=1e-7)
    entropy = np.average([one.free_entropy for one in alone], weights=[400, 600])
    assert together[0].free_entropy == pytest.approx(entropy, abs=1e-7)
    assert together[0].free_entropy == pytest.approx(together[1].free_entropy, abs=1e-12)


def test_a_start_from_the_truth_agrees_where_there_is_one_fixed_point():
    home, other = pair(DATA, DATA.replaced(alpha=0.5), 300, seed=3, degree=None)
    labels, truth = (
        gl.amp(home, to=other, start=start, tol=1e-9).labels for start in ("labels", "truth")
    )
    np.testing.assert_allclose(labels, truth, atol=1e-6)


def test_graphs_of_other_class_means_are_not_a_pair():
    home, other = pair(DATA, DATA, 100, seed=0, degree=10)
    for to, reason in [
        (gl.sample(DATA, 100, 10, seed=9), "other class means"),
        (gl.sample(DATA, 80, 10), "to has 80 features, but instance has 100"),
        (gl.sample(DATA, 100, 10, beside=home, streamed=True), "stored features"),
        (
            gl.sample(gl.CSBM(1.0, 1.0, 2.0, 0.1, classes=3), 100, 10),
            "fractions may differ only if there are two",
        ),
    ]:
        with pytest.raises(gl.ParameterError, match=reason):
            gl.amp(home, to=to)
    assert gl.amp(home.observation, to=other.observation).performance is None
    with pytest.raises(gl.ParameterError, match="beside has 100; take nodes = 200"):
        gl.sample(DATA.replaced(alpha=2.0), 100, 10, beside=home)
    mine = gl.Instance.of(
        home.adjacency, home.features, home.labels, home.train_mask, data=home.data
    )
    with pytest.raises(gl.ParameterError, match="beside has unknown class means"):
        gl.sample(DATA, 100, 10, beside=mine)
