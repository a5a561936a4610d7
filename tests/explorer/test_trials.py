"""Dots of sampled graphs lie on the curves of the theory, whatever is drawn."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.explorer.answers import Run, trial
from gcnlimit.explorer.state import State

STATE = State(alpha=1.0, mu=1.0, rho=0.3, family="residual", depth=1, reg=1.0, nodes=500)


@pytest.fixture(scope="module")
def run():
    return Run(STATE, [trial(STATE, seed) for seed in range(16)])


def test_dots_lie_on_the_curve_within_four_standard_errors(run):
    dots = run.curves(STATE)["strength-residual"]
    expected = gl.predict(STATE.data, STATE.gcn_of(STATE.filter_of("residual", dots.x)))
    assert np.all(np.abs(dots.y - expected.test_accuracy) < 4 * dots.error)


def test_graphs_of_other_data_are_not_drawn(run):
    assert run.curves(STATE.replaced(c=2.0))
    assert run.curves(STATE.replaced(lam=0.5)) == {}
