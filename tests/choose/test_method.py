"""The quickest method that is exact for each kind of trial, and that it agrees with the equations."""

import math

import numpy as np
import pytest
from problems import DATA

import gcnlimit as gl
from gcnlimit.choose.method import Method
from gcnlimit.theory.margins import margins_of
from gcnlimit.theory.points import Points

COLOURED = DATA.replaced(features=gl.Spectrum([0.2, 1.8], [1.5, 0.5]))
HUBS = gl.CSBM(4.0, 1.0, 2.0, 0.1, directed=False, degrees=gl.Gamma(0.5))
T, THETA, C = gl.GCN(gl.Diffusion(1.0)), gl.GCN(gl.PageRank(0.1)), gl.GCN(gl.Residual([1.0]))
DIRECTED = {"symmetrize": False}
REG = {"reg": (0.1, 10.0)}


@pytest.mark.parametrize(
    "data, gcn, free, method",
    [
        (DATA, T, {"t": (0, 1)}, Method.EXPLICIT),
        (DATA, T.replaced(**DIRECTED), {"t": (0, 1)}, Method.EXPLICIT),
        (HUBS, T, {"t": (0, 1)}, Method.EXPLICIT),
        (DATA, T, {"test_filter": "best"}, Method.BEST_READOUT),
        (DATA, T.replaced(reg=1.0), {"t": (0, 1)}, Method.CLOSED),
        (DATA, T, REG, Method.CLOSED),
        (DATA, THETA.replaced(**DIRECTED), REG, Method.CLOSED),
        (COLOURED, T, REG, Method.EQUATIONS),
        (HUBS, T, REG, Method.EQUATIONS),
        (DATA, T.replaced(loss="logistic"), REG, Method.EQUATIONS),
        (DATA, T.replaced(test_filter=gl.PageRank(0.1)), REG, Method.EQUATIONS),
        (DATA, T.replaced(reg=1.0, penalty=gl.ElasticNet(0.5)), REG, Method.EQUATIONS),
        (DATA, T.replaced(**DIRECTED), REG, Method.LAYERS),
        (HUBS, C.replaced(normalization="regularized"), REG, Method.LAYERS),
        (HUBS, C.replaced(normalization="regularized"), {"c": (0, 1)}, Method.EXPLICIT_LAYERS),
        (HUBS, C, {"tau": (0, 1)}, Method.EXPLICIT_LAYERS),
    ],
)
def test_the_method_and_its_margins(data, gcn, free, method):
    points = Points.of(data, gcn if "reg" not in free else gcn.replaced(reg=0.7))
    assert Method.of(points, free) is method
    if method is not Method.BEST_READOUT:
        np.testing.assert_allclose(method.margins(points), margins_of(points), atol=1e-9)


def test_a_trial_without_an_answer_is_worse_than_any_other():
    points = Points.unchecked(DATA, gl.GCN(gl.PageRank([0.1, 0.9]), reg=1.0))
    margins = Method.CLOSED.margins(points)
    assert math.isfinite(margins[0])
    assert margins[1] < -100.0
