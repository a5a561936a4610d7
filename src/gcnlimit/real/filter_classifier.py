"""A single network of the theory as a classifier for scikit-learn: filter, operator and ridge regression by leave-one-out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import as_real, one_of
from gcnlimit._values import Array, Integers, shown
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank
from gcnlimit.filters.action import column_blocks
from gcnlimit.graphs.check import as_features, dense, is_sparse
from gcnlimit.graphs.labels import Labels, class_weights
from gcnlimit.graphs.operator import Propagation, propagation, undirected
from gcnlimit.graphs.scaling import Scaling
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.numerics.leave_one_out import REG, correct, made_up, pair, sharpened, targets
from gcnlimit.numerics.ridge import Ridge
from gcnlimit.real.graph_estimator import GraphEstimator
from gcnlimit.theory.label_free import Smoothness, relative_strength

FILTERS: dict[str, type[PageRank | Diffusion]] = {"pagerank": PageRank, "diffusion": Diffusion}
STRENGTHS = {"pagerank": (0.3, 0.5, 0.7, 0.8, 0.9, 0.95), "diffusion": (0.5, 1, 2, 4, 8, 12)}
STRONGEST = 0.95  # of PageRank elsewhere
NUMBERS = 5e7  # in blocks of propagated features that are held at once
SPARSE = 0.1  # share of features that are not 0 below which a sparse product is faster
ACCURACY = 1e-10  # of propagated features: a small reg magnifies errors by the filter's range
COMPARED = 1000  # labels that choose among networks where there are many: the cost is their cube
TRIED = ("symmetric", "centred")  # the other operators are worse on public graphs, or as good


class Network(NamedTuple):
    r"""Network :math:`h = g(S) X W + b` of a family of filters; NaN for the strength of a filter that is taken as it is."""

    family: str
    strength: float
    filter: Filter | None = None

    def stronger(self, factor: float) -> Network:
        """The network with its strength times a factor, that of PageRank below 1."""
        if math.isnan(self.strength):
            use = "use filter='pagerank' or 'diffusion'"
            raise ParameterError(f"deploy = 'tuned' sets a strength; {use}")
        strength = factor * self.strength
        if self.family == "pagerank":
            strength = float(np.clip(strength, -STRONGEST, STRONGEST))
        return self._replace(strength=strength, filter=FILTERS[self.family](strength))


NO_GRAPH = Network("no graph", 0.0)


class FilterClassifier(GraphEstimator):
    r"""Single network of the theory, :math:`h = g(S) X W + b`: one filter and one ridge regression, chosen by leave-one-out.

    It takes the filter, operator and regularization with the largest leave-one-out accuracy minus square error.
    `GraphClassifier` averages many such networks, and is better on most graphs; this one has coefficients to look at.

    Parameters
    ----------
    filter
        ``"pagerank"`` or ``"diffusion"``, whose strength is chosen; or a filter such as ``PageRank(0.9)``, taken as it is.
    strengths
        One strength or several to choose from, relative to the top eigenvalue; 0 is without a graph.
    normalization
        :math:`S`: ``"symmetric"``, :math:`D^{-1/2}(A + 1)D^{-1/2}`; ``"centred"``, the same without its top eigenvector;
        ``"auto"``, whichever of the two leave-one-out prefers; or as for `gcnlimit.GCN`, with :math:`\tau = 1` if it is not
        given. A directed graph is :math:`\max(A, A^T)` here.
    reg
        One regularization or several to choose from, in units of the mean squared norm of a propagated, centred row; by default
        from 1e-4 to 1e3; from 1e-6 to 1e12 at most.
    scale, class_weight
        As for `GraphClassifier`.
    deploy
        Filter on another graph: the ``"same"``, or ``"tuned"`` without labels if the homophily there has vanished or changed
        its sign; the strength is then multiplied by the ratio of the best strengths on the two graphs.

    Attributes
    ----------
    classes_, labelled_, transduction_, uses_graph_, loo_score_, loo_score_error_, loo_scores_, expected_accuracy_, calibration_
        As of `GraphClassifier`.
    normalization_, family_, filter_, strength_, reg_, coef_, intercept_
        What was chosen, and coefficients of the propagated, scaled features.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=-2.0, mu=3.0, rho=0.2, directed=False), nodes=600, degree=30, seed=0)
    >>> y = np.where(i.train_mask, i.labels > 0, -1)
    >>> model = gl.FilterClassifier("pagerank").fit(i.features, y, graph=i.adjacency)
    >>> model.family_, model.strength_ < 0, bool(np.mean(model.predict() == (i.labels > 0)) > 0.9)
    ('pagerank', True, True)
    """

    def __init__(
        self,
        filter: str | Filter = "pagerank",
        *,
        strengths: npt.ArrayLike | None = None,
        normalization: str | tuple[float, float] | Normalization = "auto",
        reg: npt.ArrayLike | None = None,
        scale: str | None = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
        deploy: str = "same",
    ) -> None:
        self.filter = filter
        self.strengths = strengths
        self.normalization = normalization
        self.reg = reg
        self.scale = scale
        self.class_weight = class_weight
        self.deploy = deploy

    def _learn(self, features: Any, labels: Labels, adjacency: Any) -> Array:
        one_of("deploy", self.deploy, "same", "tuned")
        weights = class_weights(labels, self.class_weight)
        tried = networks(self.filter, self.strengths)
        features = as_features(None, adjacency.shape[0]) if features is None else features
        self._scaling = Scaling.of(features, self.scale)
        scaled = self._scaling(features)
        self._relative = not isinstance(self.filter, Filter)
        operators: dict[Any, Any] = {"none": None}
        if adjacency is not None:
            chosen = self.normalization
            name = chosen if isinstance(chosen, str) else as_normalization(chosen)
            tries = TRIED if name == "auto" else (name,)
            operators = {name: self._operator(adjacency, name) for name in tries}
        elif tried != [NO_GRAPH]:
            use = "write fit(X, y, graph=...), or strengths=0 for the features alone"
            warnings.warn(f"there is no graph, so the filter is not used; {use}", stacklevel=3)
            tried = [NO_GRAPH]
        reg = REG if self.reg is None else self.reg
        choice = choose(scaled, labels, weights, operators=operators, tried=tried, reg=reg)
        self._graph = None if adjacency is None else undirected(adjacency)
        self._choice = choice
        self._inputs = scaled @ choice.coefficients
        sharpness, _ = sharpened(choice.left_out[None], labels.index, weights / weights.sum())
        self._sharpness = float(sharpness[0])
        self._judge(self._sharpness * pair(choice.left_out), labels, weights)
        self.uses_graph_ = choice.network is not NO_GRAPH
        self.normalization_, self.reg_ = choice.operator, choice.reg
        self.family_, self.strength_, self.filter_ = choice.network
        self.coef_, self.intercept_ = choice.coefficients.T, choice.intercept
        outputs = choice.outputs(scaled, operators[choice.operator])
        self._check_groups(outputs, labels, self._graph, scaled if self._with_features else None)
        return outputs

    def _operator(self, adjacency: Any, normalization: Any) -> Any:
        """Operator of a graph; strengths of a family are relative to its top eigenvalue."""
        S = propagation(adjacency, normalization)
        return S.unit() if self._relative else S

    def _apply(self, features: Any, adjacency: Any) -> Array:
        one_of("deploy", self.deploy, "same", "tuned")
        scaled, choice = self._scaling(features), self._choice
        if not self.uses_graph_:
            return choice.outputs(scaled, None)
        if self.deploy == "tuned":
            home = Smoothness.of(self._graph, self._inputs, self.labelled_)
            there = Smoothness.of(undirected(adjacency), scaled @ choice.coefficients)
            network = choice.network.stronger(relative_strength(home, there))
            choice = choice._replace(network=network)
        return choice.outputs(scaled, self._operator(adjacency, self.normalization_))


class Choice(NamedTuple):
    """The best network, the name of its operator and its regularization, coefficients, intercept and left-out outputs."""

    network: Network
    operator: Any
    reg: float
    coefficients: Array
    intercept: Array
    left_out: Array

    def outputs(self, features: Any, S: Any) -> Array:
        """Outputs on the nodes of a graph, one column for each class."""
        total = np.asarray(features @ self.coefficients)
        if self.network.filter is not None:
            (total,) = _propagated(S, total, [self.network])
        return pair(total + self.intercept)


def networks(filter: str | Filter, strengths: npt.ArrayLike | None) -> list[Network]:
    """Networks of a family on an operator whose top eigenvalue is 1, the one without a graph first.

    If no strengths are given, both signs are among them, and no graph; a strength 0 that is given means without a graph.
    """
    if isinstance(filter, Filter):
        if strengths is not None:
            raise ParameterError("strengths go with a family such as 'pagerank', not with a filter")
        if np.shape(filter(0.0)):
            use = "give one, or a family such as 'pagerank' with strengths"
            raise ParameterError(f"filter = {filter!r} is several filters; {use}")
        return [Network(type(filter).__name__.lower(), np.nan, filter)]
    if not isinstance(filter, str) or filter not in FILTERS:
        use = "'pagerank', 'diffusion' or a filter such as PageRank(0.5)"
        raise ParameterError(f"filter = {shown(filter)} is not a family; use {use}")
    usual = np.outer((1.0, -1.0), STRENGTHS[filter])
    values = np.ravel(usual if strengths is None else as_real("strengths", strengths)).tolist()
    if filter == "pagerank" and any(abs(s) >= 1.0 for s in values):
        raise ParameterError(f"strengths = {shown(values)} must be between -1 and 1 for PageRank")
    alone = [NO_GRAPH] if strengths is None or 0.0 in values else []
    return [*alone, *(Network(filter, s, FILTERS[filter](s)) for s in values if s != 0.0)]


def choose(
    features: Any, labels: Labels, weights: Array, *, operators: Any, tried: list[Network], reg: Any
) -> Choice:
    """Network, operator and regularization with the largest leave-one-out accuracy minus square error."""
    if labels.index.size > 2 * COMPARED and len(operators) * len(tried) > 1:
        some = np.sort(np.random.default_rng(0).permutation(labels.index.size)[:COMPARED])
        part = Labels(labels.classes, labels.labelled[some], labels.index[some])
        choice = choose(features, part, weights[some], operators=operators, tried=tried, reg=reg)
        operators, tried = {choice.operator: operators[choice.operator]}, [choice.network]
    reg = np.ravel(as_real("reg", reg, low=1e-6, high=1e12))  # beyond, rounding tells the class
    Y = targets(labels.index, labels.classes.size)
    share = weights / weights.sum()
    best: Any = None
    for name, S in operators.items():
        for network, rows in _rows(features, labels.labelled, S, tried):
            ridge = Ridge(rows, weights)
            left_outs, duals = ridge.solve(Y, reg)
            left_outs = made_up(left_outs, labels.index, labels.classes.size)
            for r, left_out, dual in zip(reg.tolist(), left_outs, duals, strict=True):
                square = np.mean((left_out - Y) ** 2, axis=1)
                score = share @ (correct(left_out, labels.index) - square)
                if best is None or score > best[0]:
                    best = score, network, name, r, ridge, dual, left_out
        # the network without a graph is the same on every operator
        tried = [network for network in tried if network is not NO_GRAPH]
    _, network, name, r, ridge, dual, left_out = best
    W, intercept = ridge.linear(Y, dual)
    return Choice(network, name, r, W, intercept, left_out)


def _rows(
    features: Any, R: Integers, S: Propagation | None, tried: list[Network]
) -> Iterator[tuple[Network, Array]]:
    r"""Each network with the rows :math:`[g(S) X]_R` of the labelled nodes.

    Networks of one family share the products with the operator, as many of them as memory holds.
    """
    if NO_GRAPH in tried:
        yield NO_GRAPH, dense(features[R])
    family = [network for network in tried if network is not NO_GRAPH]
    at_once = max(int(NUMBERS / (R.size * features.shape[1])), 1)
    for first in range(0, len(family), at_once):
        group = family[first : first + at_once]
        yield from zip(group, _labelled_rows(features, R, S, group), strict=True)


def _labelled_rows(features: Any, R: Integers, S: Any, group: list[Network]) -> list[Array]:
    r"""Rows :math:`[g(S) X]_R` by each filter of a group."""
    nodes, width = features.shape
    dual = R.size <= width
    if dual:
        # with more features than labels, as (X' g(S') E_R)': indicators of labels are propagated
        S = S._replace(operator=S.operator.T)
        thin = is_sparse(features) and features.nnz < SPARSE * nodes * width
        across = features.T.tocsr() if thin else dense(features).T
    parts = []
    for some in column_blocks(R.size if dual else width, max(int(NUMBERS / nodes / len(group)), 1)):
        block = np.zeros((nodes, R[some].size)) if dual else dense(features[:, some])
        if dual:
            block[R[some], np.arange(block.shape[1])] = 1.0
        smooth = _propagated(S, block, group)
        parts.append([np.asarray(across @ each).T if dual else each[R] for each in smooth])
    return [np.concatenate(each, axis=1 - dual) for each in zip(*parts, strict=True)]


def _propagated(S: Propagation, block: Array, group: list[Network]) -> Any:
    """Products of the filters of a group with a block, one after the other along the first axis."""
    filters: Any = group[0].filter  # perhaps of no family
    if len(group) > 1:
        filters = FILTERS[group[0].family](np.array([network.strength for network in group]))
    smooth = filters.apply(S.operator, block, radius=S.radius, accuracy=ACCURACY)
    return smooth.reshape(len(group), *block.shape)
