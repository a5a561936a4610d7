"""The law of the degrees of a graph, and its signal and noise once they are accounted for."""

import numpy as np
import pytest

from gcnlimit.degrees import Gamma
from gcnlimit.real.degrees import degree_law, degree_signal, degree_variance, noise_level
from gcnlimit.simulation.data.graph import bernoulli_graph

NODES, DEGREE, LAM = 3000, 40.0, 1.3


LAW = Gamma(0.5)


def sampled(directed, law=LAW, seed=0):
    rng = np.random.default_rng(seed)
    kinds, theta = rng.integers(0, 2, NODES), law.draw(rng, NODES)
    near, far = ((DEGREE + sign * LAM * np.sqrt(DEGREE)) / NODES for sign in (1, -1))
    A = bernoulli_graph(kinds, np.array([[near, far], [far, near]]), directed, rng, theta=theta)
    return A, theta, (1.0 - 2.0 * kinds)[:, None]


def expected(A):
    """Mean adjacency of a graph of the same degrees, entry by entry."""
    return np.outer(A.sum(axis=1), A.sum(axis=0)) / A.sum()


@pytest.mark.parametrize("directed", [True, False])
def test_signal_is_the_modularity_along_the_labels(directed):
    A, _, y = sampled(directed)
    excess = A.toarray() - expected(A)
    np.fill_diagonal(excess, 0.0)
    alone = float(y[:, 0] @ excess @ y[:, 0]) / ((NODES - 1) * np.sqrt(A.sum() / NODES))
    assert degree_signal(A, y) == pytest.approx(alone, rel=1e-10)
    some = np.where(np.arange(NODES)[:, None] % 3 == 0, y, 0.0)
    for codes, labelled in ((y, NODES), (some, NODES // 3)):
        assert abs(degree_signal(A, codes) - LAM) < 4 * np.sqrt(2.0) * NODES / labelled / np.sqrt(NODES)


@pytest.mark.parametrize("directed", [True, False])
def test_noise_is_one_in_the_model(directed):
    A, _, _ = sampled(directed)
    mean, joined = expected(A), np.outer(A.sum(axis=1) > 0, A.sum(axis=0) > 0)
    square = np.where(joined, (A.toarray() - mean) ** 2 / np.where(joined, mean, 1.0), 0.0)
    assert noise_level(A) == pytest.approx(square.sum() / joined.sum(), rel=1e-10)
    assert noise_level(A) == pytest.approx(1.0, abs=0.05)


def test_law_of_the_degrees_without_chance():
    A, theta, _ = sampled(False)
    assert degree_law(A).moment(2.0) - 1.0 == pytest.approx(np.var(A.sum(axis=1)) / A.sum(axis=1).mean() ** 2)
    assert degree_variance(A) == pytest.approx(np.var(theta), abs=0.05)
    alike = sampled(False, law=Gamma(0.0))[0]
    assert degree_variance(alike) < 0.005
