"""Predicted order functions beside their measurement on sampled graphs: dynamical mean-field theory at work."""

import numpy as np
import pytest
from problems import GRAPHS

import gcnlimit as gl
from validation.measured_order_functions import measure_order_functions

X = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

NETWORKS = [
    ("symmetric", gl.GCN(gl.Diffusion(1.0))),
    ("directed", gl.GCN(gl.Diffusion(1.0), reg=0.3)),
    ("symmetrized", gl.GCN(gl.Diffusion(0.7), "logistic", 0.1)),
    ("directed", gl.GCN(gl.Residual([1.0, 0.5, 0.3]), "logistic", 0.3)),
    ("symmetric", gl.GCN(gl.Polynomial([0.5, 0.3, 0.4]), reg=0.2)),
    ("symmetrized", gl.GCN(gl.Residual([1.0, 0.5]), "hinge", 0.5)),
]
"""Each with one kind of graph; the continuous network at infinite regularization meets Bessel functions on the others."""


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "gcn"), NETWORKS, ids=repr)
def test_correlations_and_responses_are_those_of_sampled_networks(graph, gcn):
    directed, symmetrize = GRAPHS[graph]
    data = gl.CSBM(alpha=4, lam=0.8, mu=2.0, rho=0.2, directed=directed)
    gcn = gcn.replaced(symmetrize=symmetrize)
    depths = X if isinstance(gcn.filter, gl.Diffusion) else None
    predicted = gl.depth.order_functions(data, gcn, depths).as_dict()
    runs = [
        measure_order_functions(gl.sample(data, nodes=700, degree=60, seed=k), gcn, depths, probes=8, seed=k).as_dict()
        for k in range(16)
    ]
    for name, expected in predicted.items():
        values = np.array([run[name] for run in runs])
        error = np.std(values, axis=0, ddof=1) / np.sqrt(len(runs))
        slack = 0.01 * np.abs(expected).max()  # of a finite degree and a finite number of nodes
        assert np.all(np.abs(values.mean(axis=0) - expected) < 4 * error + slack), name
