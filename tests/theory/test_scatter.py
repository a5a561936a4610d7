"""Scatter of accuracies over graphs: reference values, the identities between its formulas, graphs that were drawn."""

import numpy as np
import pytest
from transfers import deployment, made, rows, sampled, training

import gcnlimit as gl
from gcnlimit.theory.fluctuations import laurent, profile, sampled_margins
from gcnlimit.theory.scatter import PairedScatter, paired_scatter, scatter


def near(a, b, tol=1e-7):
    assert abs(a / b - 1.0) < tol


@pytest.mark.parametrize("row", rows("scatter"))
def test_reference(row):
    data, gcn = training(row)
    found = scatter(data, gcn, row["nodes"])
    assert found.exact
    near(found.accuracy, row["accuracy"], 1e-9)
    near(found.deviation, row["sd"])
    near(found.binomial, row["binomial_sd"], 1e-9)
    pair = paired_scatter(data, gcn, gcn.replaced(filter=made(row["other_filter"])), row["nodes"])
    near(pair.difference, row["difference"], 1e-7)
    near(pair.deviation, row["sd_difference"])


@pytest.mark.parametrize("row", rows("scatter", "scatter_new_graph"))
def test_reference_on_a_new_graph(row):
    data, gcn = training(row)
    there = row.get("new_graph", row)
    filter = made(there["filter"] if "filter" in there else row["deploy"]["filter"])
    to = deployment(row, data) if "deploy" in row else data.replaced(lam=there["lam_e"])
    found = scatter(data, gcn.replaced(test_filter=filter), there["nodes"], to=to)
    near(found.accuracy, there["accuracy"], 1e-9)
    near(found.deviation, there["sd"])
    near(found.training, there["sd_training"])
    near(np.sqrt(found.deviation**2 - found.training**2), there["sd_frozen"])


def test_without_a_graph_test_nodes_are_a_new_graph():
    data, gcn = gl.CSBM(2.0, 0.0, 1.5, 0.3, directed=False), gl.GCN(gl.Polynomial([1.0]))
    rest = 1.0 - data.rho
    there = scatter(data, gcn, 3000, to=data.replaced(alpha=rest * data.alpha, mu=rest * data.mu))
    near(scatter(data, gcn, 3000).deviation, there.deviation, 1e-12)


def test_a_network_beside_another_fluctuates_as_alone():
    series = [laurent(filter, 1.3) for filter in (gl.PageRank(0.3), gl.Diffusion(0.6))]
    margin, _, covariance = sampled_margins(series, 1.3, 2.0, 1.5, 0.1)
    for k, one in enumerate(series):
        alone, _, own = sampled_margins([one], 1.3, 2.0, 1.5, 0.1)
        near(margin[k], alone[0], 1e-12)
        near(covariance[k, k], own[0, 0], 1e-9)


def test_a_network_does_not_differ_from_itself():
    data, filters = (
        gl.CSBM(2.0, 0.9, 1.5, 0.1),
        (gl.Polynomial([1.0, 0.3]), gl.Polynomial([2.0, 0.6, 0.0])),
    )
    assert paired_scatter(data, *map(gl.GCN, filters), 1000) == (0.0, 0.0)


def test_the_margin_is_that_of_the_prediction():
    data, gcn = gl.CSBM(2.0, 0.9, 1.5, 0.1), gl.GCN(gl.PageRank(0.3))
    signal = data.effective_signal(symmetrize=True)
    margin, _, _ = sampled_margins([laurent(gcn.filter, signal)], signal, 2.0, 1.5, 0.1)
    near(margin[0], gl.predict(data, gcn).order_parameters.test_margin, 1e-12)


def test_tails_are_averages_over_the_spectrum():
    one = profile(laurent(gl.Diffusion(0.7), 1.4), 1.4)
    near(one.J[0], np.exp(0.7 * (1.4 + 1 / 1.4)) * (1 - 1.4**-2) + _bulk(0.7, 1.4), 1e-12)


def _bulk(t, lam):
    x = 2 * np.cos((np.arange(4000) + 0.5) * np.pi / 4000)
    return np.mean(np.exp(t * x) * (4 - x**2) / 2 / (1 + lam**2 - lam * x))


def test_a_difference_shows_after_as_many_graphs_as_its_deviation_is_larger():
    assert PairedScatter(0.01, 0.02).graphs() == 16.0
    assert PairedScatter(-0.01, 0.021).graphs(sigmas=1.0) == 5.0
    assert PairedScatter(1.0, 0.02).graphs() == 1.0
    assert PairedScatter(0.0, 0.02).graphs() == np.inf


def test_rules_are_marked():
    data = gl.CSBM(2.0, 0.9, 1.5, 0.1)
    assert scatter(data, gl.GCN(gl.PageRank(0.3)), 1000).exact
    assert not scatter(data, gl.GCN(gl.PageRank(0.3), reg=1.0), 1000).exact
    assert not scatter(data, gl.GCN(gl.PageRank(0.3), symmetrize=False), 1000).exact
    assert scatter(data, gl.GCN(gl.PageRank(0.3), symmetrize=False), 1000, to=data).exact
    with pytest.raises(gl.ParameterError, match="one point at a time"):
        scatter(data.replaced(mu=[1.0, 2.0]), gl.GCN(gl.PageRank(0.3)), 1000)


def test_a_rule_keeps_the_ratio_to_the_binomial_deviation_at_infinite_regularization():
    data = gl.CSBM(4.0, 1.0, 2.0, 0.1)
    for options in ({}, {"to": gl.CSBM(3.0, 0.8, 2.0, 0.2)}):
        limit, there = (
            scatter(data, gl.GCN(gl.PageRank(0.3), reg=reg), 1000, **options)
            for reg in (np.inf, 1.0)
        )
        assert there.binomial != pytest.approx(limit.binomial, rel=1e-3)
        ratio = there.deviation / there.binomial
        assert ratio == pytest.approx(limit.deviation / limit.binomial, rel=1e-12)
        assert there.training / there.binomial == pytest.approx(
            limit.training / limit.binomial, rel=1e-12
        )


@pytest.mark.slow
def test_sampled_graphs():
    """Deviation of an accuracy, and of a difference of two, over 400 graphs of 300 nodes; their own errors are 3.5 %."""
    N, data = 300, gl.CSBM(2.0, 0.7, 2.0, 0.2, directed=False)
    filters = (gl.Polynomial([1.0, 0.5, 0.3]), gl.Polynomial([1.0]))
    rng, found = np.random.default_rng(2), []
    for _ in range(400):
        a, X, y, known, _ = sampled(rng, N, data)
        smooth = np.eye(N) + 0.5 * a + 0.3 * a @ a
        outputs = (g @ (X @ (X.T @ (g.T @ (known * y)))) for g in (smooth, np.eye(N)))
        found.append([np.mean((h * y > 0)[~known]) for h in outputs])
    found = np.array(found)
    own = scatter(data, gl.GCN(filters[0]), N)
    pair = paired_scatter(data, *map(gl.GCN, filters), N)
    near(np.std(found[:, 0]), own.deviation, 0.14)
    near(np.std(found[:, 0] - found[:, 1]), pair.deviation, 0.14)
