"""What the classifier reaches on public graphs with its defaults."""

import numpy as np
import pytest

import gcnlimit as gl


def accuracy(data, split, model=None):
    model = model or gl.GraphClassifier()
    return model.fit(data.X, data.training(split), graph=data.graph).score(y=data.testing(split))


@pytest.mark.slow
def test_cora_with_twenty_labels_a_class(cora):
    assert accuracy(cora, 0) >= 0.825
    assert accuracy(cora, 0, gl.FilterClassifier(strengths=0)) < 0.62


@pytest.mark.slow
def test_texas_gains_from_a_negative_strength(texas):
    with_graph = np.mean([accuracy(texas, k) for k in range(10)])
    alone = np.mean([accuracy(texas, k, gl.FilterClassifier(strengths=0)) for k in range(10)])
    assert with_graph >= 0.84
    assert with_graph > alone
