"""Estimates of the signals: right within their own errors, and predictions within theirs."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.graphs.standard import Signals, StandardizedGraph, from_labels
from gcnlimit.real.estimate import _of_spectrum, estimate_standard
from gcnlimit.simulation.infer.likelihood import Posteriors, from_likelihood
from validation.estimate_coverage import NETWORK, compared, distance, drawn, sampled

estimate_module = import_module("gcnlimit.real.estimate")


def several(classes, lam, seed):
    """A graph of several equal classes, its features of signal 2."""
    graph = sampled(
        gl.CSBM(3, lam, 2.0, 0.2, directed=False, classes=classes),
        1200,
        np.random.default_rng(seed),
    )
    return StandardizedGraph.of(graph.X, graph.y, graph.adjacency)


def often_enough(hits, count):
    """Whether so few hits are likely if each has the probability of two standard errors."""
    return binom.cdf(hits, count, 0.954) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "classes, method, graphs",
    [
        (2, "labels", range(12)),
        (4, "labels", range(8)),
        (2, "likelihood", (1, 3, 24, 27)),
    ],  # the last are small ones
)
def test_the_truth_is_within_two_standard_errors(classes, method, graphs):
    rows = [compared(k, classes, method) for k in graphs]
    fine = [row for row in rows if not row["warnings"]]
    assert len(fine) > 0.7 * len(graphs)
    for name in ("lam", "mu"):
        assert often_enough(sum(abs(distance(row, name)) < 2 for row in fine), len(fine))
    assert often_enough(sum(row["network"] for row in fine), len(fine))


@pytest.mark.parametrize("labelled", [3, 6])
def test_two_errors_hold_the_truth_with_a_handful_of_labels(labelled):
    """Both signals may be lost at once: one at a time, the ceiling was within two of its errors on one graph of five."""
    rows = [compared(k, labelled=labelled) for k in range(16)]
    for name in ("network", "ceiling"):
        assert often_enough(sum(row[name] for row in rows), len(rows))


@pytest.mark.slow
@pytest.mark.parametrize("classes, lam", [(3, 0.8), (4, -0.7)])
def test_several_classes_have_the_signals_of_two(classes, lam):
    z = []
    for seed in range(16):
        s = from_labels(several(classes, lam, seed))
        z.append([(s.lam - lam) / s.lam_error, (s.mu - 2.0) / s.mu_error])
    hits = np.sum(np.abs(z) < 2, axis=0)
    assert all(often_enough(int(h), 16) for h in hits)
    assert np.all(np.abs(np.mean(z, axis=0)) < 4 / np.sqrt(16))


def test_the_gradient_is_that_of_the_free_entropy():
    """The free entropy is stationary in the posterior, so that its derivative in the signals is the explicit one."""
    i = gl.sample(
        gl.CSBM(alpha=2, lam=1.2, mu=2.0, rho=0.1, directed=False), nodes=600, degree=30, seed=2
    )
    graph = Posteriors(
        StandardizedGraph.of(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    )

    def phi(lam, root):
        return 600 * graph.at(lam, root**2, steps=2000).free_entropy

    lam, root, h = 1.0, 1.3, 1e-3
    posterior = graph.at(lam, root**2, steps=2000)
    assert posterior.status is gl.Status.CONVERGED
    wanted = [
        (phi(lam + h, root) - phi(lam - h, root)) / (2 * h),
        (phi(lam, root + h) - phi(lam, root - h)) / (2 * h),
    ]
    assert graph.gradient(posterior, lam, root**2) == pytest.approx(wanted, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize("classes", [2, 3, [0.3, 0.7]])
def test_message_passing_goes_on_where_it_stopped(classes):
    model = gl.CSBM(alpha=2, lam=1.5, mu=2.0, rho=0.2, directed=False, classes=classes)
    i = gl.sample(model, nodes=500, degree=30, seed=3)
    short = gl.amp(i, max_iterations=5)
    parts, whole = gl.amp(i, start=short, tol=1e-9), gl.amp(i, tol=1e-9)
    assert np.allclose(parts.probabilities, whole.probabilities, atol=1e-6)
    assert gl.amp(i, start=whole).iterations <= 2


def test_the_likelihood_is_far_sharper_than_the_labels_at_few_labels():
    i = gl.sample(
        gl.CSBM(alpha=2, lam=1.5, mu=2.0, rho=0.05, directed=False), nodes=1000, degree=30, seed=0
    )
    given = StandardizedGraph.of(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    best, other = from_likelihood(given)
    assert best.signals.lam_error < 0.2 * from_labels(given).lam_error
    assert best.signals.lam > 0 > other.signals.lam
    assert best.free_entropy > other.free_entropy + 10


def test_the_likelihood_sees_unequal_classes_that_few_labels_hide():
    """Thirty labels of 0.3/0.7 do not refute equal classes, and the signal would be two to four errors low."""
    model = gl.CSBM(2, 1.2, 2.0, 30 / 1200, directed=False, classes=[0.3, 0.7])
    graph = sampled(model, 1200, np.random.default_rng(2))
    given = StandardizedGraph.of(graph.X, graph.y, graph.adjacency)
    assert given.classes.equal
    assert "may be of unequal size" in " ".join(estimate_standard(given, "likelihood").warnings)


def test_renaming_the_classes_or_scaling_changes_nothing():
    X, y, A, _ = drawn(1)
    one = estimate_standard(StandardizedGraph.of(X, y, A))
    two = estimate_standard(
        StandardizedGraph.of(3.0 * X + 1.0, np.where(y < 0, -1, 1 - y), 2.0 * A)
    )
    assert (two.lam, two.mu, two.lam_error, two.mu_error) == pytest.approx(
        (one.lam, one.mu, one.lam_error, one.mu_error), rel=1e-9
    )


def test_exact_parameters_give_an_interval_of_no_width():
    found = estimate_standard(StandardizedGraph.of(*drawn(0)[:3]))
    sure = found.__class__(
        **(found.__dict__ | {"lam_error": 0.0, "mu_error": 0.0, "counts": np.full(2, 10**12)})
    )
    low, high = sure.predict(NETWORK)[1:]
    assert high - low < 1e-6
    assert low <= gl.predict(sure.data, NETWORK).test_accuracy <= high


def test_what_the_model_does_not_explain_is_said(cora, texas):
    for data in (cora, texas):
        given = StandardizedGraph.of(data.X, data.training(), data.graph)
        assert "below 10 hubs hide other structure" in " ".join(estimate_standard(given).warnings)
    ring = sparse.csr_array(
        np.kron(np.eye(40), np.ones((25, 25))) - np.eye(1000)
    )  # communities that are no classes
    closed, apart = "joined with probability 1,", "such as other communities"
    with pytest.warns(UserWarning, match=closed), pytest.warns(UserWarning, match=apart):
        gl.estimate(None, np.arange(1000) % 2, ring)


def test_signals_of_absent_features_have_no_error():
    """Also where the likelihood is flat, so that the error of the other signal is not known."""
    rng = np.random.default_rng(5)
    A = np.triu(rng.random((150, 150)) < 4 / 150, 1).astype(float)
    y = np.full(150, -1)
    y[:6] = [0, 1] * 3
    found = estimate_standard(StandardizedGraph.of(None, y, A + A.T), "likelihood")
    assert (found.lam_error, found.mu, found.mu_error) == (np.inf, 0.0, 0.0)


@pytest.mark.parametrize("parts", [1, 4])
def test_classes_that_fall_apart_into_communities_are_no_blocks(parts):
    """Three classes have two eigenvalues outside; each of four communities has one more."""
    rng = np.random.default_rng(0)
    community = rng.integers(3 * parts, size=900)
    rate = np.where(community[:, None] == community, 8.0 * parts, 1.0)
    A = np.triu(rng.random((900, 900)) < 15 / 900 * rate / rate.mean(), 1).astype(float)
    y = np.where(rng.random(900) < 0.3, community // parts, -1)
    doubts = estimate_standard(StandardizedGraph.of(None, y, A + A.T)).warnings
    assert any("other communities" in doubt for doubt in doubts) == (parts > 1)


@pytest.mark.parametrize("mixed", [0.0, 0.1])
def test_two_sides_are_no_communities(mixed):
    """Their eigenvalue is negative, also where some edges stay within a side."""
    rng = np.random.default_rng(0)
    side, y = rng.integers(2, size=(2, 600))
    rate = (
        15
        / 600
        * np.where(side[:, None] == side, mixed, 2.0 - mixed)
        * np.where(y[:, None] == y, 1.4, 0.6)
    )
    A = np.triu(rng.random((600, 600)) < rate, 1).astype(float)
    doubts = estimate_standard(StandardizedGraph.of(None, y, A + A.T)).warnings
    assert any("such as two kinds of nodes" in doubt for doubt in doubts)
    assert ("bipartite" in doubts[0]) == (mixed == 0.0)


@pytest.mark.slow
def test_few_labels_and_no_signal_leave_the_sign_open():
    i = gl.sample(
        gl.CSBM(alpha=4, lam=0.05, mu=0.3, rho=0.02, directed=False), nodes=600, degree=20, seed=0
    )
    given = StandardizedGraph.of(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    assert "sign of lam" in " ".join(estimate_standard(given, "likelihood").warnings)


def test_structure_that_is_not_the_classes_is_said():
    """The graph follows one partition, the labels another."""
    i = gl.sample(
        gl.CSBM(alpha=2, lam=2.5, mu=0.1, rho=0.15, directed=False), nodes=1000, degree=30, seed=0
    )
    other = np.random.default_rng(5).integers(2, size=1000)
    given = StandardizedGraph.of(i.features, np.where(i.train_mask, other, -1), i.adjacency)
    assert "by labels" in " ".join(estimate_standard(given, "likelihood").warnings)


@pytest.mark.parametrize("method", ["bayes", None])
def test_malformed_calls_are_refused(method, texas):
    with pytest.raises(gl.ParameterError, match="method"):
        gl.estimate(texas.X, texas.y, texas.graph, method=method)


def test_the_likelihood_is_of_two_classes(texas):
    with pytest.raises(gl.ParameterError, match="two equal classes"):
        gl.estimate(texas.X, texas.y, texas.graph, method="likelihood")


def test_the_likelihood_is_refused_for_unequal_classes():
    rng = np.random.default_rng(0)
    X, A = (
        rng.standard_normal((400, 20)),
        sparse.csr_array(np.triu(rng.random((400, 400)) < 0.1, 1).astype(float)),
    )
    given = StandardizedGraph.of(
        X, np.where(np.arange(400) < 100, rng.random(400) < 0.8, -1), A + A.T
    )
    with pytest.raises(gl.ParameterError, match="equal classes"):
        estimate_standard(given, "likelihood")


def test_unequal_classes_are_kept_and_those_that_may_be_equal_are_equal():
    rng = np.random.default_rng(0)
    X, A = (
        rng.standard_normal((400, 20)),
        sparse.csr_array(np.triu(rng.random((400, 400)) < 0.1, 1).astype(float)),
    )
    A = A + A.T
    for share in (0.5, 0.8):
        y = np.where(np.arange(400) < 100, rng.random(400) < share, -1)
        found = estimate_standard(StandardizedGraph.of(X, y, A))
        assert found.data.classes == (2 if share == 0.5 else tuple(np.bincount(y[:100]) / 100))


@pytest.mark.parametrize("lam", [0.75, -0.75])
def test_message_passing_converges_at_the_true_signals(lam):
    """As state evolution says it does; features and graph both matter, and few nodes are labelled."""
    graph = sampled(gl.CSBM(1, lam, 0.9, 0.035, directed=False), 1500, np.random.default_rng(1))
    given = Posteriors(StandardizedGraph.of(graph.X, graph.y, graph.adjacency))
    found, without = (given.at(signal, 0.9, steps=80) for signal in (lam, 0.0))
    assert found.status is gl.Status.CONVERGED
    assert found.free_entropy > without.free_entropy


def test_classes_of_labelled_nodes_alone_leave_no_outlier():
    """A fifth of the nodes have classes, all of them labelled: the graph as a whole lacks the eigenvalue of that signal."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1000)
    alike = np.where(y[:, None] == y, 0.8, -0.8) * (np.maximum.outer(*[np.arange(1000)] * 2) < 200)
    A = np.triu(rng.random((1000, 1000)) < 0.03 * (1.0 + alike), 1).astype(float)
    labels = np.where(np.arange(1000) < 200, y, -1)
    found = estimate_standard(StandardizedGraph.of(None, labels, A + A.T))
    assert "should give an eigenvalue at" in " ".join(found.warnings)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_the_free_entropy_is_flat_at_the_likelihoods_maximum(directed, mu):
    """Its derivatives would move the signals by less than a twentieth of their errors, which its curvature gives."""
    model = gl.CSBM(2, 1.3, mu, 0.2, directed=directed)
    i = gl.sample(model, nodes=600, degree=30, seed=1)
    given = StandardizedGraph.of(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    best, _ = from_likelihood(given)
    graph = Posteriors(given)
    lam, mu = best.signals.lam / graph.half, best.signals.mu
    slope = graph.gradient(graph.at(lam, mu), lam, mu)
    errors = best.signals.lam_error / graph.half, best.signals.mu_error / (2.0 * np.sqrt(mu))
    assert np.all(np.abs(slope) * errors < 0.05)
    assert best.converged

    def at(x):
        return graph.gradient(graph.at(x[0], x[1] ** 2), x[0], x[1] ** 2)

    x = np.array([lam, np.sqrt(mu)])
    curvature = np.stack([(at(x - h) - at(x + h)) / 0.04 for h in 0.02 * np.eye(2)])
    np.testing.assert_allclose(np.sqrt(np.diag(np.linalg.inv(curvature))), errors, rtol=0.05)


@pytest.mark.parametrize(
    "lam, error, top, says",
    [
        (0.1, 0.05, 2.4, ""),
        (0.1, 0.05, 2.8, "eigenvalues up to 2.80; the model allows 2.53"),
        (0.9, 0.0, 2.6, "the model allows 2.53"),
        (3.0, 0.1, 3.33, ""),
        (-3.0, 0.1, 3.33, ""),
        (3.0, 0.1, 2.9, "should give an eigenvalue at 3.33 but the largest is 2.90"),
        (3.0, 0.2, 2.9, ""),
        (3.0, 0.0, 4.0, "the model allows 3.83"),
        (3.0, 0.2, 4.0, ""),
        (1.2, 0.0, 1.5, ""),  # next to the edge of the spectrum nothing is sure
    ],
)
@pytest.mark.parametrize("directed", [True, False])
def test_an_eigenvalue_is_missed_or_doubted_beyond_two_errors(  # noqa: PLR0917
    monkeypatch, directed, lam, error, top, says
):
    """A signal s above 1 has its eigenvalue at s + 1/s; a directed graph has that of its symmetrized one."""
    monkeypatch.setattr(estimate_module, "top_eigenvalues", lambda S, count: np.array([-top, 1.4]))
    graph = {"directed": directed, "has_hubs": False, "spectral": lambda: None, "nodes": 100}
    given = SimpleNamespace(**graph, classes=Classes.of(2), degrees=np.full(100, 20.0))
    unit = np.sqrt(2.0) if directed else 1.0
    told = " ".join(_of_spectrum(given, Signals(lam / unit, 1.0, error / unit, 0.1)))
    assert says in told
    assert bool(told) == bool(says)
