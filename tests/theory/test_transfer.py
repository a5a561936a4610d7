"""Weights trained on one graph and used on another: reference values, identities, limits, a sampled graph."""

import numpy as np
import pytest
from scipy.special import ndtr
from transfers import deployment, made, rows, training

import gcnlimit as gl
from gcnlimit.theory.elsewhere import bayes_elsewhere
from gcnlimit.theory.points import Points
from gcnlimit.theory.readout import joining_margins, readout_margins
from gcnlimit.theory.transfer import transfer


@pytest.mark.parametrize("row", rows("transfer"))
def test_reference_on_a_new_graph(row):
    data, gcn = training(row)
    answer = transfer(data, gcn, deployment(row, data), test_filter=made(row["deploy"]["filter"]))
    assert abs(answer.order_parameters.feature_margin - row["feature_margin"]) < 1e-9
    assert abs(answer.order_parameters.test_margin - row["margin"]) < 1e-9
    assert abs(answer.test_accuracy - row["accuracy"]) < 1e-9


@pytest.mark.parametrize("row", rows("decoupled", "joining"))
def test_reference_on_the_training_graph(row):
    margins = {"decoupled": readout_margins, "joining": joining_margins}[row["kind"]]
    found = margins(Points.of(*training(row)), made(row["deploy"]["filter"]).ravel((1,)))
    assert abs(found[0] - row["margin"]) < 1e-9
    assert abs(ndtr(found[0]) - row["accuracy"]) < 1e-9


@pytest.mark.parametrize("row", rows("ceiling"))
def test_reference_of_the_ceilings(row):
    train, there = row["train"], row["deploy"]
    data = gl.CSBM(train["alpha"], train["lam_s"], train["mu"], train["rho"], directed=False)
    ratio = max(there["ratio"], 1e-13)  # nodes of the new graph over those of the training graph
    to = gl.CSBM(data.alpha * ratio, there["lam_s"], there["mu"] * ratio, there["rho"], directed=False)
    best = bayes_elsewhere(data, to)
    assert abs(best.test_accuracy - row["joint"]) < 1e-9
    assert abs(best.two_stages.test_accuracy - row["two_stage"]) < 1e-9
    assert abs(best.frozen.test_accuracy - row["frozen"]) < 1e-9
    without = bayes_elsewhere(data, to.replaced(lam=0.0)).frozen
    assert abs(without.test_accuracy - row["without_graph"]) < 1e-9
    assert abs(without.order_parameters.test_margin - row["frozen_feature_margin"]) < 1e-9
