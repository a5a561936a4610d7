r"""Fractions of the classes among nodes without labels, unlike those of the labels where as many of each class are labelled.

Outputs are probabilities :math:`p_k` under the fractions :math:`\pi` of the labels; under others they are proportional to
:math:`p_k \pi'_k/\pi_k` (Saerens, Latinne and Decaestecker 2002).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, softmax

from gcnlimit._values import Array, Integers

# Measured with 20 labels of each class and up to 1 000 at random, on 14 public graphs: smaller
# errors take random labels for others, larger ones miss labels that were drawn by class.
WIDE = 0.5  # deviation of other fractions, over that of one node's class, before any output
SYSTEMATIC = 0.03  # the same of outputs that differ for another reason
UNLIKELY = 0.01  # level at which labels are no random sample,
BALANCED = 0.05  # and where as many of each class are labelled, which chance seldom does
EXPLAINED = 0.05  # level below which other fractions do not explain the outputs (usually 0.5)
LEAST = 0.2  # of a fraction that remains, as a share of that in the labels


class Shift(NamedTuple):
    """Fractions on other nodes, the covariance of their errors, and levels of the outputs with the old and these fractions."""

    fractions: Array
    covariance: Array
    level: float
    remaining: float

    @classmethod
    def of(cls, left_out: Array, index: Integers, outputs: Array, prior: Array) -> Shift:
        r"""Fractions from the mean outputs, without labels there.

        Outputs of class :math:`k` have a mean :math:`M_k`, which leave-one-out shows, on every node; so the mean over other
        nodes differs by :math:`M\delta` if the fractions are :math:`\pi + \delta`. With a Gaussian prior of :math:`\delta` the
        answer is linear, and stays near the labels where outputs say little (Lipton, Wang and Smola 2018, in its soft form).
        """
        seen, other = softmax(left_out, axis=1), softmax(outputs, axis=1)
        means = np.stack([seen[index == k].mean(axis=0) for k in range(prior.size)], axis=1)
        moved = other.mean(axis=0) - means @ prior
        single = np.diag(prior) - np.outer(prior, prior)  # covariance of the class of one node
        error = np.cov(seen.T, bias=True) / len(seen) + np.cov(other.T, bias=True) / len(other)
        error += SYSTEMATIC**2 * single
        before = WIDE**2 * single
        gain = before @ means.T @ np.linalg.pinv(means @ before @ means.T + error, rcond=1e-9)
        fractions = np.maximum(prior + gain @ moved, LEAST * prior)
        fractions /= fractions.sum()
        # outputs sum to 1: the last class adds nothing
        apart = np.stack([moved, moved - means @ (fractions - prior)])[:, :-1]
        chi_squared = np.sum(apart @ np.linalg.pinv(error[:-1, :-1]) * apart, axis=1)
        levels = chdtrc(prior.size - 1, np.maximum(chi_squared, 0.0))
        return cls(fractions, before - gain @ means @ before, *levels.tolist())

    def refutes(self, counts: Integers) -> bool:
        """Whether labels, with these counts of the classes, are no random sample of the nodes."""
        return self.level < (BALANCED if drawn_by_class(counts) else UNLIKELY)


def drawn_by_class(counts: Integers) -> bool:
    """Whether as many of each class are labelled, up to half of the classes excepted, which may be too small for that."""
    return bool(np.sum(counts == counts.max()) >= min(counts.size, max(3, 0.5 * counts.size)))
