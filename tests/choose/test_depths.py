"""The best depth: that of a loop over the depths, at one point and at many, with other parameters free beside it."""

import math

import numpy as np
import pytest
from problems import DATA, margin

import gcnlimit as gl

NETWORK = gl.GCN(gl.Residual([1.0]))
MANY = gl.CSBM(4.0, [0.3, 1.0, 2.0], 2.0, 0.1)


def looped(data, free, depths, **network):
    """Margins of the networks of each depth, tuned one after the other."""
    networks = [gl.GCN(gl.Residual.constant(1.0, depth), **network) for depth in depths]
    if not free:
        return np.array([margin(gl.predict(data, gcn)) for gcn in networks])
    return np.array([margin(gl.tune(data, gcn, free).prediction) for gcn in networks])


@pytest.mark.parametrize("free", [{}, {"c": (-5.0, 5.0)}], ids=["depth alone", "with c"])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_the_best_depth_is_that_of_a_loop(free, symmetrize):
    best = gl.tune(MANY, NETWORK.replaced(symmetrize=symmetrize), free | {"depth": (1, 5)})
    scan = looped(MANY, free, range(1, 6), symmetrize=symmetrize)
    np.testing.assert_array_equal(best.parameters["depth"], 1 + scan.argmax(axis=0))
    np.testing.assert_allclose(margin(best.prediction), scan.max(axis=0), atol=1e-12)
    place = scan.argmax(axis=0)
    inside = (place > 0) & (place < 4)
    bend = np.diff(scan, 2, axis=0)
    expected = np.where(inside, bend[np.clip(place - 1, 0, 2), np.arange(3)], 0.0)
    np.testing.assert_allclose(best.curvature["depth"], expected, atol=1e-12)
    told = np.where(place == 0, 1, np.where(place == 4, 2, 0))  # interior, lower or upper bound
    if free:  # the strength may be at a bound of its own
        told = np.maximum(told, np.where(best.parameters["c"] == 5.0, 2, 0))
    np.testing.assert_array_equal(best.status, told)


def test_the_network_of_several_depths_is_that_of_each():
    best = gl.tune(MANY, NETWORK, {"depth": (1, 8)})
    assert best.parameters["depth"].tolist() == [1, 4, 4]
    for k, depth in enumerate(best.parameters["depth"]):
        alone = gl.predict(
            gl.CSBM(4.0, MANY.lam[k], 2.0, 0.1), gl.GCN(gl.Residual.constant(1.0, depth))
        )
        assert best.prediction.test_accuracy[k] == pytest.approx(alone.test_accuracy, abs=1e-14)
    np.testing.assert_array_equal(best.to_xarray().depth, best.parameters["depth"])


def test_regularization_is_chosen_for_each_depth():
    free = {"c": (-5.0, 5.0), "reg": (0, math.inf)}
    best = gl.tune(DATA, NETWORK, free | {"depth": (1, 3)})
    scan = looped(DATA, free, range(1, 4))
    assert margin(best.prediction) == pytest.approx(scan.max(), abs=1e-10)
    assert best.parameters["depth"] == 3
    assert best.gcn.filter == gl.Residual.constant(best.parameters["c"], 3)


def test_of_depths_that_are_as_good_the_lowest_is_chosen():
    nothing = gl.CSBM(4.0, 0.0, 0.0, 0.1)
    assert gl.tune(nothing, NETWORK, {"depth": (2, 4)}).parameters["depth"] == 2


def test_a_refused_point_leaves_the_others_alone():
    data = gl.CSBM(4.0, [1.0, 1.0], 2.0, [0.1, 0.0])
    best = gl.tune(data, NETWORK, {"depth": (1, 8)}, throw=False)
    assert best.parameters["depth"][0] == 4
    assert np.isnan(best.parameters["depth"][1])
    assert best.status[1] == gl.results.TuneStatus.REFUSED


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("reg", [math.inf, 1.0])
def test_networks_of_different_depths_are_predicted_together(directed, reg):
    data = DATA.replaced(directed=directed)
    together, *alone = (
        gl.predict(data, gl.GCN(gl.Residual.constant(0.7, depth), reg=reg, symmetrize=False))
        for depth in ([1, 2, 4], 1, 2, 4)
    )
    np.testing.assert_allclose(
        together.test_accuracy, [one.test_accuracy for one in alone], atol=1e-10
    )
    np.testing.assert_allclose(together.train_loss, [one.train_loss for one in alone], atol=1e-10)


@pytest.mark.parametrize(
    "network, free, words",
    [
        (NETWORK, {"depth": (0, 3)}, "whole numbers from 1"),
        (NETWORK, {"depth": (1, math.inf)}, "whole numbers from 1"),
        (NETWORK, {"depth": 3}, "whole numbers from 1"),
        (NETWORK, {"depth": (3, 1)}, "must hold 1 to 100 depths"),
        (NETWORK, {"depth": (1, 1000)}, "each takes a search"),
        (NETWORK, {"depth": (1, 3), "c": [(0, 1)]}, "layers that are alike"),
        (gl.GCN(gl.Residual([1.0, 2.0])), {"depth": (1, 3)}, "layers that are alike"),
        (gl.GCN(gl.Residual([])), {"depth": (1, 3)}, "layers that are alike"),
        (gl.GCN(gl.Diffusion(1.0)), {"depth": (1, 3)}, "choose among t, reg, test_filter"),
    ],
)
def test_what_has_no_depth_to_choose_is_refused(network, free, words):
    with pytest.raises(gl.ParameterError, match=words):
        gl.tune(DATA, network, free)
