"""Linear message passing on sampled graphs: layers, systems and fitted numbers, beside the theory and each other."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.simulation.data.instance import observed
from gcnlimit.simulation.infer import linear

POINT = gl.CSBM(4, np.sqrt(2), 2, 0.1, directed=False)
FEW = gl.CSBM(
    1, 0.849, 4, 0.01, directed=False
)  # twenty labels of 2000 nodes: samples are indefinite


def accuracies(data, graphs, nodes=3000, degree=30, to=None, **how):
    found = []
    for seed in range(graphs):
        graph = gl.sample(data, nodes, degree, seed=seed)
        other = None if to is None else gl.sample(to, nodes, degree, seed=100 + seed, beside=graph)
        found.append(gl.linear_message_passing(graph, to=other, **how).performance.test_accuracy)
    mean = np.mean(found)
    # of five graphs the scatter alone may be small by chance; it is never below that of independent nodes
    least = np.sqrt(mean * (1 - mean) / nodes)
    return mean, max(np.std(found, ddof=1), least) / np.sqrt(graphs)


CASES = {
    "two": (POINT, {}),
    "directed": (gl.CSBM(3, 0.9, 2, 0.1), {}),
    "heterophilic": (gl.CSBM(3, -0.9, 2, 0.05, directed=False), {}),
    "unequal": (gl.CSBM(2, 1.1, 1.2, 0.15, directed=False, classes=(0.3, 0.7)), {"degree": 60}),
    "hubs": (gl.CSBM(3, 1.1, 1.5, 0.1, directed=False, degrees=gl.Gamma(0.5)), {"degree": 60}),
    "coloured": (
        gl.CSBM(3, 0.9, 2, 0.15, features=gl.Spectrum([0.5, 1.5], [1.5, 0.5], [0.5, 0.5])),
        {},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_theory_holds(case):
    data, how = CASES[case]
    mean, error = accuracies(data, 6, **how)
    assert abs(mean - gl.best_linear(data).test_accuracy) < 4 * error


@pytest.mark.slow
def test_the_theory_holds_layer_by_layer():
    expected = gl.best_linear(POINT, layers=3).test_accuracy
    for layers in (1, 2, 3):
        mean, error = accuracies(POINT, 5, layers=layers)
        assert abs(mean - expected[layers - 1]) < 4 * error


@pytest.mark.slow
def test_the_theory_holds_on_another_graph():
    data, to = gl.CSBM(3, 0.8, 2, 0.1), gl.CSBM(3, 0.8, 2, 0.0)
    mean, error = accuracies(data, 5, to=to)
    assert abs(mean - gl.best_linear(data, to=to).test_accuracy) < 4 * error
    by_layer = gl.best_linear(data, to=to, layers=2).test_accuracy
    for layers, expected in enumerate(by_layer, 1):
        mean, error = accuracies(data, 5, to=to, layers=layers)
        assert abs(mean - expected) < 4 * error


@pytest.mark.slow
def test_at_small_degree_the_bethe_hessian_is_better():
    expected = gl.best_linear(POINT, degree=5, population=1000, sweeps=20).test_accuracy
    bethe, error = accuracies(POINT, 6, degree=5, by="bethe")
    assert bethe > accuracies(POINT, 6, degree=5, by="system")[0] + 0.01
    assert (
        -0.012 - 4 * error < bethe - expected < 4 * error
    )  # fields are not Gaussian: up to a point less


@pytest.mark.parametrize("case", CASES)
def test_the_layers_solve_the_system(case):
    data, _ = CASES[case]
    graph = gl.sample(data, 1200, 30, seed=1)
    layers, system = (
        gl.linear_message_passing(graph, by=by, tol=1e-9) for by in ("layers", "system")
    )
    assert np.allclose(layers.labels, system.labels, atol=1e-6)
    assert np.allclose(
        layers.left_out, system.left_out, atol=0.12
    )  # of labelled nodes to order 1/sqrt N
    hidden = ~graph.train_mask
    assert np.allclose(layers.left_out[hidden], system.left_out[hidden], atol=1e-5)


def test_the_system_is_that_of_the_page():
    """Against a dense solution of Eq. 12.4 and of the Bethe Hessian, Eq. 12.10, written out."""
    graph = gl.sample(gl.CSBM(2, 0.8, 1.5, 0.3, directed=False), 300, 12, seed=0)
    lam, mu = 0.8, 1.5
    A, X, N, d = graph.adjacency.toarray(), graph.features, 300, 12
    R, y = graph.train_mask, graph.labels
    kernel = mu / (1 + mu) * X @ X.T / N
    a = (A - d / N) / np.sqrt(d * (1 - d / N))
    plain = (1 + lam**2 + mu * X.shape[1] / N) * np.eye(N) - lam * a - kernel
    t = lam / np.sqrt(d)
    degrees = d * A.sum(axis=0) / A.sum(axis=0).mean()
    bethe = (
        np.diag(1 + t**2 / (1 - t**2) * degrees + mu * X.shape[1] / N)
        - t / (1 - t**2) * np.sqrt(d) * a
        - kernel
    )
    for by, H in (("system", plain), ("bethe", bethe)):
        v = np.linalg.solve(H[np.ix_(~R, ~R)], -H[np.ix_(~R, R)] @ y[R])
        assert np.allclose(
            gl.linear_message_passing(graph, by=by, tol=1e-10).labels[~R], v, atol=1e-7
        )


def test_an_indefinite_system_is_raised_to_the_distance_of_the_limit():
    """The top of the matrix then lies below the diagonal by rho M/Q, Eq. 12.6; estimates are bounded after."""
    graph = gl.sample(FEW, 400, 30, seed=9)
    X, R, N, lam, mu = graph.features, graph.train_mask, 400, float(FEW.lam), float(FEW.mu)
    a = (graph.adjacency.toarray() - 30 / N) / np.sqrt(30 * (1 - 30 / N))
    fields = lam * a + mu / (1 + mu) * X @ X.T / N
    top = np.linalg.eigvalsh(fields[np.ix_(~R, ~R)])[-1]
    alpha = N / X.shape[1]
    assert top > 1 + lam**2 + mu / alpha
    limit = gl.best_linear(FEW.replaced(alpha=alpha, rho=R.mean())).order_parameters
    raised = top + R.mean() * limit.output.mean / limit.overlap
    system = raised * np.eye((~R).sum()) - fields[np.ix_(~R, ~R)]
    v = np.linalg.solve(system, fields[np.ix_(~R, R)] @ graph.labels[R])
    found = gl.linear_message_passing(graph, by="system", tol=1e-10).labels[~R]
    assert found @ v / np.linalg.norm(found) / np.linalg.norm(v) == pytest.approx(1.0, abs=1e-9)


def test_leave_one_out_is_free():
    """The field of a labelled node is what the network says of it when its label is hidden, to order 1/sqrt N."""
    graph = gl.sample(gl.CSBM(2, 1.0, 2, 0.3), 800, 30, seed=0)
    answer = gl.linear_message_passing(graph, by="system")
    node = np.flatnonzero(graph.train_mask)[:12]
    without = []
    for k in node:
        mask = graph.train_mask.copy()
        mask[k] = False
        hidden = gl.Instance.of(
            graph.adjacency, graph.features, graph.labels, mask, data=graph.data
        )
        without.append(gl.linear_message_passing(hidden, by="system").labels[k])
    assert np.corrcoef(answer.left_out[node], without)[0, 1] > 0.99


@pytest.mark.slow
def test_a_network_without_parameters_is_nearly_as_good():
    lost, weights = [], []
    for seed in range(5):
        graph = gl.sample(POINT, 3000, 30, seed=seed)
        fitted, known = (gl.linear_message_passing(graph, by=by) for by in ("labels", "layers"))
        lost.append(known.performance.test_accuracy - fitted.performance.test_accuracy)
        weights.append(fitted.weights[-1])
    assert np.mean(lost) < 0.008
    assert fitted.weights.shape == (fitted.iterations, 2)
    error = np.std(weights, axis=0, ddof=1) / np.sqrt(5)
    M = gl.best_linear(POINT).order_parameters.output.mean
    Q = gl.best_linear(POINT).order_parameters.overlap
    expected = np.array([np.sqrt(2), 2 / (1 + 2 * Q)]) / (1 + M)
    assert np.all(np.abs(np.mean(weights, axis=0) - expected) < 4 * error)
    assert np.all(error < 0.25 * expected)
    other = gl.CSBM(4, 0.1, 0.1, 0.1, directed=False)  # it does not read the signals of the model
    wrong = replace(observed(graph), data=other)
    assert np.allclose(
        gl.linear_message_passing(wrong, by="labels").labels, fitted.labels, atol=1e-9
    )


def test_a_network_that_fits_how_hubs_count_is_better_and_calibrated():
    """Beside the same network on the same graphs, told that all degrees are alike."""
    data = gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(1.0))
    gains, losses = [], []
    for seed in range(3):
        graph = gl.sample(data, 1500, 40, seed=seed)
        fitted = gl.linear_message_passing(graph, by="labels")
        alike = replace(observed(graph), data=data.having(degrees=None))
        blind = gl.linear_message_passing(alike, by="labels")
        test = ~graph.train_mask
        right = [(x.labels * graph.labels)[test] > 0.0 for x in (fitted, blind)]
        gains.append(right[0].mean() - right[1].mean())
        losses.append(fitted.performance.test_loss)
    assert np.mean(gains) > 0.01
    assert np.mean(losses) == pytest.approx(gl.best_linear(data).test_loss, abs=0.03)


@pytest.mark.parametrize("degrees", [None, gl.Gamma(0.5)])
def test_estimates_without_parameters_are_their_own_regression_on_the_labels(degrees):
    """Fields over one plus the evidence, measured on the labels, give the estimates back, on leaves and hubs alike."""
    data = gl.CSBM(3, 1.1, 1.5, 0.3, directed=False, degrees=degrees)
    graph = gl.sample(data, 2000, 30, seed=0)
    answer = gl.linear_message_passing(graph, by="labels")
    ratio = (answer.left_out / answer.labels)[~graph.train_mask]
    assert np.ptp(ratio) < 1e-9
    assert ratio[0] == pytest.approx(1.0, abs=0.1)


def test_labels_have_no_more_evidence_than_their_number_allows():
    """Estimates that separate n labels without an error have evidence n + 1, in any unit; noise s lowers it to 1/s^2."""
    mask, codes = np.array([True] * 9 + [False]), np.resize([1.0, -1.0], (10, 1))
    labelled = SimpleNamespace(mask=mask, codes=codes)
    for unit in (0.5, 3.0):
        fields, evidence = linear._FittedNetwork._calibrated(labelled, unit * codes, np.ones(10))
        assert evidence == pytest.approx(10.0)
        assert np.allclose(fields, 10.0 * codes)
    noise = 2.0 * codes * np.array([1, 1, -2, 0, 0, 0, 1, -1, 0, 0])[:, None]
    along = np.sum(noise * codes) / 9
    variance = np.sum((noise - along * codes)[mask] ** 2) / 8
    _, evidence = linear._FittedNetwork._calibrated(labelled, codes + noise, np.ones(10))
    assert evidence == pytest.approx((1 + along) ** 2 / variance)


def test_evidence_over_the_estimate_grows_with_the_propensity_by_one_of_the_numbers_tried():
    """Eq. 12.11: half the log-odds are the estimate times one plus the evidence, which is a line in the propensity."""
    graph = gl.sample(gl.CSBM(3, 1.1, 1.5, 0.3, directed=False, degrees=gl.Gamma(0.5)), 2000, 30, 0)
    answer = gl.linear_message_passing(graph, by="labels")
    unsure = np.min(answer.probabilities, axis=1) > 1e-6
    theta, p, estimate = (
        x[unsure] for x in (observed(graph).theta, answer.probabilities, answer.labels)
    )
    factor = 0.5 * np.log(p[:, 0] / p[:, 1]) / estimate
    slope, start = np.polyfit(theta, factor, 1)
    assert np.allclose(factor, start + slope * theta, rtol=1e-6)
    assert np.min(np.abs(slope / start - linear._PULLS[1:])) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("law", [gl.Gamma(0.5), gl.Gamma(1.0)])
def test_without_parameters_hubs_count_as_the_formula_says(law):
    data = gl.CSBM(3, 1.1, 1.5, 0.1, directed=False, degrees=law)
    mean, error = accuracies(data, 5, degree=40, by="labels")
    assert abs(gl.best_linear(data).test_accuracy - mean) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("by", ["layers", "system", "labels"])
def test_few_labels_leave_a_sample_indefinite_and_still_answer(by):
    worst = []
    for seed in range(4):
        answer = gl.linear_message_passing(gl.sample(FEW, 2000, 30, seed=seed), by=by)
        worst.append(answer.performance.test_accuracy)
        assert np.all(np.isfinite(answer.labels))
        assert answer.performance.test_loss < 0.5
    assert np.mean(worst) > (0.85 if by == "labels" else 0.95)


def test_the_output_is_calibrated():
    answer = gl.linear_message_passing(gl.sample(POINT, 4000, 30, seed=5))
    assert answer.performance.test_loss == pytest.approx(gl.best_linear(POINT).test_loss, abs=0.03)


def test_unequal_classes_have_their_fractions():
    """Calibrated probabilities are, in the mean, the shares of the classes."""
    data, how = CASES["unequal"]
    answer = gl.linear_message_passing(gl.sample(data, 4000, seed=3, **how))
    assert answer.probabilities.mean(axis=0) == pytest.approx([0.3, 0.7], abs=0.03)
    assert answer.performance.test_loss == pytest.approx(gl.best_linear(data).test_loss, abs=0.03)


@pytest.mark.slow
def test_more_than_two_classes_and_streamed_features():
    data = gl.CSBM(4, 1.2, 2, 0.2, directed=False, classes=3)
    for streamed in (False, True):
        graph = gl.sample(data, 1500, 30, seed=0, streamed=streamed)
        for by in ("layers", "system", "bethe", "labels"):
            answer = gl.linear_message_passing(graph, by=by)
            assert answer.labels.shape == (1500, 2)
            assert abs(answer.performance.test_accuracy - gl.best_linear(data).test_accuracy) < 0.06


def test_refusals_are_one_sentence():
    graph = gl.sample(gl.CSBM(2, 1.0, 1.0, 0.0), 100, 10, seed=0)
    with pytest.raises(gl.ParameterError, match="without labels has no answer; use amp"):
        gl.linear_message_passing(graph)
    graph = gl.sample(gl.CSBM(2, 1.0, 1.0, 0.2), 100, None, seed=0)
    with pytest.raises(gl.ParameterError, match="by='system'"):
        gl.linear_message_passing(graph, by="bethe")
    with pytest.raises(gl.ParameterError, match="by labels on another graph has no answer"):
        gl.linear_message_passing(graph, to=graph, by="labels")
    with pytest.raises(gl.ParameterError, match="is not allowed; use"):
        gl.linear_message_passing(graph, by="magic")
