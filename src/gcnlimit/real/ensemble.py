"""The average of the bank: trained, calibrated by degree, and what it expects of itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import fmin
from scipy.special import log_softmax

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array
from gcnlimit.graphs.check import are_equal
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.operator import propagation
from gcnlimit.real.bank import REG, Fitted, members
from gcnlimit.real.leave_one_out import averaged, correct, sharpened, soft_weights
from gcnlimit.real.views import Scaling, Views

LEAST = 1e-6  # probability below which nothing is said
CALIBRATED = 50  # labelled nodes from which sharpness depends on the degree
RARE = 0.5  # prior weight of a negative strength: most graphs join nodes that are alike


class Row(NamedTuple):
    """A member of the average."""

    member: str
    weight: float  # at all regularizations
    loo_accuracy: float  # at the best of them
    strength: float | None  # of PageRank
    gain: float  # accuracy of the average less its own, on the same nodes
    gain_error: float


class Ensemble:
    """The bank trained on checked parts and averaged, see `GraphClassifier`; features or graph may be None.

    `gain` is leave-one-out accuracy with the graph less that without, and its standard error; `weights` are those of members and
    regularizations in the average, `portable` where members that know nodes by name are left out; `left_out` are leave-one-out
    scores of labelled nodes, logarithms of probabilities.
    """

    def __init__(
        self, features: Any, labels: Labels, adjacency: Any, weights: Array, scale: str | None
    ) -> None:
        self.labels = labels
        self.share = weights / weights.sum()
        self.bare = features is None
        # rows of the normalized graph stand for features where there are none
        features = propagation(adjacency, "symmetric").operator.matrix if self.bare else features
        self.scaling = Scaling.of(features, "rows" if self.bare else scale)
        self.views = Views(self.scaling(features), adjacency, self.scaling.how == "rows")
        with progress_bar("Regressions", None, unit="members") as bar:
            self.fitted = []
            for member in members(self.views, labels):
                self.fitted.append(Fitted.of(member, labels, weights, self.views.nodes))
                del member  # with its columns, before those of the next
                bar.advance(1)
        self._left_out = np.concatenate([one.left_out for one in self.fitted])
        found = [sharpened(one.left_out, labels.index, self.share) for one in self.fitted]
        self.sharpness = np.concatenate([sharpness for sharpness, _ in found])
        self._losses = np.concatenate([losses for _, losses in found])
        self.weights = self._weights(lambda one: True)
        self.without_graph = self._weights(lambda one: not one.graph and not self.bare)
        self.gain = None
        if adjacency is not None and not self.bare:
            self.gain = self._gain(lambda p: correct(p, labels.index))
        self.uses_graph = adjacency is not None and self._graph_helps()
        if not self.uses_graph:
            self.weights = self.without_graph
        anywhere = self._weights(lambda one: not one.local)
        self.portable = anywhere if self.uses_graph else self.without_graph
        degrees = self.views.degrees[labels.labelled]
        own = self._mixed(self._left_out, degrees, self.weights)
        self._slope = self._calibrated(own, degrees)
        self.left_out = self._sharpened(own, degrees)

    @property
    def left_out_elsewhere(self) -> Array:
        """Leave-one-out scores by the members that apply to another graph."""
        degrees = self.views.degrees[self.labels.labelled]
        return self._sharpened(self._mixed(self._left_out, degrees, self.portable), degrees)

    @property
    def scores(self) -> Array:
        """Logarithms of the probabilities of the classes on all nodes of the fit."""
        outputs = np.concatenate([one.outputs for one in self.fitted])
        logs = self._mixed(outputs, self.views.degrees, self.weights)
        return self._sharpened(logs, self.views.degrees)

    def elsewhere(self, features: Any, adjacency: Any) -> Array:
        """The same on another graph, by the members that do not know nodes by name."""
        if self.bare:
            features = propagation(adjacency, "symmetric").operator.matrix
        views = Views(self.scaling(features), adjacency, self.views.unit, self.views)
        again = adjacency is not None and are_equal(adjacency, self.views.arrows[0])
        if again and are_equal(views.X, self.views.X):
            return self.scores  # the nodes of the fit are known by name
        bank = members(views, self.labels)
        outputs = [one.on(bank, views.nodes) for one in self.fitted]
        logs = self._mixed(np.concatenate(outputs), views.degrees, self.portable)
        return self._sharpened(logs, views.degrees)

    def table(self) -> list[Row]:
        """Every member with its weight and leave-one-out accuracy."""
        codes = self.labels.index
        ours = correct(self.left_out, codes)
        found = []
        by_member = self.weights.reshape(-1, len(REG)).sum(axis=1)
        for one, weight in zip(self.fitted, by_member.tolist(), strict=True):
            best = max(correct(one.left_out, codes), key=lambda hits: float(self.share @ hits))
            apart = difference(ours, best, self.share)
            name = "rows of the graph" if self.bare and not one.graph else one.name
            found.append(Row(name, weight, float(self.share @ best), one.strength, *apart))
        return found

    def _gain(self, measure: Callable[[Array], npt.NDArray[Any]]) -> tuple[float, float]:
        """What the graph adds to a measure of the leave-one-out probabilities of each node, and its standard error."""
        own = averaged(self._left_out, self.weights, self.sharpness)
        alone = averaged(self._left_out, self.without_graph, self.sharpness)
        return difference(measure(own), measure(alone), self.share)

    def _graph_helps(self) -> bool:
        """Whether the graph lowers the leave-one-out loss by more than one standard error; few labels cannot refute it."""
        codes = self.labels.index
        if self.bare or codes.size < CALIBRATED:
            return True
        nodes = np.arange(codes.size)
        gain, error = self._gain(lambda p: np.log(np.maximum(p[nodes, codes], LEAST)))
        return gain > error

    def _weights(self, kept: Callable[[Fitted], bool]) -> Array:
        """Weights in the soft average of the members kept."""
        rare = [RARE if (one.strength or 0.0) < 0 else 1.0 for one in self.fitted]
        prior = np.where([kept(one) for one in self.fitted], rare, 0.0)
        return soft_weights(self._losses, self.share, np.repeat(prior, len(REG)))

    def _mixed(self, outputs: Array, degrees: Array, weights: Array) -> Array:
        """Logarithms of the mean probabilities."""
        found = averaged(outputs, weights, self.sharpness)
        # a node without neighbours is left to members that need not know it by name: weights that
        # were trained through the graph read its features better than those of features alone
        lonely = degrees == 0
        if self.views.graph is not None and lonely.any():
            if self.bare:
                found[lonely] = np.bincount(self.labels.index, self.share)
            else:
                found[lonely] = averaged(outputs[:, lonely], self.portable, self.sharpness)
        return np.asarray(np.log(np.maximum(found, LEAST)))

    def _calibrated(self, logs: Array, degrees: Array) -> Array:
        """Logarithm of the sharpness, and its slope in the logarithm of the degree, of least leave-one-out loss."""
        codes = self.labels.index
        use = degrees > 0
        if self.views.graph is None or use.sum() < CALIBRATED:
            return np.zeros(2)
        # labels count as sure up to half of one among them, so that no sharpness is infinite
        blur = 0.5 / codes.size
        count = logs.shape[1]
        wanted = blur / count + (1.0 - blur) * np.eye(count)[codes[use]]

        def loss(slope: Array) -> float:
            found = log_softmax(self._sharpness(slope, degrees[use])[:, None] * logs[use], axis=1)
            entropy = -np.sum(wanted * found, axis=1) @ self.share[use]
            return float(entropy + np.sum(slope**2) / codes.size)

        return np.asarray(fmin(loss, np.zeros(2), xtol=1e-3, ftol=1e-6, disp=False))

    def _sharpness(self, slope: Array, degrees: Array) -> Array:
        apart = np.log1p(degrees) - np.log1p(self.views.degrees).mean()
        return np.asarray(np.exp(np.clip(slope[0] + slope[1] * apart, -2.0, 2.0)))

    def _sharpened(self, logs: Array, degrees: Array) -> Array:
        if self.views.graph is None:
            return logs
        power = np.where(degrees > 0, self._sharpness(self._slope, degrees), 1.0)
        return np.asarray(log_softmax(power[:, None] * logs, axis=1))


def difference(first: Any, second: Any, share: Array) -> tuple[float, float]:
    """Mean of `first - second` on the same nodes, and its standard error."""
    apart = np.asarray(first, float) - np.asarray(second, float)
    mean = float(share @ apart)
    square = float(share**2 @ (apart - mean) ** 2) * apart.size / max(apart.size - 1, 1)
    return mean, math.sqrt(square)
