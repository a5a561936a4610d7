"""Predicted order functions beside their measurement on sampled graphs: dynamical mean-field theory at work."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.simulation.order_functions import measure_order_functions as measure

X = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("directed", "symmetrize"),
    [(True, False), (True, True), (False, False)],
    ids=["directed", "symmetrized", "symmetric"],
)
def test_correlations_and_responses_are_those_of_sampled_networks(directed, symmetrize):
    data = gl.CSBM(alpha=4, lam=0.8, mu=2.0, rho=0.2, directed=directed)
    gcn = gl.GCN(gl.Diffusion(1.0), symmetrize=symmetrize)
    predicted = gl.depth.order_functions(data, gcn, X).as_dict()
    runs = [measure(gl.sample(data, nodes=2500, degree=60, seed=k), gcn, X, probes=8, seed=k) for k in range(8)]
    for name, expected in predicted.items():
        values = np.array([run.as_dict()[name] for run in runs])
        error = np.std(values, axis=0, ddof=1) / np.sqrt(len(runs))
        slack = 0.01 * np.abs(expected).max()  # of a finite degree and a finite number of nodes
        assert np.all(np.abs(values.mean(axis=0) - expected) < 4 * error + slack), name
