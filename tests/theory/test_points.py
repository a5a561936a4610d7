"""Points in chunks: all of them once, those of similar cost together, and no more at a time than is allowed."""

import numpy as np
import pytest
from problems import random_data

import gcnlimit as gl
from gcnlimit.theory.points import Points


@pytest.mark.parametrize("budget", [1, 7, 64, 10_000])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_chunks_hold_each_point_once_within_the_budget(count, budget):
    points = Points.of(random_data(count), gl.GCN(gl.Diffusion(0.5)))
    cost = np.random.default_rng(0).integers(1, 40, size=count)
    seen = []
    for rows, chunk in points.chunks(cost, budget):
        most, least = cost[rows].max(), cost[rows].min()
        assert rows.size == 1 or most * rows.size <= budget
        assert least >= 0.5 * most
        np.testing.assert_array_equal(chunk.signal, points.signal[rows])
        seen.extend(rows)
    assert sorted(seen) == list(range(count))
    alike = np.count_nonzero(cost >= 0.5 * cost.max())
    first = next(iter(points.chunks(cost, budget)))[0]
    assert first.size == max(1, min(budget // cost.max(), alike))  # and as many as are allowed
