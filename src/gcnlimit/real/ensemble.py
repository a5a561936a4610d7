"""The average of the bank: trained, calibrated by degree, and what it expects of itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import fmin
from scipy.special import log_softmax, softmax

from gcnlimit._values import Array
from gcnlimit.graphs.check import are_equal, squared
from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.lazy import Beside
from gcnlimit.graphs.operator import propagation
from gcnlimit.graphs.scaling import RANK, Scaling, principal_axes, within
from gcnlimit.numerics import leave_one_out as loo
from gcnlimit.numerics.leave_one_out import SAMPLE, averaged, blurred, correct, paired, soft_weights
from gcnlimit.numerics.ridge import Ridge
from gcnlimit.real.bank import Bank, Fitted, Member, Mixture, members, on_pairs, told_by_others
from gcnlimit.real.views import Views
from gcnlimit.results.text import rounded

LEAST = 1e-6  # probability below which nothing is said
CALIBRATED = 50  # labelled nodes from which sharpness depends on the degree
PAIRED = 10_000  # labels up to which a kernel between all of them may be a member
COMPARED = 2000  # labelled nodes on which scalings are compared
ROUNDING = 1e-5  # of the losses of scalings that say the same
FEW = 300  # labels up to which outputs on all nodes say more: with 600 some graphs lost 0.4 points
RELEARNT = 0.3  # regularization of what is learnt from all nodes, in mean squares of a column,
UNEXPLAINED = 0.2  # and the share of the outputs that it may leave: worse students lost accuracy


@rounded
class Row(NamedTuple):
    """A member of the average."""

    member: str
    weight: float  # at all regularizations
    loo_accuracy: float  # at the best of them
    strength: float | None  # of PageRank
    gain: float  # accuracy of the average less its own, on the same nodes
    gain_error: float


@dataclass(eq=False)
class Ensemble:
    """The bank trained and averaged, see `GraphClassifier`.

    `share` are the weights of labelled nodes, of sum 1; `bare` says that there are no features, `told` that labels around a node
    are left out, since they tell its own. Members are by name, those that could not be trained with the reason. `weights` are of
    the average, `portable` of that without members that know nodes by name. `gain` is leave-one-out accuracy with the graph minus
    without it, and its error. `scores` are logarithms of probabilities on all nodes, `left_out` of leave-one-out on the labelled.
    """

    labels: Labels
    share: Array
    scaling: Scaling
    views: Views
    bare: bool
    told: bool
    fitted: dict[str, Fitted]
    unusable: dict[str, str]
    weights: Mixture
    portable: Mixture
    uses_graph: bool
    gain: tuple[float, float] | None
    bank: Bank = field(init=False)
    left_out: Array = field(init=False)
    scores: Array = field(init=False)

    @classmethod
    def fit(
        cls, features: Any, labels: Labels, adjacency: Any, weights: Array, scale: str | None
    ) -> Ensemble:
        """Train the bank on checked parts; features or graph may be None."""
        bare = features is None
        features = propagation(adjacency, "symmetric").operator.matrix if bare else features
        rows = Scaling("rows", np.zeros(features.shape[1]), np.ones(features.shape[1]))
        scaling = rows if bare else chosen_scaling(features, labels, scale)
        views = Views(scaling(features), adjacency, scaling.how == "rows")
        order = np.lexsort([labels.index, views.colours[labels.labelled]])
        labels = Labels(labels.classes, labels.labelled[order], labels.index[order])
        weights = weights[order]
        share = weights / weights.sum()
        told = told_by_others(views, labels)
        bank: Any = members(views, labels, told)
        fitted: dict[str, Fitted] = {}
        unusable = {"labels": "the labels around a node reveal its own"} if told else {}

        def train(bank: Any) -> Mixture:
            for member, columns in bank:
                try:
                    fitted[member.name] = Fitted.of(member, columns, labels, weights)
                except (np.linalg.LinAlgError, FloatingPointError) as error:
                    unusable[member.name] = str(error)
                del columns  # before those of the next
            return _mixture(fitted, share, lambda member: True)

        everywhere = train(bank)
        if isinstance(bank, list) and FEW < labels.index.size <= PAIRED:
            bank += (more := list(on_pairs(views, labels, bank, everywhere)))
            everywhere = train(more)
        alone = _mixture(fitted, share, lambda member: not member.graph and not bare)
        uses_graph, gain = adjacency is not None, None
        if uses_graph and not bare:
            both, rest = (_left_out(fitted, mixture) for mixture in (everywhere, alone))
            gain = paired(correct(both, labels.index), correct(rest, labels.index), share)
            place = np.arange(labels.index.size), labels.index
            ours, others = (np.log(np.maximum(p[place], LEAST)) for p in (both, rest))
            lower, error = paired(ours, others, share)
            # few labels cannot tell that it is of no use
            uses_graph = labels.index.size < CALIBRATED or lower > error
        anywhere = _mixture(fitted, share, lambda member: not member.local)
        used, portable = (everywhere, anywhere) if uses_graph else (alone, alone)
        parts = (labels, share, scaling, views, bare, told, fitted, unusable)
        model = cls(*parts, used, portable, uses_graph, gain)
        model.left_out = model.left_out_by(used)
        model.bank = bank if isinstance(bank, list) else []
        model.scores = model._scores(views, used, model.bank)
        views.shared.clear()  # which is large
        return model

    def relearn(self, offset: Array) -> None:
        """Let one PageRank member learn from the outputs on all nodes, which say more than few labels do, and average it in."""
        weights = Counter[float]()
        for name, fit in self.fitted.items():
            if fit.member.strength is not None:
                weights[fit.member.strength] += self.weights[name].sum()
        bank, self.bank = self.bank, []  # which is large
        few = self.labels.index.size <= min(FEW, self.views.X.shape[1])
        if not (few and bank and (total := weights.total())):
            return
        strength = weights.most_common(1)[0][0]
        view = next(columns.blocks[0] for member, columns in bank if member.strength == strength)
        first = softmax(self.scores + offset, axis=1)
        wanted = first.copy()
        wanted[self.labels.labelled] = np.eye(first.shape[1])[self.labels.index]
        reg = RELEARNT * view.shape[0] / view.shape[1]
        outputs = Ridge(view).solve(wanted, np.array([reg]))[0][0]
        if np.var(wanted - outputs, axis=0).sum() < UNEXPLAINED * np.var(wanted, axis=0).sum():
            logs = loo.recalibrated(outputs, np.arange(len(outputs)), wanted)
            # half: all gained no more and lost more where it lost; lonely nodes learn nothing
            share = np.where(self.views.lonely & self.bare, 0.0, 0.5 * total)[:, None]
            mean = share * np.exp(logs) + (1.0 - share) * first
            self.scores = np.log(np.maximum(mean, LEAST)) - offset

    def left_out_by(self, mixture: Mixture) -> Array:
        """Leave-one-out scores of the labelled nodes by a mixture, such as that of the members that apply to another graph."""
        degrees = self.views.degrees[self.labels.labelled]
        return self._sharpened(self._left_out_logs(mixture), degrees, self._sharpness)

    def _left_out_logs(self, mixture: Mixture) -> Array:
        """Logarithms of the leave-one-out probabilities, before they are sharpened."""
        mean = _left_out(self.fitted, mixture)
        lonely = self.views.lonely[self.labels.labelled]
        if lonely.any():
            mean[lonely] = self._for_lonely(_left_out(self.fitted, self.portable, lonely))
        return np.asarray(np.log(np.maximum(mean, LEAST)))

    def elsewhere(self, features: Any, adjacency: Any) -> Array:
        """Scores on another graph, by the members that do not know nodes by name."""
        features = propagation(adjacency, "symmetric").operator.matrix if self.bare else features
        views = Views(self.scaling(features), adjacency, self.views.unit, self.views)
        again = adjacency is not None and are_equal(adjacency, self.views.arrows[0])
        if again and are_equal(views.X, self.views.X):
            return self.scores  # the nodes of the fit are known by name
        return self._scores(views, self.portable)

    def _scores(self, views: Views, mixture: Mixture, bank: Bank | None = None) -> Array:
        """Logarithms of the mean probabilities on all nodes of some views, sharpened."""
        lonely = views.lonely
        mixtures = [mixture, self.portable] if lonely.any() else [mixture]
        wanted = {name for weights in mixtures for name, w in weights.items() if w.any()}
        mean = np.zeros((views.nodes, self.labels.classes.size))
        apart = mean[lonely]
        for member, columns in bank or members(views, self.labels, self.told, wanted):
            if member.name not in wanted:
                continue
            wanted.remove(member.name)
            fit = self.fitted[member.name]
            weight, other = mixture[member.name], self.portable[member.name]
            use = (weight > 0) | ((other > 0) & lonely.any())
            outputs = fit.outputs(columns, use)
            mean += averaged(outputs, weight[use], fit.sharpness[use])
            apart += averaged(outputs[:, lonely], other[use], fit.sharpness[use])
            del columns, outputs  # before the columns of the next are computed
        if wanted:
            raise RuntimeError(f"members {sorted(wanted)} of the fit are not in the bank")
        mean[lonely] = self._for_lonely(apart)
        logs = np.log(np.maximum(mean, LEAST, out=mean), out=mean)
        return self._sharpened(logs, views.degrees, self._sharpness)

    def _for_lonely(self, portable: Array) -> Array:
        """Probabilities of nodes without neighbours: members that know no names, trained through the graph, read their features.

        Without features, the fractions of classes among them; those of all labels count as one more label of each class.
        """
        if not self.bare:
            return portable
        lonely = self.views.lonely[self.labels.labelled]
        fractions = np.bincount(self.labels.index, self.share)
        # with its own label, without which leave-one-out would be wrong on every node of a tie
        among = np.bincount(self.labels.index[lonely], self.share[lonely], fractions.size)
        counts = among * self.share.size + fractions * fractions.size
        return np.asarray(counts / counts.sum())

    def table(self) -> list[Row]:
        """Every member with its weight and leave-one-out accuracy; one that could not be trained has none, and says why."""
        ours = correct(self.left_out, self.labels.index)
        rows = []
        for name, fit in self.fitted.items():
            apart = paired(ours, fit.right, self.share)
            shown = name.replace("features", "rows of the graph") if self.bare else name
            weight = float(self.weights[name].sum())
            rows.append(Row(shown, weight, fit.accuracy, fit.member.strength, *apart))
        nothing = (0.0, math.nan, None, math.nan, math.nan)
        return rows + [Row(f"{n}: left out, {why}", *nothing) for n, why in self.unusable.items()]

    @cached_property
    def _sharpness(self) -> Array:
        """Logarithm of the sharpness, and its slope in the logarithm of the degree, of least leave-one-out loss."""
        index = self.labels.index
        degrees = self.views.degrees[self.labels.labelled]
        use = np.flatnonzero(degrees > 0)
        if self.views.graph is None or use.size < CALIBRATED:
            return np.zeros(2)
        use = np.sort(np.random.default_rng(0).permutation(use)[:SAMPLE])
        logs = self._left_out_logs(self.weights)[use]
        share = self.share[use] / self.share[use].sum()
        wanted = blurred(index[use], logs.shape[1], 0.5 / index.size)  # half of one among them

        def loss(sharpness: Array) -> float:
            entropy = -np.sum(wanted * self._sharpened(logs, degrees[use], sharpness), axis=1)
            return float(entropy @ share + np.sum(sharpness**2) / index.size)

        return np.asarray(fmin(loss, np.zeros(2), xtol=1e-3, ftol=1e-6, disp=False))

    def _sharpened(self, logs: Array, degrees: Array, sharpness: Array) -> Array:
        """Logarithms of probabilities at a sharpness that depends on the degree; nodes without neighbours as they are."""
        if self.views.graph is None:
            return logs
        apart = np.log1p(degrees) - self.views.typical_degree
        power = np.exp(np.clip(sharpness[0] + sharpness[1] * apart, -2.0, 2.0))
        power[degrees == 0] = 1.0
        return np.asarray(log_softmax(power[:, None] * logs, axis=1))


def chosen_scaling(features: Any, labels: Labels, scale: str | None) -> Scaling:
    r"""Scaling of the features; ``"auto"`` is what they look like, unless leave-one-out of the features prefers another.

    With few labels a word of :math:`n` of :math:`N` nodes counts :math:`1 + \log((1+N)/(1+n))` times, unless a small graph keeps
    all directions, also those of its rarest words. Scalings are compared on some labelled nodes; the other one must lower the
    loss by two standard errors, rows by three: at two, chance chose them in one of a hundred tables that a column dominates.
    """
    usual = Scaling.of(features, scale)
    features = within(features, usual.limits)
    nodes = features.shape[0]
    if (scale, usual.how) == ("auto", "rows") and labels.index.size <= FEW and nodes > 4 * RANK:
        often = np.asarray((features != 0).sum(axis=0)).ravel()
        rare = 1.0 + np.log((1.0 + nodes) / (1.0 + often))
        rare *= np.sqrt(often.sum() / (often @ rare**2))  # words keep the size of other columns
        usual = usual._replace(spread=np.where(usual.spread == 1.0, 1.0 / rare, usual.spread))
    if scale is None:  # one unit for all, in which the squares of single precision have room
        size = np.sqrt(squared(features).sum() / features.shape[0]) or 1.0
        return Scaling("columns", 0.0 * usual.mean, np.full_like(usual.spread, size), usual.limits)
    if scale != "auto" or labels.index.size < CALIBRATED:
        return usual
    how, sure = ("columns", 2.0) if usual.how == "rows" else ("rows", 3.0)
    other = Scaling.of(features, how)._replace(limits=usual.limits)
    some = np.sort(np.random.default_rng(0).permutation(labels.index.size)[:COMPARED])
    compared = Labels(labels.classes, np.arange(some.size), labels.index[some])
    share = np.full(some.size, 1.0 / some.size)
    losses = []
    for scaling in (usual, other):
        rows = scaling(features[labels.labelled[some]]).astype(np.float32)
        axes = None if some.size <= 2 * RANK else principal_axes(rows, whole=False)
        columns = Beside([rows if axes is None else np.asarray(rows @ axes)])
        each = Fitted.of(Member("features"), columns, compared, np.ones(some.size)).losses
        losses.append(each[(each @ share).argmin()])
    gain, error = paired(losses[0], losses[1], share)
    return other if gain > sure * error + ROUNDING else usual


def _mixture(fitted: dict[str, Fitted], share: Array, kept: Callable[[Member], bool]) -> Mixture:
    """Weights in the soft average of the members kept."""
    each = list(fitted.values())
    prior = [fit.member.prior * kept(fit.member) for fit in each]
    counts = [len(fit.sharpness) for fit in each]
    losses = np.concatenate([fit.losses for fit in each])
    weights = soft_weights(losses, share, np.repeat(prior, counts))
    return dict(zip(fitted, np.split(weights, np.cumsum(counts)[:-1]), strict=True))


def _left_out(fitted: dict[str, Fitted], mixture: Mixture, nodes: Any = slice(None)) -> Array:
    """Mean leave-one-out probabilities of labelled nodes."""
    terms = (averaged(f.left_out[:, nodes], mixture[n], f.sharpness) for n, f in fitted.items())
    return np.asarray(sum(terms))
