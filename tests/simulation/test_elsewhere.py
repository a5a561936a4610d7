"""Networks read through another filter, or on another graph, where they are sampled."""

import numpy as np
import pytest

import gcnlimit as gl

DATA = gl.CSBM(1.0, 1.0, 2.0, 0.15, directed=False)
DENSE = {"degree": None, "workers": 1}


def within_four_errors(measured, exact, *names):
    for name in names:
        error = getattr(measured.standard_error, name)
        assert np.all(np.abs(getattr(measured, name) - getattr(exact, name)) < 4 * error), name


@pytest.mark.parametrize(("loss", "reg"), [("square", np.inf), ("logistic", 1.0)])
def test_two_filters_on_the_training_graph(loss, reg):
    gcn = gl.GCN(gl.PageRank(0.4), loss, reg, test_filter=gl.PageRank(0.15), normalize=True)
    measured = gl.simulate(DATA, gcn, 800, trials=12, **DENSE)
    within_four_errors(measured, gl.predict(DATA, gcn), "test_accuracy", *["test_loss"] * (reg < np.inf))


def test_another_graph_of_twice_as_many_nodes_has_twice_alpha_and_mu():
    gcn = gl.GCN(gl.Diffusion(0.5), "logistic", reg=[0.5, 5.0], test_filter=gl.PageRank(-0.2))
    to = gl.CSBM(2.0, [[-0.8], [0.5]], 4.0, 0.3, directed=False)
    measured, exact = gl.simulate(DATA, gcn, 500, trials=12, to=to, **DENSE), gl.transfer(DATA, gcn, to)
    assert measured.to_xarray().sizes == {"to_lam": 2, "reg": 2}
    within_four_errors(measured, exact, "test_accuracy", "test_loss")


def test_unequal_classes_keep_their_bias_on_another_graph():
    data = gl.CSBM(2.0, 0.9, 1.5, 0.3, directed=False, classes=[0.3, 0.7])
    gcn = gl.GCN(gl.Diffusion(0.5), "logistic", reg=1.0)
    for to in (data, gl.CSBM(2.0, 0.9, 1.5, 0.3, directed=False)):
        measured, exact = gl.simulate(data, gcn, 700, trials=12, to=to, **DENSE), gl.transfer(data, gcn, to)
        within_four_errors(measured, exact, "test_accuracy", "balanced_accuracy")


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
    with pytest.raises(gl.ParameterError, match="simulate needs a CSBM and a CSBM, got CSBM and str"):
        gl.simulate(DATA, gcn, 100, 10.0, 2, to="joining")
    with pytest.raises(gl.ParameterError, match="different spectra"):
        gl.simulate(DATA, gcn, 100, 10.0, 2, to=gl.CSBM(1.0, 1.0, 2.0, 0.1, features=gl.Spectrum([0.5, 2.0])))
    with pytest.raises(gl.ParameterError, match="lam = -9 is not allowed at degree 10"):
        gl.simulate(DATA, gcn, 100, 10.0, 2, to=DATA.replaced(lam=-9.0))
