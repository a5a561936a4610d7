"""Messages along edges: on a tree they are the exact posterior."""

import itertools

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch")

from benchmarks.gnn.ablations import Edgewise  # noqa: E402
from gcnlimit.nn.operators import as_operator  # noqa: E402

TREE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (5, 6)]
KNOWN = {3: 0, 6: 2}


@pytest.mark.parametrize("gain", [0.6, -0.3])
def test_on_a_tree_the_logits_are_the_posterior(gain):
    """Edges of weight 1 + g (C [same class] - 1), two known classes, all others summed over."""
    posterior = np.zeros((7, 3))
    for classes in itertools.product(range(3), repeat=7):
        if all(classes[node] == known for node, known in KNOWN.items()):
            weight = np.prod([1 + gain * (3 * (classes[i] == classes[j]) - 1) for i, j in TREE])
            posterior[np.arange(7), classes] += weight
    posterior /= posterior.sum(axis=1, keepdims=True)
    found = (
        torch.softmax(_network(gain)(torch.zeros(7, 0), _tree(), *_labels()), 1).detach().numpy()
    )
    hidden = [node for node in range(7) if node not in KNOWN]
    assert np.allclose(found[hidden], posterior[hidden], atol=1e-5)


def _network(gain):
    network = Edgewise(3, layers=8)
    with torch.no_grad():
        network.graph_gain.fill_(gain)
    return network


def _tree():
    i, j = np.transpose(TREE)
    half = sparse.coo_array((np.ones(len(TREE)), (i, j)), shape=(7, 7))
    return as_operator(half + half.T)


def _labels():
    labels = torch.tensor([KNOWN.get(node, -1) for node in range(7)])
    return labels.clamp(min=0), labels >= 0
