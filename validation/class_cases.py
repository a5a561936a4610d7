"""What is measured of several classes, unequal classes and correlated features: each case with its exact numbers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.stats import norm, qmc

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.csbm import SpikedOperator
from gcnlimit.numerics.gaussian import roc_area
from gcnlimit.simulation.measure import hits_of
from gcnlimit.theory.decision import log_error
from gcnlimit.theory.large_reg import filter_averages, margins

SIGNALS = {"alpha": 2.5, "lam": 1.1, "mu": 2.0, "rho": 0.25}
COLOUR = gl.Spectrum([0.3, 1.7], [1.4, 0.6])
CLASSES = (2, 3, 5, (0.3, 0.7), (0.5, 0.3, 0.2))
GRAPHS = {"directed": (True, False), "symmetrized": (True, True), "symmetric": (False, True)}
FIELDS = (
    "test_accuracy",
    "train_accuracy",
    "test_loss",
    "train_loss",
    "best_accuracy",
    "balanced_accuracy",
    "roc_auc",
)
FILTER = gl.Diffusion(0.8)


class Case:
    """Something that has exact numbers, by name, and measures them on a graph of given size and seed."""

    name: str

    def exact(self):
        """Exact numbers."""
        raise NotImplementedError

    def measure(self, nodes, seed):
        """The same on one graph."""
        raise NotImplementedError


@dataclasses.dataclass
class Grid(Case):
    """Networks on one kind of data, field by field."""

    classes: int | tuple
    coloured: bool
    graph: str

    def __post_init__(self):
        self.name = f"grid {self.classes} {'coloured' if self.coloured else 'white'} {self.graph}"
        directed, self.symmetrize = GRAPHS[self.graph]
        law = COLOUR if self.coloured else None
        self.data = gl.CSBM(**SIGNALS, directed=directed, classes=self.classes, features=law)

    def networks(self):
        """Networks whose theory is known, by name."""
        kinds = [("square", math.inf), ("square", 1.0)]
        classes = self.data.classes
        if classes.count == 2:
            kinds.append(("logistic", 1.0))
        elif classes.equal:
            kinds.append(("softmax", 1.0))
        return {
            f"{loss} {reg:g}": gl.GCN(FILTER, loss, reg, self.symmetrize) for loss, reg in kinds
        }

    def exact(self):
        """Exact numbers."""
        return _fields({name: gl.predict(self.data, gcn) for name, gcn in self.networks().items()})

    def measure(self, nodes, seed):
        """The same on one graph."""
        instance = gl.sample(self.data, nodes, None, seed)
        return _fields(
            {name: gl.fit(instance, gcn).performance for name, gcn in self.networks().items()}
        )


@dataclasses.dataclass
class Corner(Grid):
    """The hinge loss on two unequal classes, at whose corner the free bias rests as the regularization grows."""

    def __post_init__(self):
        super().__post_init__()
        self.name = self.name.replace("grid", "corner")

    def networks(self):
        """Networks at regularizations around 1 and at infinity."""
        return {
            f"hinge {reg:g}": gl.GCN(FILTER, "hinge", reg, self.symmetrize)
            for reg in (0.3, 3.0, math.inf)
        }


def _fields(answers):
    values = {
        f"{name}: {f}": getattr(answer, f) for name, answer in answers.items() for f in FIELDS
    }
    return {name: value for name, value in values.items() if value is not None}


class OneHot(Case):
    """Largest output of one-hot ridge regression with a bias, o = p + sqrt(p) B (h + b), three unequal classes."""

    name = "one-hot argmax with a bias"
    data = gl.CSBM(**SIGNALS, directed=False, classes=(0.5, 0.3, 0.2))
    gcn = gl.GCN(FILTER, reg=1.0)

    def scores(self, h):
        """Outputs of the classes."""
        p = self.data.classes.fractions
        return p + h @ (self.data.classes.codes * p[:, None]).T

    def exact(self):
        """Exact numbers."""
        output = gl.predict(self.data, self.gcn).order_parameters.output
        z = norm.ppf(qmc.Sobol(2, seed=0).random(1 << 18))
        codes, p = self.data.classes.codes, self.data.classes.fractions
        rates = [
            np.mean(
                np.argmax(self.scores(output.mean * code + math.sqrt(output.variance) * z), axis=1)
                == k
            )
            for k, code in enumerate(codes)
        ]
        return {"test_accuracy": float(p @ rates)}

    def measure(self, nodes, seed):
        """The same on one graph."""
        i = gl.sample(self.data, nodes, None, seed)
        f, test = gl.fit(i, self.gcn), ~i.train_mask
        return {
            "test_accuracy": np.mean(
                hits_of(
                    self.scores(f.outputs + f.bias)[test],
                    Classes.of((0.5, 0.3, 0.2)).index_of(i.labels)[test],
                )
            )
        }


class OneHotLoss(Case):
    """Test loss of one-hot targets without a bias: (C-1)/C of that of the codes and 1/C of that of a constant target."""

    name = "one-hot loss without a bias"
    data = gl.CSBM(**SIGNALS, directed=False, classes=3)
    gcn = gl.GCN(FILTER, reg=1.0)

    def exact(self):
        """Exact numbers."""
        blank = gl.CSBM(SIGNALS["alpha"], 0.0, 0.0, SIGNALS["rho"], directed=False)
        loss, rest = (gl.predict(data, self.gcn).test_loss for data in (self.data, blank))
        return {"test_loss": 2.0 / 3.0 * loss + rest / 3.0}

    def measure(self, nodes, seed):
        """The same on one graph."""
        i = gl.sample(self.data, nodes, None, seed)
        plain = gl.CSBM(**SIGNALS, directed=False)
        seen = dataclasses.replace(
            i.observation, data=plain, train_labels=np.where(i.train_mask, 1.0, 0.0)
        )
        constant = gl.Instance(seen, dataclasses.replace(i.latents, labels=np.ones(nodes)))
        codes, rest = (gl.fit(which, self.gcn).performance.test_loss for which in (i, constant))
        return {"test_loss": 2.0 / 3.0 * codes + rest / 3.0}


class WithoutBias(Case):
    """Two unequal classes, targets +-1, no bias, infinite regularization, graph and features centred."""

    name = "unequal classes without a bias"
    classes = (0.2, 0.8)
    data = gl.CSBM(**SIGNALS, directed=False, classes=classes)

    def exact(self):
        """Margin, with the hidden labels scattered more, and offset over the distance of the classes."""
        unit = 4.0 * self.classes[0] * self.classes[1]
        hidden = (1.0 - self.data.rho) / self.data.rho / unit
        one = [np.array([x]) for x in (self.data.alpha, self.data.mu, 1.0 / (1.0 + hidden))]
        operator = SpikedOperator(np.array([self.data.lam]), symmetric=True)
        a = filter_averages(FILTER.ravel((1,)), operator, one[1], 200)
        margin = margins(a, *one, self.data.features)[0][0]
        mean = a.excess[0] + self.data.mu * a.e_g[0] ** 2
        offset = -a.tau_g2[0] * (self.classes[0] - self.classes[1]) / (mean * math.sqrt(unit))
        distance = 1.0 / math.sqrt(self.classes[0] * self.classes[1])
        return {
            "roc_auc": float(norm.cdf(margin * distance / math.sqrt(2.0))),
            "offset": float(offset),
        }

    def measure(self, nodes, seed):
        """The same on one graph."""
        i = gl.sample(self.data, nodes, None, seed)
        a, X = i.observation.operator(True), i.features - i.features.mean(axis=0)
        centred = Centred(a)
        kinds, y = (
            Classes.of(self.classes).index_of(i.labels),
            Classes.of(self.classes).codes_of(i.labels)[:, 0],
        )
        targets = np.where(i.train_mask, np.where(kinds == 0, 1.0, -1.0), 0.0)
        spread = FILTER.apply(centred, targets, radius=a.radius)
        h = FILTER.apply(centred, X @ (X.T @ spread) / nodes, radius=a.radius)
        test = ~i.train_mask
        slope, level = np.polyfit(y[test], h[test], 1)
        return {"roc_auc": roc_area(h[test], kinds[test]), "offset": float(level / slope)}


class Centred:
    """An operator between projections that remove the mean."""

    def __init__(self, operator):
        self.operator = operator
        self.shape = operator.shape

    def __matmul__(self, block):
        product = self.operator @ (block - block.mean(axis=0))
        return product - product.mean(axis=0)

    def add_product(self, block, out, factor=1.0):
        """Add a multiple of the product in place."""
        out += factor * (self @ block)


class Principal(Case):
    """Leading C - 1 eigenvectors of the graph, turned onto the codes: Phi_C(sqrt(lam^2 - 1))."""

    name = "principal components of three classes"
    data = gl.CSBM(4.0, 1.8, 0.0, 0.0, directed=False, classes=3)

    def exact(self):
        """Exact numbers."""
        return {
            "accuracy": float(1.0 - np.exp(log_error(np.array([math.sqrt(1.8**2 - 1.0)]), 3)[0]))
        }

    def measure(self, nodes, seed):
        """The same on one graph."""
        i = gl.sample(self.data, nodes, None, seed)
        _, vectors = np.linalg.eigh(i.observation.operator(True) @ np.eye(nodes))
        Y, top = Classes.of(3).codes_of(i.labels), vectors[:, -2:]
        left, _, right = np.linalg.svd(top.T @ Y)
        return {
            "accuracy": float(
                np.mean(
                    hits_of(
                        top @ left @ right @ Classes.of(3).codes.T, Classes.of(3).index_of(i.labels)
                    )
                )
            )
        }
