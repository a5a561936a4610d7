r"""The node of a linear network: what stands in the state evolution where the Bayes-optimal one has its posterior (Eq. 12.1).

The least-squares estimate of a code from a field :math:`b = m\,y + \sqrt m\,z` that is linear in it is :math:`b/(1 + m)`, and its
overlap with the code is :math:`m/(1 + m)` in place of :math:`T(m)`. It would be the posterior mean if the codes were Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gcnlimit._values import Array
from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling.posterior import Overlap, posterior
from gcnlimit.theory.ceiling.unequal_posterior import MatrixPosterior, gaussian_rules


@dataclass(frozen=True)
class LinearNode:
    """Averages of the linear estimate; labels are flipped with probability `noise`."""

    classes: Classes
    noise: float = 0.0

    convexity: ClassVar[float] = 0.0
    """As of `Posterior`: the overlap is concave, so that there is one fixed point."""

    @property
    def directions(self) -> int:
        """Dimension of the codes."""
        return self.classes.count - 1

    def at(self, m: Array) -> Overlap:
        """Overlap, deficit and slope at each :math:`m >= 0`.

        >>> LinearNode(Classes.of(2)).at(np.array([1.0, np.inf])).overlap
        array([0.5, 1. ])
        """
        missing = 1.0 / (1.0 + m)
        small = np.minimum(m, 1.0)  # whose digits the complement would lose
        T = np.where(m < 1.0, small * missing, 1.0 - missing)
        return Overlap(T, np.where(m < 1.0, small**2 * missing, m - T), missing**2)

    def labelled(self, m: Array) -> tuple[Array | float, Array | float]:
        """Overlap on labelled nodes at evidence `m` of the others, 1 where labels are right, and its slope."""
        if not self.noise:
            return 1.0, 0.0
        # in second moments a flipped label is a Gaussian observation of the code (Eq. 12.13)
        spread = 4.0 * self.noise * (1.0 - self.noise)
        T = self.at((1.0 - 2.0 * self.noise) ** 2 / spread + m)
        return T.overlap, T.slope

    def labelled_information(self, m: Array) -> Array:
        """Free entropy of labelled nodes that are certain."""
        return 0.5 * self.directions * m

    def information(self, m: Array) -> tuple[Array, Array]:
        r"""Free entropy :math:`\frac d2[m - \log(1 + m)]` of Gaussian codes, and cross-entropy of the calibrated output.

        The field of a linear network has the law of Gaussian evidence on the true codes, so that the latter is theirs.
        """
        return 0.5 * self.directions * (m - np.log1p(m)), self.cross_entropy(m)

    def cross_entropy(self, m: Array) -> Array:
        """Cross-entropy of the posterior of the classes at evidence `m` in each direction, in nats."""
        classes = self.classes
        if classes.equal or classes.count == 2:
            return posterior(classes).information(m)[1]
        identity = np.eye(self.directions)
        # a matrix of evidence that is a number in each direction
        rules = gaussian_rules(self.directions)
        every = [MatrixPosterior(classes.fractions, rule) for rule in rules]
        means = [np.mean([p.information(x * identity)[1] for p in every]) for x in np.ravel(m)]
        return np.reshape(means, np.shape(m))
