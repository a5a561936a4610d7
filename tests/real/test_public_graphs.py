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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "heavy tail"])
def test_a_useless_column_of_huge_variance_costs_words_nothing(texas, kind):
    """Scaled by columns, as a table of several units, these words lose ten points; so they do where it dominates their rows."""
    rng = np.random.default_rng(0)
    column = rng.standard_normal(texas.nodes)
    column = 1e6 * column if kind == "normal" else np.exp(3.0 * column)
    wide = gl.real.Dataset(
        texas.graph, np.column_stack([texas.X.toarray(), column]), texas.y, texas.train
    )
    changes = [accuracy(wide, k) - accuracy(texas, k) for k in range(4)]
    assert np.mean(changes) > -0.02
    scaled = [accuracy(texas, k, gl.GraphClassifier(scale="columns")) for k in range(4)]
    assert np.mean(scaled) < np.mean([accuracy(texas, k) for k in range(4)]) - 0.05
