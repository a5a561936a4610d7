"""The sampler against its law."""

import numpy as np
import pytest
from scipy.stats import chi2

from gcnlimit.simulation.backend import backend_of
from gcnlimit.simulation.data.sample import _successes, bernoulli_graph, gaussian_graph

N, SAME, OTHER = 300, 0.06, 0.03
LABELS = np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
KINDS = np.where(LABELS > 0, 0, 1)


def blocks(same, other):
    return np.array([[same, other], [other, same]])


def graphs(directed, count=60, n=N):
    rng = np.random.default_rng(7)
    return [bernoulli_graph(KINDS[:n], blocks(SAME, OTHER), directed, rng) for _ in range(count)]


def pairs(same, directed):
    full = np.equal.outer(LABELS, LABELS) == same
    return np.count_nonzero(full if directed else np.triu(full))


@pytest.mark.parametrize("directed", [True, False])
def test_edge_counts_of_each_block_are_binomial(directed):
    for same, p in ((True, SAME), (False, OTHER)):
        n = pairs(same, directed)
        block = np.equal.outer(LABELS, LABELS) == same
        counts = np.array(
            [
                (A.toarray() if directed else np.triu(A.toarray()))[block].sum()
                for A in graphs(directed)
            ]
        )
        statistic = np.sum(
            (counts - n * p) ** 2 / (n * p * (1 - p))
        )  # mean and fluctuation at once
        assert 1e-4 < chi2.cdf(statistic, df=len(counts)) < 1 - 1e-4


@pytest.mark.parametrize(
    "directed, n", [(True, 15), (False, 15), (False, 16)]
)  # pairs are counted otherwise if n is even
def test_every_pair_has_its_probability(directed, n):
    labels = LABELS[:n]
    rng = np.random.default_rng(1)
    draws = 1000
    total = sum(
        bernoulli_graph(KINDS[:n], blocks(0.5, 0.2), directed, rng).toarray() for _ in range(draws)
    )
    p = np.where(np.equal.outer(labels, labels), 0.5, 0.2)
    z = (total - draws * p) / np.sqrt(draws * p * (1 - p))
    cells = z if directed else z[np.triu_indices(n)]
    assert np.abs(cells).max() < 5
    assert 1e-4 < chi2.cdf(np.sum(cells**2), df=cells.size) < 1 - 1e-4


def test_directions_are_independent():
    both = np.array([A.multiply(A.T).nnz - A.diagonal().sum() for A in graphs(True, count=200)])
    same, other = pairs(True, True) - N, pairs(False, True)
    expected = same * SAME**2 + other * OTHER**2
    deviation = both.std(ddof=1) / np.sqrt(both.size)
    assert abs(both.mean() - expected) < 4 * deviation


def test_degrees_fluctuate_as_independent_edges():
    degrees = np.stack([A.sum(axis=1) for A in graphs(True, count=40)])
    same = np.equal.outer(LABELS, LABELS)
    mean = np.where(same, SAME, OTHER).sum(axis=1)
    variance = np.where(same, SAME * (1 - SAME), OTHER * (1 - OTHER)).sum(axis=1)
    statistic = np.sum((degrees - mean) ** 2 / variance)
    assert 1e-4 < chi2.cdf(statistic, df=degrees.size) < 1 - 1e-4


def test_an_undirected_graph_is_symmetric_and_has_zeros_and_ones():
    for A in graphs(False, count=5):
        assert (A != A.T).nnz == 0
        assert set(np.unique(A.data)) == {1.0}
        assert A.has_canonical_format


def test_self_loops_have_the_probability_of_the_class():
    loops = [A.diagonal().sum() for A in graphs(True, count=200)]
    assert abs(np.mean(loops) - N * SAME) < 4 * np.sqrt(N * SAME / 200)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_edges(p):
    A = bernoulli_graph(KINDS, blocks(p, p), False, np.random.default_rng(0))
    assert A.nnz == p * N * N


def test_certain_places():
    rng, backend = np.random.default_rng(0), backend_of("cpu")
    assert _successes(100, 0.0, rng, backend).size == 0
    assert np.array_equal(_successes(100, 1.0, rng, backend), np.arange(100))


def test_gaussian_graph_has_the_spike():
    A = gaussian_graph(LABELS[:, None], 2.0, True, np.random.default_rng(0))
    assert abs(LABELS @ A @ LABELS / N**1.5 - 2.0) < 4 / np.sqrt(N)
    S = gaussian_graph(LABELS[:, None], 2.0, False, np.random.default_rng(0))
    assert np.array_equal(S, S.T)
    assert abs(np.triu(S, 1)[np.triu_indices(N, 1)].std() - 1) < 0.05


@pytest.mark.parametrize(
    "directed, n, order", [(True, 15, list), (False, 15, list), (False, 16, sorted)]
)
def test_propensities_multiply_the_probability_of_every_pair(directed, n, order):
    labels, rng, draws = LABELS[:n], np.random.default_rng(2), 1000
    # propensities of four octaves, whose nodes may stand one after the other
    theta = np.append(order(np.resize([0.01, 0.3, 1.0, 3.0], n - 1)), 0.0)
    total = sum(
        bernoulli_graph(KINDS[:n], blocks(0.3, 0.1), directed, rng, theta=theta).toarray()
        for _ in range(draws)
    )
    p = np.minimum(np.where(np.equal.outer(labels, labels), 0.3, 0.1) * np.outer(theta, theta), 1.0)
    cells = np.ones((n, n), bool) if directed else np.triu(np.ones((n, n), bool))
    assert np.array_equal(total[p % 1.0 == 0.0], draws * p[p % 1.0 == 0.0])
    assert p.max() == 1.0
    often, rare = cells & (p < 1.0) & (draws * p > 10.0), cells & (draws * p <= 10.0)
    z = (total - draws * p)[often] / np.sqrt(draws * (p * (1 - p))[often])
    assert 1e-4 < chi2.cdf(np.sum(z**2), df=z.size) < 1 - 1e-4
    assert abs(total[rare].sum() - draws * p[rare].sum()) < 4 * np.sqrt(draws * p[rare].sum())


def test_places_go_on_where_the_last_gaps_ended():
    """More successes than were expected are drawn in several goes, and each place counts once."""

    class Surely:
        """Gaps of one, as of trials that all succeed, whatever their probability."""

        goes = 0

        def geometric(self, p, size):
            self.goes += 1
            return np.ones(size, np.int64)

    rng = Surely()
    assert np.array_equal(_successes(1000, 0.1, rng, backend_of("cpu")), np.arange(1000))
    assert rng.goes > 1
