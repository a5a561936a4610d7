"""The model that a given graph resembles, with errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._validation import check_types, one_of
from gcnlimit._values import Array, Integers, measured
from gcnlimit.classes import Classes
from gcnlimit.degrees import Degrees
from gcnlimit.errors import ParameterError
from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.graphs.blocks import block_doubts, triangle_doubts
from gcnlimit.graphs.standard import Signals, StandardizedGraph, from_labels
from gcnlimit.graphs.verdict import degree_law
from gcnlimit.network import GCN
from gcnlimit.numerics.lanczos import top_eigenvalues
from gcnlimit.real.scores import Interval
from gcnlimit.results.markup import Printed
from gcnlimit.simulation.infer.likelihood import Likelihood, from_likelihood
from gcnlimit.theory.predict import predict

APART = 3.0  # standard errors between two estimates
SURE = 5.0  # difference of free entropies between two signs
SPARSE = 10.0  # mean degree d below which eigenvalues, up to sqrt(d), are never far outside


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Printed):
    r"""Parameters of the contextual stochastic block model for a graph, with the classes that it has.

    Parameters
    ----------
    alpha, rho
        Nodes per feature, and fraction of labelled nodes: counted, without error. Without features, :math:`\alpha = 1`.
    lam, mu, lam_error, mu_error
        Signals of graph and features, and their standard errors if the graph follows the model; :math:`\mu` may be negative.
    classes, fractions, counts
        Names of the classes, their fractions (equal, unless the labelled nodes refute it), and labelled nodes of each.
    directed, degrees
        Whether the graph is directed; law of the degrees, None where they vary no more than at random.
    method, warnings
        ``"labels"`` or ``"likelihood"``; sentences that say what does not fit the model, also given as `UserWarning`.
    """

    alpha: float
    lam: float
    mu: float
    rho: float
    lam_error: float
    mu_error: float
    classes: npt.NDArray[Any]
    fractions: Array
    counts: Integers
    directed: bool
    degrees: Degrees | None
    method: str
    warnings: tuple[str, ...]

    @property
    def data(self) -> EstimatedCSBM:
        """The model with its errors; a negative estimate of the features' signal counts as 0.

        It has the law of the degrees if classes are equal: there is no theory of hubs and unequal classes. `gl.predict`,
        `gl.transfer` and `gl.bayes_optimal` carry on the errors of signals and class fractions.
        """
        shared = ("alpha", "lam", "rho", "directed", "lam_error", "mu_error", "counts")
        same = {name: getattr(self, name) for name in shared}
        law = self.degrees if Classes.of(self.fractions).equal else None
        return EstimatedCSBM(**same, mu=max(self.mu, 0.0), classes=self.fractions, degrees=law)

    def predict(self, gcn: GCN) -> Interval:
        """Predicted accuracy of one network, within two standard errors, those of signals and class fractions included.

        Where the network has no answer at the estimated signals, as beyond the pole of a PageRank, the value is None, the
        interval all of [0, 1], and a `UserWarning` says why.
        """
        check_types("predict", gcn=(gcn, GCN))
        if gcn.shape:
            raise ParameterError(f"gcn has parameters of shape {gcn.shape}; give one network")
        predicted = predict(self.data, gcn, throw=False)
        value = float(predicted.test_accuracy)
        error = float(predicted.standard_error.test_accuracy)
        if math.isnan(value):
            near = f"lam = {measured(self.lam, self.lam_error)}"
            remedy = "take a weaker filter, or label more nodes"
            warnings.warn(f"the network has no answer at {near}; {remedy}", stacklevel=2)
            return Interval(None, 0.0, 1.0)
        return Interval(value, max(value - 2.0 * error, 0.0), min(value + 2.0 * error, 1.0))

    def __str__(self) -> str:
        graph = f"alpha  {self.alpha:.4g}\nlam    {measured(self.lam, self.lam_error)}"
        features = f"mu     {measured(self.mu, self.mu_error)}\nrho    {self.rho:.4g}"
        return "\n".join([graph, features, *self.warnings])


def estimate(X: Any, y: Any, graph: Any, *, method: str = "labels") -> Estimate:
    r"""Parameters :math:`\alpha, \lambda, \mu, \rho` of the model that a graph resembles, with standard errors.

    Parameters
    ----------
    X, y, graph
        Features (or None), classes with -1, NaN or None for unlabelled nodes, adjacency matrix; as for
        `GraphClassifier`. Features are standardized, and the operator is scaled to the noise of the model.
    method
        ``"labels"`` uses pairs of labelled nodes, and aims at the signal of these classes; its errors are
        :math:`\sqrt{2N}/n` for :math:`\lambda`, large if few of the :math:`N` nodes are labelled. ``"likelihood"`` uses all
        nodes by approximate message passing, for two classes of equal size; its errors are small, but on a graph that is not
        drawn from the model it finds the strongest structure; where the two disagree it warns, and ``"labels"`` is to be used.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=4, lam=1.2, mu=2.0, rho=0.3, directed=False), nodes=1000, degree=30, seed=0)
    >>> found = gl.estimate(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    >>> bool(abs(found.lam - 1.2) < 2 * found.lam_error), bool(abs(found.mu - 2.0) < 2 * found.mu_error)
    (True, True)
    """
    answer = estimate_standard(StandardizedGraph.of(X, y, graph), method)
    for sentence in answer.warnings:
        warnings.warn(sentence, stacklevel=2)
    return answer


@progress_bar("estimating")
def estimate_standard(standard: StandardizedGraph, method: str = "labels") -> Estimate:
    """Estimate from parts that have been checked; nothing is warned aloud."""
    one_of("method", method, "labels", "likelihood")
    s = from_labels(standard)
    doubts = [*block_doubts(standard)]
    if method == "likelihood":
        best, other = from_likelihood(standard)
        doubts += _of_likelihood(standard, best, other, s)
        s = best.signals
    doubts += [*triangle_doubts(standard, s), *_of_spectrum(standard, s)]
    numbers = (standard.alpha, s.lam, s.mu, standard.rho, s.lam_error, s.mu_error)
    labels = (standard.labels.classes, standard.classes.fractions, standard.labels.counts)
    law = degree_law(standard.degrees)
    return Estimate(*numbers, *labels, standard.directed, law, method, tuple(doubts))


def best_method(standard: StandardizedGraph) -> str:
    """``"likelihood"`` where it applies, two classes of equal size and no hubs; else ``"labels"``."""
    return "likelihood" if standard.classes.two and not standard.has_hubs else "labels"


def _of_likelihood(
    standard: StandardizedGraph, best: Likelihood, other: Likelihood, by_labels: Signals
) -> Iterator[str]:
    """Reasons to doubt the estimates of the likelihood, from itself."""
    if standard.has_hubs:
        yield "degrees vary more than at random, which the likelihood ignores"
    if not best.converged:
        yield "message passing did not converge; the estimates may be biased"
    if abs(best.skewness) > APART:
        why = "the classes may be of unequal size, which so few labels cannot show"
        yield f"{why}, or there is other structure; the likelihood is then biased"
    if best.free_entropy - other.free_entropy < SURE:
        why = "the labels cannot tell whether linked nodes tend to share a class or to differ"
        yield f"{why} (the sign of lam); predictions from this estimate are unreliable"
    if not math.isfinite(best.signals.lam_error):
        yield "the likelihood has no curvature at its maximum; the errors are unknown"
    for name in ("lam", "mu"):
        value, error = (getattr(best.signals, part) for part in (name, f"{name}_error"))
        labelled, labelled_error = (getattr(by_labels, part) for part in (name, f"{name}_error"))
        apart = math.hypot(error, labelled_error)
        if math.isfinite(apart) and abs(value - labelled) > APART * apart:
            both = f"{value:.2f} by likelihood and {labelled:.2f} +- {labelled_error:.2f} by labels"
            yield f"{name} is {both}: the strongest structure is not that of the classes"


def _of_spectrum(standard: StandardizedGraph, signals: Signals) -> Iterator[str]:
    """Reasons to doubt the model, from outliers of the spectrum and degrees that vary."""
    factor = math.sqrt(2.0) if standard.directed else 1.0
    size, error = factor * abs(signals.lam), factor * signals.lam_error
    mean, most = float(np.mean(standard.degrees)), float(np.max(standard.degrees))
    # the classes have eigenvalues of their own, one less than their number
    values = top_eigenvalues(standard.spectral(), standard.classes.count)
    top = float(abs(values[0]))
    # a signal s above 1 has an eigenvalue at s + 1/s, beyond the edge of the semicircle
    least = size - 2.0 * error
    if least > 1.3 and top < 0.95 * (least + 1.0 / least):
        there = f"{size + 1 / size:.2f} but the largest is {top:.2f}"
        yield f"lam = {signals.lam:.2f} should give an eigenvalue at {there}"
    expected = size + 2.0 * error  # and 2.2 is the edge at 2 with the scatter of a small graph
    beyond = 1.15 * max(expected + 1.0 / expected if expected > 1.0 else 2.0, 2.2)
    if top > beyond or np.any(np.abs(values[standard.classes.count - 1 :]) > 1.15 * 2.2):
        odd, told = values[0], f"up to {top:.2f}; the model allows {beyond:.2f}"
        if top <= beyond:
            odd = values[-1]
            told = f"of {abs(odd):.2f} and {values.size - 1} larger; the model allows only these"
        kind = "other communities" if odd > 0.0 else "two kinds of nodes, joined to each other"
        other = f"the graph has structure that classes and degrees do not explain, such as {kind}"
        star = most / math.sqrt(mean * max(most - mean, mean))  # of one node among many alike
        if not standard.has_hubs and abs(odd) < 1.15 * star:
            other = f"a mean degree of {mean:.2g} is small: nodes of {most:g} edges hide structure"
        yield f"{other} (eigenvalues {told})"
    if not standard.has_hubs:
        return
    if mean < SPARSE:
        yield f"a mean degree of {mean:.3g} is small: below {SPARSE:g} hubs hide other structure"
    if not 0.8 < (square := standard.noise_level) < 1.25:
        hubs = "hubs are joined to nearly all nodes"
        why = "degrees do not explain all structure" if square > 1 else hubs
        yield f"{why} (mean square {square:.2f} with the degrees divided out; 1 in the model)"
