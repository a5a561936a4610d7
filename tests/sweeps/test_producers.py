"""The producers of the library as a sweep runs them, and the version of their numbers."""

import math

import numpy as np
import pytest
import xarray as xr
from problems import DATA

import gcnlimit as gl
from gcnlimit._runtime import progress
from gcnlimit._version import NUMERICAL_VERSION
from gcnlimit.errors import GCNLimitError
from gcnlimit.sweeps.plan import Plan
from gcnlimit.sweeps.producers import as_producer, compute, reason

GCN = gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)

THEORY = {
    "predict": [0.5460014470419818, 0.8729900274589153],
    "bayes_optimal": [0.6521958979316366, 0.912726777414958],
    "best_linear": [0.6518069824056842, 0.8961446403890829],
}
PINNED = {
    1: THEORY,
    2: THEORY,  # draws the features of an instance otherwise
    3: THEORY,  # losses with a corner on unequal classes at infinite regularization; noise of streamed features on a card
    4: THEORY,  # accuracies at other thresholds are stored as well
    5: THEORY,  # best reg of two unequal classes; softmax averages at a large response
    6: THEORY,  # margins of three or more classes under a law of degrees
    7: THEORY,  # trainings that stop where the spectrum nearly reaches 0
    8: THEORY,  # losses of linear networks at finite degree
    9: THEORY,  # networks of the wrong sign on unequal classes; train nodes of linear networks under noise and degrees
    10: THEORY,  # confidence of ten or more classes whose logits hardly scatter
    11: THEORY,  # features of extreme strength; signals of graphs with hubs, from labels
    12: THEORY,  # wide outputs of steep losses of a user
    13: THEORY,  # points under laws of degrees that were given up
    14: THEORY,  # softmax averages of wide outputs
}
"""Test accuracy at lam = 0 and 1 in each version of the numbers."""


@pytest.mark.parametrize("what", ["predict", "bayes_optimal", "best_linear"])
def test_stored_numbers_are_still_those_of_this_version(what):
    """If this fails because the numbers became better, raise NUMERICAL_VERSION and pin the new ones beside the old."""
    network = {"gcn": GCN} if what == "predict" else {}
    ds = gl.sweep(what, data=DATA, axes={"lam": [0.0, 1.0]}, **network)
    assert ds.test_accuracy.values == pytest.approx(PINNED[NUMERICAL_VERSION][what], rel=1e-10)


SIMULATION = {
    "data": DATA,
    "gcn": GCN,
    "axes": {"lam": [0.5, 1.0], "reg": [1.0, math.inf]},
    "fixed": {"nodes": 400, "degree": 20, "trials": 4},
}


@pytest.mark.slow
def test_a_simulation_is_the_same_in_processes_and_by_hand(tmp_path):
    one = gl.sweep("simulate", **SIMULATION, workers=1, store=tmp_path / "runs.sqlite")
    two = gl.sweep("simulate", **SIMULATION, workers=2)
    xr.testing.assert_identical(one, two)
    assert not any(one.error.values.flat)
    point = one.sel(lam=1.0)
    by_hand = gl.simulate(
        DATA,
        gl.GCN(gl.Diffusion(1.0), reg=[1.0, math.inf], symmetrize=True),
        400,
        20,
        4,
        int(point.seed[0]),
    )
    assert np.array_equal(point.test_accuracy, by_hand.test_accuracy)
    assert np.array_equal(point.test_loss_standard_error, by_hand.standard_error.test_loss)


@pytest.mark.parametrize("what", ["predict", "tune", "simulate"])
def test_a_block_does_not_tell_how_far_it_is(what, capfd, monkeypatch):
    """The sweep does, for all that work on it; a block may be computed in another process."""
    monkeypatch.setattr(progress, "FIRST", 0.0)
    monkeypatch.setattr(progress, "_MOVES", 1e-4)
    fixed = {"tune": {"free": {"reg": (0.1, 10.0)}}, "simulate": {"nodes": 300, "trials": 2}}
    gcn = gl.GCN(gl.Diffusion(t=1.0), reg=1.0)
    plan = Plan(as_producer(what), {"lam": [0.5, 1.0]}, DATA, gcn, fixed.get(what, {}))
    assert not compute(plan.producer, next(plan.blocks())).errors
    assert capfd.readouterr().err == ""


def test_seeds_repeat_a_simulation():
    ds = gl.sweep(
        "simulate",
        data=DATA,
        gcn=GCN,
        axes={"seed": [0, 7]},
        fixed={"nodes": 300, "trials": 2},
        workers=1,
    )
    assert (
        float(ds.test_accuracy.sel(seed=7))
        == gl.simulate(DATA, GCN, nodes=300, trials=2, seed=7).test_accuracy
    )


def test_tuned_networks_are_swept_with_their_best_values():
    ds = gl.sweep(
        "tune", data=DATA, gcn=GCN, axes={"lam": [0.5, 1.0]}, fixed={"free": {"t": (0, 10)}}
    )
    tuned = gl.tune(DATA, GCN, {"t": (0, 10)})
    assert float(ds.best_t.sel(lam=1.0)) == pytest.approx(tuned.parameters["t"], rel=1e-6)
    assert float(ds.test_accuracy.sel(lam=1.0)) == pytest.approx(
        tuned.prediction.test_accuracy, rel=1e-12
    )
    layers = gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=False)
    ds = gl.sweep(
        "tune",
        data=DATA,
        gcn=layers,
        axes={"lam": [0.5, 1.0]},
        fixed={"free": {"c": [(-9, 9), (-9, 9)]}},
    )
    assert {"best_c_1", "best_c_2"} <= set(ds)


def test_classes_are_an_axis_and_a_label():
    """Numbers of classes and fractions, swept or fixed, give what predict gives, which remembers them."""
    data, network = (
        gl.CSBM(4.0, 1.0, 2.0, 0.1, classes=[0.2, 0.8]),
        gl.GCN(gl.Diffusion(1.0), reg=2.0),
    )
    swept = gl.sweep(
        "predict", data=data, gcn=network, axes={"classes": [5, (0.2, 0.8)]}, progress=False
    )
    fixed = gl.sweep("predict", data=data, gcn=network, axes={"lam": [1.0]}, progress=False)
    alone = gl.predict(data, network)
    assert (
        swept.test_accuracy.sel(classes="[0.2, 0.8]")
        == fixed.test_accuracy.item()
        == alone.test_accuracy
    )
    assert swept.best_accuracy[1] == fixed.best_accuracy.item() == alone.best_accuracy
    assert alone.to_xarray().classes.item() == "[0.2, 0.8]"
    assert gl.bayes_optimal(gl.CSBM(4.0, 1.0, 2.0, 0.1, classes=5)).to_xarray().classes.item() == 5


@pytest.mark.parametrize("name, value", [("x", 1.0), ("error", 1.0), (3, 1.0), ("status", 1000)])
def test_a_number_whose_name_means_something_else_is_refused(name, value):
    ds = gl.sweep(lambda x: {name: value, "y": x}, axes={"x": [1.0, 2.0]}, progress=False)
    assert all("TypeError: the function returned" in error for error in ds.error.values)


class SilentError(GCNLimitError):
    """An error that cannot be shown."""

    def __str__(self):
        raise RuntimeError


def test_a_point_always_has_a_reason_why_it_failed():
    """An empty one would count as none, and an exception that cannot be shown would end the sweep."""
    assert reason(GCNLimitError(" \0")) == "GCNLimitError:"
    assert reason(SilentError()) == "an error that cannot be shown"
    assert reason(GCNLimitError("one sentence")) == "one sentence"

    def refuses(x: float) -> float:
        raise SilentError

    assert gl.sweep(refuses, axes={"x": [1.0]}).error.item() == "an error that cannot be shown"
