"""What is counted on one graph: every node once, and ties shared."""

import numpy as np
import pytest

from gcnlimit.simulation.measure import balanced_rate, hits_of


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_classes_share_every_node_and_ties_in_equal_parts(classes):
    """Whatever the scores, one of the classes is right: the hits of a node, summed over its possible classes, are 1."""
    scores = np.random.default_rng(classes).integers(3, size=(200, classes)).astype(float)
    hits = np.array([hits_of(scores, np.full(200, k)) for k in range(classes)])
    assert np.allclose(hits.sum(axis=0), 1.0)
    highest = scores == scores.max(axis=1, keepdims=True)
    assert np.array_equal(hits.T > 0.0, highest)
    assert np.allclose(hits.max(axis=0), 1.0 / highest.sum(axis=1))
    # chance: whoever says nothing has the accuracy 1/C, in each class and so on average over them
    index = np.arange(200) % classes
    assert balanced_rate(np.zeros((200, classes)), index, classes) == pytest.approx(1.0 / classes)
