"""Comparisons and gap maps: the order that must hold between families."""

import numpy as np
import pytest

import gcnlimit as gl


def test_families_contained_in_one_another_are_in_order():
    data = gl.CSBM(alpha=4, lam=np.array([-1.3, 0.4, 1.0, 1.6]), mu=2.0, rho=0.1)
    comparison = gl.compare(data, depth=3, order=10)
    equal, free, diffusion, pagerank, polynomial, linear, pca, bayes = comparison.test_accuracy
    assert np.all(free >= equal - 1e-13)
    assert np.all(polynomial >= free - 1e-13)
    assert np.all(linear >= np.maximum(np.maximum(polynomial, pagerank), diffusion) - 1e-10)
    assert np.all(bayes > np.maximum(linear, pca))
    assert np.all(comparison.gap[-1] == 0)
    assert comparison["diffusion"].parameters["t"].shape == (4,)


def test_table_of_one_point():
    comparison = gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=1, order=4)
    lines = str(comparison).splitlines()
    assert len(lines) == 1 + len(comparison.methods) == 9
    assert "t = 1.488" in lines[3]
    assert comparison.methods[-1] == "Bayes-optimal"


def test_gap_map_over_any_two_parameters():
    data = gl.CSBM(alpha=np.array([[1.0], [4.0]]), lam=1.0, mu=2.0, rho=[0.05, 0.1, 0.5])
    family = gl.GCN(gl.PageRank(0.0), symmetrize=True)
    result = gl.gap_map(data, family, {"theta": (-1, 1)})
    assert result.gap.shape == (2, 3)
    assert np.all(result.gap > 0)
    assert result.gap[1, 1] == pytest.approx(0.91273 - 0.88597, abs=1e-5)
    np.testing.assert_allclose(
        np.exp(result.log_ratio),
        (1 - result.tuned.prediction.test_accuracy) / (1 - result.ceiling.test_accuracy),
        rtol=1e-12,
    )
