"""PageRank on a directed graph: the closed averages against the layers of its series, and against large matrices."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.theory.finite_reg.directed_solution import DirectedSolution
from gcnlimit.theory.finite_reg.pagerank import pagerank_transforms
from gcnlimit.theory.points import Points


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
@pytest.mark.parametrize("normalize", [False, True])
def test_closed_averages_and_the_layers_of_the_series_give_one_solution(loss, normalize):
    data = gl.CSBM(
        alpha=[0.5, 4.0, 2.0], lam=[-1.5, 0.4, 2.0], mu=[2.0, 0.0, 0.3], rho=[0.1, 1.0, 0.5]
    )
    gcn = gl.GCN(
        gl.PageRank([0.2, -0.3, 0.1]),
        loss,
        reg=[0.03, 1.0, 100.0],
        symmetrize=False,
        normalize=normalize,
    )
    closed = gl.predict(data, gcn).order_parameters
    series = DirectedSolution.solve(Points.of(data, gcn), tol=1e-12, max_iterations=5000)
    for name in ("mean", "variance", "v"):
        np.testing.assert_allclose(
            getattr(closed.output, name), getattr(series.output, name), rtol=1e-8
        )
    for name in ("m", "Q", "V", "m_hat", "Q_hat", "V_hat"):
        np.testing.assert_allclose(
            getattr(closed.weights, name), getattr(series.weights, name), rtol=1e-7, atol=1e-12
        )


def test_averages_are_those_of_a_large_matrix():
    n, theta, lam, s = 1200, 0.55, 0.8, 0.7
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], n)
    B = np.eye(n) - theta * (lam / n * np.outer(y, y) + rng.standard_normal((n, n)) / np.sqrt(n))
    gain = (1 - theta**2) ** -0.5  # of the filter, which is divided by it
    B = B * gain
    W = np.linalg.inv(s * np.eye(n) + B.T @ B)
    U = W @ B.T
    Uy, Wy = U @ y, W @ y
    t, e_U, e_W = np.trace(W) / n, y @ Uy / n, y @ Wy / n
    measured = [t, np.sum(U**2) / n, np.sum(W**2) / n - t**2, 1 / (1 - s * t), e_U, e_W - t]
    measured += [Uy @ Uy / n - e_U**2, Uy @ Wy / n - e_U * e_W, Wy @ Wy / n - e_W**2]
    graph = pagerank_transforms(np.array([theta]), np.array([lam]), np.array([s]))
    exact = [float(v[0]) for v in graph[: len(measured)]]
    np.testing.assert_allclose(measured, exact, rtol=0.02, atol=0.02)


def test_regularization_and_weight_are_tuned_together_on_a_directed_graph():
    data = gl.CSBM(alpha=4, lam=0.75, mu=0.5, rho=0.5)
    best = gl.tune(
        data, gl.GCN(gl.PageRank(0.0), symmetrize=False), {"theta": (-1, 1), "reg": (0, np.inf)}
    )
    theta, reg = np.meshgrid(np.linspace(0.1, 0.9, 33), np.geomspace(0.1, 1e3, 25))
    dense = gl.predict(data, gl.GCN(gl.PageRank(theta), reg=reg, symmetrize=False)).test_accuracy
    assert 0 <= best.prediction.test_accuracy - dense.max() < 2e-4
