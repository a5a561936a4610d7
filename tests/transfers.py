"""Reference values of networks used on another graph, as data and networks of the library."""

import json
import math

import numpy as np
import pytest
from reference import FILTERS, ROOT

import gcnlimit as gl

REFERENCE = json.loads((ROOT / "validation" / "transfer.json").read_text())["rows"]


def rows(*kinds):
    """Rows of some kinds, with their number as a name."""
    return [
        pytest.param(row, id=f"{row['kind']}-{k}")
        for k, row in enumerate(REFERENCE)
        if row["kind"] in kinds
    ]


def made(spec):
    kind, parameter = spec
    return FILTERS[kind](parameter)


def training(row):
    """Data and network of the training; the operator of the network is the graph itself."""
    train = row["train"]
    classes = train.get("classes", 2)
    data = gl.CSBM(
        train["alpha"],
        train["lam_e"],
        train["mu"],
        train["rho"],
        not train["symmetric"],
        classes=classes,
    )
    reg = math.inf if train["reg"] == "inf" else train["reg"]
    filter = made(train["filter"]) if "filter" in train else gl.Polynomial([1.0])
    return data, gl.GCN(filter, train.get("loss", "square"), reg, symmetrize=False)


def deployment(row, data):
    """The new graph, of as many nodes as the training graph."""
    there = row["deploy"]
    return gl.CSBM(
        data.alpha, there["lam_e"], there["mu"], 0.0, not there["symmetric"], classes=data.classes
    )


def sampled(rng, N, data, u=None):
    """A dense symmetric operator with features, labels, labelled nodes, and the direction of the class means."""
    y = rng.choice([-1.0, 1.0], N)
    noise = rng.normal(size=(N, N))
    a = (noise + noise.T) / np.sqrt(2 * N) + data.lam / N * np.outer(y, y)
    u = rng.normal(size=round(N / data.alpha)) if u is None else u
    X = rng.normal(size=(N, u.size)) + np.sqrt(data.mu / N) * np.outer(y, u)
    known = np.zeros(N, bool)
    known[rng.permutation(N)[: round(data.rho * N)]] = True
    return a, X, y, known, u
