r"""Ceilings on a new graph that has the features of a training graph.

What the training graph has taught about the class means is :math:`\mu m_y`, with the overlap :math:`m_y` of its labels and their
best estimates. On the new graph, with :math:`\mu', \alpha'` its own, the evidence on a node is (Eqs. 10.15 to 10.17)

.. math::
    m' = \frac{\mu'}{\alpha'} \frac{A}{1 + A} + \lambda_s'^2 m'_y, \qquad m'_y = \rho' + (1-\rho')\,T(m'), \qquad
    A = \mu m_y + \mu' m'_y .

*Both graphs at hand*: :math:`m_y` obeys the same equation with the roles exchanged. *Two stages*: :math:`m_y` is that of the
training graph alone. *Frozen weights*: the new graph teaches nothing about the features, :math:`A = \mu m_y`, or the first term
is the square of the feature margin of a trained network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gcnlimit._validation import broadcast, check_types
from gcnlimit._values import Array
from gcnlimit.csbm import CSBM, SIGNALS, common_classes, feature_signal
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import labelled
from gcnlimit.results.performance import BayesPrediction
from gcnlimit.theory.ceiling.finite_degree import sparse_elsewhere
from gcnlimit.theory.ceiling.performance import ceiling
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import Evidence, StateEvolution
from gcnlimit.theory.transfer import Trained, with_errors_of_both

_SWEEPS = 1000  # exchanges between the two graphs
_STILL = 1e-15  # change of an overlap that ends them


@dataclass(frozen=True, repr=False)
class BayesTransfer(BayesPrediction):
    """Bayes-optimal performance on a new graph with both graphs at hand, and with less.

    Parameters
    ----------
    two_stages
        The training graph has been left with all that it says of the features; the new one adds to it.
    frozen
        The weights stay as they were trained; the best, nonlinear, inference on the new graph.
    """

    two_stages: BayesPrediction
    frozen: BayesPrediction


@np.errstate(all="ignore")  # evidence beyond the largest number is infinite
def bayes_elsewhere(data: CSBM, to: CSBM, gcn: GCN | None = None) -> BayesTransfer:
    """Bayes-optimal performance on an independent graph with the features of a training graph; see `bayes_optimal`.

    Where the state evolution has several stable fixed points, the two graphs exchange what each has found by itself.
    """
    check_types("bayes_optimal", data=(data, CSBM), to=(to, CSBM), gcn=(gcn, (GCN, type(None))))
    for graph_model in (data, to):
        graph_model.require_alike("bayes_optimal on another graph")
    signal, _ = feature_signal(data, to), common_classes(data.classes, to.classes)
    here = Trained.of(data, gcn, 1e-10) if gcn is not None else None
    shape = broadcast(data=data.shape, to=to.shape, network=() if here is None else here.slope.shape)
    home, there = _Graph(data, shape), _Graph(to, shape)
    alone = home.overlap(0.0)
    learned = there.mean_evidence(home.mu * alone) if here is None else np.full(shape, signal * here.slope**2).ravel()
    joint = there.ceiling(known=home.mu * _exchanged(home, there, alone))
    two_stages, frozen = there.ceiling(known=home.mu * alone), there.ceiling(given=learned)
    answer = BayesTransfer(**vars(joint), two_stages=two_stages, frozen=frozen)
    answer = with_errors_of_both(answer, data, to, lambda one, other: bayes_elsewhere(one, other, gcn))
    return labelled(answer, data, gcn, to)


def elsewhere_at(data: CSBM, to: CSBM, gcn: GCN | None, degree: float, *sizes: int) -> BayesTransfer:
    """The same at that mean degree of both graphs, by population dynamics, one point at a time; see `bayes_optimal`."""
    for graph_model in (data, to):
        graph_model.require_alike("bayes_optimal on another graph")
    feature_signal(data, to)  # refuses features of another kind
    if gcn is not None or data.shape or to.shape or not common_classes(data.classes, to.classes).equal:
        raise ParameterError(
            "bayes_optimal with to and degree needs single parameters, equal classes and no gcn; leave out degree"
        )
    joint, two_stages, frozen = sparse_elsewhere(data, to, degree, *sizes)
    answer = BayesTransfer(**vars(joint), two_stages=two_stages, frozen=frozen)
    return labelled(answer, data, None, to)


class _Graph:
    """One of the two graphs, its points along one axis."""

    def __init__(self, data: CSBM, shape: tuple[int, ...]) -> None:
        whole = {name: np.broadcast_to(getattr(data, name), shape) for name in SIGNALS}
        self.data = data.replaced(**whole) if shape else data
        self.evidence = Evidence.of(self.data)
        self.rho = np.ravel(self.data.rho)

    @property
    def mu(self) -> Array:
        return self.evidence.mu

    def evolution(self, evidence: Evidence) -> StateEvolution:
        return StateEvolution(evidence, self.rho, posterior(self.data.classes))

    def overlap(self, known: Array | float) -> Array:
        """Overlap of the labels with their best estimates."""
        evolution = self.evolution(replace(self.evidence, known=known))
        return evolution.overlap(evolution.fixed_points().best)

    def mean_evidence(self, known: Array) -> Array:
        """Evidence on a node from its own features, at that knowledge of the class means."""
        return replace(self.evidence, known=known).at(np.zeros_like(self.mu))

    def ceiling(self, *, known: Array | float = 0.0, given: Array | None = None) -> BayesPrediction:
        """Performance with that knowledge of the class means, or with nothing to learn beside `given` evidence."""
        evidence = replace(self.evidence, known=known)
        if given is not None:
            evidence = replace(self.evidence, given=given, mu=np.zeros_like(self.mu))
        return ceiling(self.data, self.evolution(evidence))


def _exchanged(home: _Graph, there: _Graph, alone: Array) -> Array:
    """Overlap on the training graph when each graph has learned from the other all it can."""
    q = alone
    for _ in range(_SWEEPS):
        before, q = q, home.overlap(there.mu * there.overlap(home.mu * q))
        if not np.any(np.abs(q - before) > _STILL):
            break
    return q
