"""The network as an estimator of scikit-learn, with the interface of `GraphClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcnlimit._values import Array
from gcnlimit.graphs.labels import Labels
from gcnlimit.nn.fit import fit_network
from gcnlimit.real.graph_estimator import GraphEstimator


class MessagePassingClassifier(GraphEstimator):
    r"""Unrolled message passing on your own graph: a handful of numbers, trained on the labelled nodes alone.

    It trains the network of `message_passing_scores`, and its outputs are those scores. Features enter as they are where they are
    classes in white noise, else as whitened principal components; the graph enters as one of three operators (see
    `from_graph`).

    On another graph the class centroids of the features are those of the fit, and no label is known there.

    Parameters
    ----------
    operator
        ``"paper"``, for graphs without hubs; ``"degrees"``, for hubs of the model; ``"normalized"``; ``"auto"``, the first
        where the degrees scatter no more than at random, else whichever of the three predicts hidden labels best.
    components
        Number of principal components of the features; None takes the features as they are, which must then have unit
        variance. ``"auto"`` takes all of them, centred and of unit variance, if no more directions than classes explain stand
        out of the noise, else that number of 15, 30, 60, 120 and 240 which predicts hidden labels best.
    layers, iterations, maskings, seed, device
        Number of layers; numbers of the training, see `train`; device of PyTorch.

    Attributes
    ----------
    network_, operator_, components_
        The trained network, the kind of operator, and the number of components, None for all features; `classes_`,
        `labelled_` and others as in `GraphClassifier`.
    hidden_score_
        Accuracy on labels hidden by fifths; optimistic if it was used to choose operator or components.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.2), nodes=500, degree=20, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> model = MessagePassingClassifier().fit(i.features, y, graph=i.adjacency)
    >>> bool(model.network_.graph_gain > 0), bool(np.mean(model.predict() == (i.labels > 0)) > 0.9)
    (True, True)
    """

    def __init__(
        self,
        layers: int = 15,
        *,
        operator: str = "auto",
        components: int | str | None = "auto",
        iterations: int = 20,
        maskings: int = 4,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.layers = layers
        self.operator = operator
        self.components = components
        self.iterations = iterations
        self.maskings = maskings
        self.seed = seed
        self.device = device

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        nodes = features.shape[0] if adjacency is None else adjacency.shape[0]
        index = np.full(nodes, -1, np.int64)
        index[labels.labelled] = labels.index
        self._fitted = fit_network(features, adjacency, index, **self.get_params())
        self.network_ = self._fitted.network
        self.operator_ = self._fitted.operator
        self.components_ = self._fitted.components
        self.hidden_score_ = self._fitted.hidden_accuracy
        outputs, self._centroids = self._fitted.outputs()
        return outputs

    def _apply(self, features: Any, adjacency: Any) -> Array:
        return self._fitted.elsewhere(features, adjacency, self._centroids)
