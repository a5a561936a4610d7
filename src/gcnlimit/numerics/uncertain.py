"""Nodes whose label would help most: uncertain ones, spread over what is known of them."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.cluster.vq import kmeans2

from gcnlimit._values import Array, Integers

SEEN = 20_000  # nodes from which centres are found


def uncertain_and_spread(view: Array, probabilities: Array, free: Integers, count: int) -> Integers:
    """Free nodes near the centres (k-means) of nodes drawn by how uncertain their classes are, the least certain first.

    How uncertain is 1 less the difference of the two largest probabilities. The least certain nodes alone are often alike, and
    many are hardly linked: on public graphs they are worse than random ones (`benchmarks/real_review.md`).
    """
    largest = np.sort(probabilities, axis=1)
    unsure = 1.0 - (largest[:, -1] - largest[:, -2])
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(view), min(len(view), SEEN), p=(unsure + 1e-9) / np.sum(unsure + 1e-9))
    sample = view[drawn].astype(float)
    sample += 1e-6 * rng.standard_normal(sample.shape)  # equal rows have no centres apart
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a centre that no node is nearest to
        centres, _ = kmeans2(sample, min(count, free.size), minit="++", seed=0)
    rows = view[free]
    apart = np.einsum("ij,ij->i", rows, rows)[:, None] - 2.0 * rows @ centres.T
    chosen = []
    for column in apart.T:
        chosen.append(int(column.argmin()))
        apart[chosen[-1]] = np.inf
    nodes = free[chosen]
    return nodes[np.argsort(-unsure[nodes], kind="stable")]
