"""Leave-one-out: what it expects is what new nodes show, also where a class has few labels."""

import math

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from gcnlimit.numerics.leave_one_out import (
    averaged,
    correct,
    hits,
    made_up,
    paired,
    sharpened,
    soft_weights,
    targets,
)
from gcnlimit.numerics.ridge import Ridge


@pytest.mark.parametrize("count, labels, width, signal", [(60, 10, 50, 0.6), (10, 5, 100, 0.3)])
def test_classes_that_are_not_one_short_expect_the_accuracy_on_new_nodes(
    count, labels, width, signal
):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(10):
        means = signal * rng.standard_normal((count, width))
        y, new = np.repeat(np.arange(count), labels), rng.integers(count, size=1000)
        X, Z = (rng.standard_normal((c.size, width)) + means[c] for c in (y, new))
        Y = targets(y, count)
        ridge = Ridge(X)
        left_out, dual = ridge.solve(Y, np.array([0.3]))
        W, intercept = ridge.linear(Y, dual[0])
        expected = (made_up(left_out, y, count)[0], left_out[0])
        rows.append([np.mean(correct(outputs, y)) for outputs in expected])
        rows[-1].append(np.mean(correct(Z @ W + intercept, new)))
    full, short, reached = np.mean(rows, axis=0)
    error = np.std([row[0] - row[2] for row in rows]) / np.sqrt(10)
    assert full == pytest.approx(reached, abs=0.02 + 3.0 * error)
    assert short < reached - 0.05


def test_two_classes_in_one_column_are_made_up_like_in_two():
    """Of two columns, fits to both indicators, the difference is the one column."""
    rng, y = np.random.default_rng(1), np.array([0, 0, 0, 1, 1, 1, 1])
    fit = rng.uniform(size=(2, y.size))
    both = np.stack([2.0 * fit - 1.0, 1.0 - 2.0 * fit], axis=-1)
    # as three classes, of which none is the last
    wide = made_up(np.concatenate([both, -np.ones((2, y.size, 1))], axis=-1), y, 3)
    one = made_up(0.5 * (both[..., 1:] - both[..., :1]), y, 2)
    np.testing.assert_allclose(one[..., 0], 0.5 * (wide[..., 1] - wide[..., 0]), atol=1e-15)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_sharpness_minimizes_the_loss_of_classes_that_are_nearly_sure(columns):
    rng, classes = np.random.default_rng(2), np.arange(40) % max(columns, 2)
    left_out = rng.normal(size=(3, 40, columns)) + 1.5 * targets(classes, max(columns, 2))
    share = rng.uniform(0.5, 1.5, 40)
    share /= share.sum()
    sharpness, losses = sharpened(left_out, classes, share)
    for outputs, sharp, loss in zip(left_out, sharpness, losses, strict=True):
        both = outputs if columns > 1 else np.column_stack([0.0 * outputs, outputs])
        sure = np.full(both.shape, 1.0 / 42 / both.shape[1])
        sure[np.arange(40), classes] += 41 / 42

        def mean_loss(log_sharp, both=both, sure=sure):
            return -share @ np.sum(sure * log_softmax(np.exp(log_sharp) * both, axis=1), axis=1)

        around = [mean_loss(np.log(sharp) + step) for step in (-1e-4, 0.0, 1e-4)]
        assert around[1] == min(around)
        assert abs(around[2] - around[0]) < 1e-9
        np.testing.assert_allclose(
            loss, -log_softmax(sharp * both, axis=1)[np.arange(40), classes], rtol=1e-14
        )


def test_weights_fall_with_the_square_of_the_distance_in_standard_errors():
    rng, nodes = np.random.default_rng(3), 50
    losses = rng.normal([[0.3], [0.4], [9.0]], 0.2, size=(3, nodes))
    share = np.full(nodes, 1.0 / nodes)
    difference, error = paired(losses[1], losses[0], share)
    assert difference == pytest.approx(np.mean(losses[1] - losses[0]), rel=1e-14)
    assert error == pytest.approx(np.std(losses[1] - losses[0], ddof=1) / nodes**0.5, rel=1e-14)
    variance = error**2 * (nodes - 1) / nodes + 0.25 / nodes**2
    ratio = 2.0 * np.exp(-0.5 * difference**2 / variance)
    wanted = np.array([1.0, ratio, 0.0]) / (1.0 + ratio)
    np.testing.assert_allclose(soft_weights(losses, share, np.array([1.0, 2.0, 1.0])), wanted)
    # the prior counts as one node when the best is chosen: the second, though better, is not
    nearly = np.stack([losses[0], losses[0] - 0.5 / nodes])
    first, second = soft_weights(nearly, share, np.array([2.0, 1.0]))
    assert second / first == pytest.approx(0.5 * np.exp(-0.5), rel=1e-12)


def test_an_average_leaves_out_what_has_no_weight():
    outputs = np.array([[[1.0, 2.0]], [[3.0, 0.0]], [[np.nan, np.nan]]])
    mean = averaged(outputs, np.array([0.25, 0.75, 0.0]), np.array([1.0, 0.5, 1.0]))
    wanted = 0.25 * softmax([1.0, 2.0]) + 0.75 * softmax([1.5, 0.0])
    np.testing.assert_allclose(mean, wanted[None], rtol=1e-15)


@pytest.mark.parametrize("classes, labels", [(2, 20), (2, 21), (3, 50), (5, 50)])
def test_labels_of_chance_are_right_by_chance(classes, labels):
    """Every node is given the class of most labels: without its own, leave-one-out is right by chance alone, and hits half so."""
    rng = np.random.default_rng(0)
    full, mean = [], []
    for _ in range(2000):
        y = rng.integers(classes, size=labels)
        logs = np.log(np.maximum(np.bincount(y, minlength=classes), 0.1)) + np.zeros((labels, 1))
        full.append(correct(logs, y).mean())
        mean.append(hits(logs, y).mean())
    without = 2.0 * np.array(mean) - full
    error = np.std(without) / math.sqrt(2000)
    assert np.mean(without) == pytest.approx(1 / classes, abs=4 * error + 0.01)
    assert np.mean(full) - 1 / classes > 0.06
