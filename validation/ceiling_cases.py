"""What is measured of message passing on several classes, and of networks at several sizes; and the list of all cases."""

import dataclasses
import itertools

import numpy as np

import gcnlimit as gl
from validation.class_cases import (
    CLASSES,
    COLOUR,
    GRAPHS,
    Case,
    Corner,
    Grid,
    OneHot,
    OneHotLoss,
    Principal,
    WithoutBias,
)


@dataclasses.dataclass
class Ceiling(Case):
    """Message passing against the Bayes-optimal numbers."""

    classes: int | tuple
    coloured: bool = False
    directed: bool = False

    def __post_init__(self):
        self.name = (
            f"ceiling {self.classes}{' coloured' * self.coloured}{' directed' * self.directed}"
        )
        law = COLOUR if self.coloured else None
        lam = 0.7 if self.directed else 1.0
        self.data = gl.CSBM(
            4.0, lam, 1.5, 0.1, directed=self.directed, classes=self.classes, features=law
        )

    def exact(self):
        """Exact numbers."""
        return _bayes(gl.bayes_optimal(self.data))

    def measure(self, nodes, seed):
        """The same on one graph."""
        return _bayes(gl.amp(gl.sample(self.data, nodes, None, seed)).performance)


def _bayes(answer):
    names = ("test_accuracy", "test_loss", "balanced_accuracy", "roc_auc")
    return {name: value for name in names if (value := getattr(answer, name)) is not None}


@dataclasses.dataclass
class Hard(Case):
    """The hard phase: twenty classes on a graph without labels, from the truth and from noise; overlap of the posterior means.

    Nearer to snr = 1 a graph of a few thousand nodes is too small: noise has enough overlap to leave the state without classes.
    """

    start: str

    def __post_init__(self):
        self.name = f"hard phase from {self.start}"
        self.data = gl.CSBM(4.0, 0.8, 0.0, 0.0, directed=False, classes=20)

    def exact(self):
        """Exact numbers."""
        best = gl.bayes_optimal(self.data)
        return {
            "overlap": float(
                (best if self.start == "truth" else best.algorithmic).order_parameters.overlap
            )
        }

    def measure(self, nodes, seed):
        """The same on one graph."""
        found = gl.amp(
            gl.sample(self.data, nodes, None, seed), start=self.start, max_iterations=150
        )
        return {"overlap": float(np.sum(found.labels**2) / found.labels.size)}


@dataclasses.dataclass
class Size(Case):
    """Many classes on a strong graph, at one of several sizes, for an extrapolation in 1/N."""

    fraction: float
    classes: int = 8

    def __post_init__(self):
        self.name = f"size {self.fraction:g}"
        self.data = gl.CSBM(4.0, 1.5, 1.0, 0.1, directed=False, classes=self.classes)
        self.gcn = gl.GCN(gl.Diffusion(1.0))

    def exact(self):
        """Exact numbers."""
        return {"test_accuracy": gl.predict(self.data, self.gcn).test_accuracy}

    def measure(self, nodes, seed):
        """The same on one graph."""
        i = gl.sample(self.data, round(nodes * self.fraction), None, seed)
        return {"test_accuracy": gl.fit(i, self.gcn).performance.test_accuracy}


CASES = [
    *itertools.starmap(Grid, itertools.product(CLASSES, (False, True), GRAPHS)),
    *itertools.starmap(
        Corner, itertools.product([(0.3, 0.7), (0.85, 0.15)], (False, True), GRAPHS)
    ),
    OneHot(),
    OneHotLoss(),
    WithoutBias(),
    Principal(),
    *(Ceiling(c) for c in (3, 5, (0.2, 0.8))),
    Ceiling(3, coloured=True),
    Ceiling((0.2, 0.8), coloured=True, directed=True),
    Hard("truth"),
    Hard("labels"),
    *(Size(f) for f in (0.25, 0.5, 1.0)),
]
