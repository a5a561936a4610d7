"""Nodes to label next: one near each centre of the uncertain ones."""

import numpy as np

from gcnlimit.numerics.uncertain import uncertain_and_spread


def test_of_each_group_the_node_nearest_to_its_centre_is_to_be_labelled():
    places, group = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 5.0]]), np.arange(90) % 3
    view = places[group] + 0.1 * np.random.default_rng(0).standard_normal((90, 2))
    chosen = uncertain_and_spread(view, np.full((90, 2), 0.5), np.arange(90), 3)
    assert sorted(group[chosen]) == [0, 1, 2]
    assert np.all(np.linalg.norm(view[chosen] - places[group[chosen]], axis=1) < 0.06)
