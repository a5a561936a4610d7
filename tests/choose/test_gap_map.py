"""Gap maps: the distance of a tuned family to the ceiling, at each point of a map."""

import numpy as np
import pytest

import gcnlimit as gl


def test_gap_map_over_any_two_parameters():
    data = gl.CSBM(alpha=np.array([[1.0], [4.0]]), lam=1.0, mu=2.0, rho=[0.05, 0.1, 0.5])
    family = gl.GCN(gl.PageRank(0.0), symmetrize=True)
    result = gl.gap_map(data, family, {"theta": (-1, 1)})
    assert np.all(result.gap > 0)
    assert result.gap[1, 1] == pytest.approx(0.91273 - 0.88597, abs=1e-5)
