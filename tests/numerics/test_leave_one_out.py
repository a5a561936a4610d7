"""Leave-one-out: what it expects is what new nodes show, also where a class has few labels."""

import numpy as np
import pytest

from gcnlimit.numerics.leave_one_out import correct, made_up, targets
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
