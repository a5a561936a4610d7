"""Choosing a network on more than two classes, unequal classes and correlated features."""

import functools
import math

import numpy as np
import pytest
from problems import DATA, PARAMETERS

import gcnlimit as gl

LAW = gl.Spectrum([0.2, 1.8], [1.5, 0.5])
NETWORK = gl.GCN(gl.Diffusion(1.0))


@pytest.mark.parametrize("classes", [3, 8, [0.2, 0.8], [0.5, 0.3, 0.2]])
def test_the_filter_that_is_best_for_two_classes_is_best_for_all(classes):
    """Only the step from margin to accuracy depends on the classes, and it is increasing."""
    data = gl.CSBM(**PARAMETERS, classes=classes)
    best = gl.tune(data, NETWORK, {"t": (0, 10)})
    assert best.parameters["t"] == pytest.approx(
        gl.tune(DATA, NETWORK, {"t": (0, 10)}).parameters["t"], rel=1e-6
    )
    two, more = (gl.best_filter(d, order=4, reg=math.inf) for d in (DATA, data))
    np.testing.assert_array_equal(two.coefficients, more.coefficients)
    ceiling = more.ceiling_at_infinite_reg
    assert (
        more.prediction.best_accuracy
        <= ceiling.test_accuracy
        <= gl.predict(data, NETWORK).best_accuracy + 0.1
    )


def test_a_free_regularization_is_the_same_for_unequal_classes():
    """The margin does not depend on the classes, so that the best time and regularization do not either."""
    free = {"t": (0, 10), "reg": (0, math.inf)}
    unequal, equal = (
        gl.tune(data, NETWORK, free) for data in (gl.CSBM(**PARAMETERS, classes=[0.2, 0.8]), DATA)
    )
    assert unequal.parameters["t"] == pytest.approx(equal.parameters["t"], rel=1e-4)
    assert unequal.parameters["reg"] == pytest.approx(equal.parameters["reg"], rel=1e-3)
    assert unequal.status == equal.status


@pytest.mark.parametrize("reg", [None, math.inf])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_the_best_filter_of_coloured_features_beats_its_neighbours(symmetrize, reg):
    data = gl.CSBM(2.0, 1.1, 1.0, 0.3, features=LAW, directed=not symmetrize)
    best = gl.best_filter(data, order=2, symmetrize=symmetrize, reg=reg)
    highest = best.prediction.order_parameters.test_margin
    shifts = 0.01 * np.concatenate([np.eye(3), -np.eye(3)])
    around = best.gcn.replaced(filter=gl.Polynomial(best.coefficients + shifts))
    assert np.all(gl.predict(data, around).order_parameters.test_margin < highest)
    if math.isfinite(best.gcn.reg):  # a directed graph is searched at infinity only
        others = best.gcn.replaced(reg=best.gcn.reg * np.array([0.9, 1.1]))
        assert np.all(gl.predict(data, others, tol=1e-12).order_parameters.test_margin < highest)


def test_one_level_of_variance_is_white_in_other_units():
    """Features of variance s are white ones with the signal mu/s and the regularization r/s."""
    white, scaled = (
        gl.CSBM(2.0, 0.8, 1.0, 0.3),
        gl.CSBM(2.0, 0.8, 2.5, 0.3, features=gl.Spectrum([2.5])),
    )
    one, other = (gl.best_filter(d, order=4) for d in (white, scaled))
    assert other.prediction.test_accuracy == pytest.approx(one.prediction.test_accuracy, abs=1e-12)
    assert other.gcn.reg == pytest.approx(2.5 * one.gcn.reg, rel=1e-3)  # flat at the optimum
    assert other.ceiling.margin == pytest.approx(one.ceiling.margin, abs=1e-9)


def test_a_refused_point_leaves_the_others_alone():
    data = gl.CSBM(4.0, [0.5, 8.0], 2.0, 0.1)
    network, free = gl.GCN(gl.PageRank(0.1), symmetrize=False), {"theta": (0.5, 0.9)}
    best = gl.tune(data, network, free, throw=False)
    alone = gl.tune(data.replaced(lam=0.5), network, free)
    assert best.parameters["theta"][0] == alone.parameters["theta"]
    assert best.prediction.test_accuracy[0] == alone.prediction.test_accuracy
    assert best.status.tolist() == [alone.status, gl.results.TuneStatus.REFUSED]
    assert np.isnan([best.parameters["theta"][1], best.prediction.test_accuracy[1]]).all()
    with pytest.raises(gl.ParameterError, match="convergent interval"):
        gl.tune(data, network, free)


@functools.cache
def compared(data):
    return gl.compare(data, depth=1, order=2, reg=math.inf)


@pytest.mark.parametrize("classes", [3, [0.2, 0.8]])
def test_comparisons_follow_the_classes(classes):
    """What is chosen is that of two classes; the accuracies are those of its margins, below the ceiling of these classes."""
    data = gl.CSBM(**PARAMETERS, classes=classes)
    two, more = (compared(d) for d in (DATA, data))
    chosen = {
        entry.method: entry.chosen for entry in two.entries
    }  # the best of several filters is known for two classes only
    assert all(chosen[entry.method] == entry.chosen for entry in more.entries)
    assert np.all(more.gap >= 0.0)
    for entry in (entry for entry in more.entries if entry.gcn is not None):
        assert entry.test_accuracy == gl.predict(data, entry.gcn).best_accuracy
    gaps = gl.gap_map(data, NETWORK, {"t": (0, 20)})
    assert gaps.gap == pytest.approx(more.gap[more.methods.index("diffusion")], abs=1e-10)
