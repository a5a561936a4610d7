"""Public functions and classes with one or two arguments replaced by something else: a `GCNLimitError`, or an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gcnlimit as gl
from validation.nonsense import DATA, GRAPH, NETWORK, SIGNALS, Generator, nonsense, sentences

X, A, Y = GRAPH.features, GRAPH.adjacency, np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
SMALL = {"nodes": 40, "degree": 8.0, "seed": 0}


DOORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "CSBM": (
        gl.CSBM,
        SIGNALS | {"directed": True, "classes": 2, "features": None, "degrees": None, "noise": 0.1},
    ),
    "Spectrum": (gl.Spectrum, {"variance": [1.0, 2.0], "signal": [1.0, 1.0], "weight": [0.5, 0.5]}),
    "Gamma": (gl.Gamma, {"variance": 0.5}),
    "Pareto": (gl.Pareto, {"exponent": 4.0, "cut": 10.0}),
    "Degrees": (gl.Degrees, {"sequence": [0.5, 1.5], "weight": 1.0}),
    "Residual": (gl.Residual, {"c": [1.0, 1.0]}),
    "Diffusion": (gl.Diffusion, {"t": 1.0}),
    "PageRank": (gl.PageRank, {"theta": 0.3}),
    "Polynomial": (gl.Polynomial, {"coefficients": [1.0, 0.5]}),
    "ElasticNet": (gl.ElasticNet, {"l1_ratio": 0.5}),
    "Regularized": (gl.Regularized, {"tau": 1.0}),
    "GradientDescent": (gl.GradientDescent, {"steps": 10, "rate": 0.1, "momentum": 0.5}),
    "GradientFlow": (gl.GradientFlow, {"time": 1.0}),
    "GCN": (
        gl.GCN,
        {
            "filter": gl.Diffusion(1.0),
            "loss": "square",
            "reg": 1.0,
            "symmetrize": True,
            "normalization": "symmetric",
            "training": None,
        },
    ),
    "predict": (gl.predict, {"data": DATA, "gcn": NETWORK, "throw": True}),
    "bayes_optimal": (gl.bayes_optimal, {"data": DATA, "to": None, "gcn": None, "degree": None}),
    "best_linear": (gl.best_linear, {"data": DATA, "symmetrize": True, "degree": None}),
    "compare": (gl.compare, {"data": DATA}),
    "transfer": (gl.transfer, {"data": DATA, "gcn": NETWORK, "to": DATA}),
    "tune": (gl.tune, {"data": DATA, "gcn": NETWORK, "free": {"t": (0.0, 2.0)}, "progress": False}),
    "sample": (gl.sample, {"data": DATA} | SMALL),
    "simulate": (gl.simulate, {"data": DATA, "gcn": NETWORK, "trials": 1, "workers": 1} | SMALL),
    "fit": (gl.fit, {"instance": GRAPH, "gcn": NETWORK}),
    "amp": (gl.amp, {"instance": GRAPH}),
    "sweep": (
        gl.sweep,
        {
            "what": "predict",
            "data": DATA,
            "gcn": NETWORK,
            "axes": {"lam": [1.0, 2.0]},
            "progress": False,
        },
    ),
    "estimate": (gl.estimate, {"X": X, "y": Y, "graph": A}),
    "describe": (gl.describe, {"X": X, "y": Y, "graph": A}),
    "recommend": (gl.recommend, {"X": X, "y": Y, "graph": A, "scale": "auto"}),
    "GraphClassifier": (
        lambda X, y, graph, **how: gl.GraphClassifier(**how).fit(X, y, graph=graph).predict(),
        {"X": X, "y": Y, "graph": A, "scale": "auto", "class_weight": None},
    ),
    "from_edges": (gl.real.from_edges, {"edges": [[0, 1], [1, 2]], "nodes": 3, "weights": None}),
    "Dataset": (gl.real.Dataset, {"graph": A, "X": X, "y": Y}),
    "read": (
        gl.real.read,
        {"path": "nowhere.csv", "nodes": None, "label": None, "drop": (), "encoding": None},
    ),
    "check_loss": (gl.check_loss, {"loss": gl.Square()}),
}


def written(value: object) -> str:
    """Text of an argument, whatever it is."""
    try:
        return " ".join(repr(value).split())[:80]
    except Exception:
        return f"<{type(value).__name__}>"


def try_door(rng: Generator, folder: Path) -> str:
    """Call one door with one or two arguments replaced."""
    name = str(rng.choice(list(DOORS)))
    door, usual = DOORS[name]
    arguments = usual
    wrong = {
        str(key): nonsense(rng)
        for key in rng.choice(
            list(arguments), min(len(arguments), rng.integers(1, 3)), replace=False
        )
    }
    what = f"{name}({', '.join(f'{key}={written(value)}' for key, value in wrong.items())})"
    with sentences(what):
        door(**arguments | wrong)
    return name
