"""All linear networks: reference values, the theorem at work, limits, and the networks that stand below."""

import numpy as np
import pytest
from reference import LINEAR
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling.linear_node import LinearNode
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import StateEvolution


def data_of(given, **more):
    signal = given.get("lam_e", given.get("lam"))
    return gl.CSBM(
        given["alpha"], signal, given["mu"], given.get("rho", 0.0), directed=False, **more
    )


def margin2(prediction):
    return prediction.order_parameters.output.mean


def found(row):  # noqa: PLR0911
    """Numbers of a reference row by name, from the library."""
    kind, given = row["kind"], row["given"]
    if kind == "binary":
        best = gl.best_linear(data_of(given))
        loss, overlap = best.test_loss, best.order_parameters.overlap
        return {
            "M": margin2(best),
            "accuracy": best.test_accuracy,
            "cross_entropy": loss,
            "overlap": overlap,
        }
    if kind == "layers":
        best = gl.best_linear(data_of(given), layers=10)
        kept = [0, 1, 2, 4, 9]
        return {"M": margin2(best)[kept], "accuracy": best.test_accuracy[kept]}
    if kind == "classes":
        best = gl.best_linear(data_of(given, classes=given["classes"]))
        return {"M": margin2(best), "accuracy": best.test_accuracy}
    if kind == "unequal":
        best = gl.best_linear(data_of(given, classes=(given["fraction"], 1 - given["fraction"])))
        names = ("best_accuracy", "balanced_accuracy", "roc_auc")
        return {"M": margin2(best)} | {name: getattr(best, name) for name in names}
    if kind == "directed":
        data = gl.CSBM(given["alpha"], given["lam"], given["mu"], given["rho"])
        both, one_way = (gl.best_linear(data, symmetrize=way) for way in (True, False))
        return {"accuracy_both": both.test_accuracy, "accuracy_one_way": one_way.test_accuracy}
    if kind == "coloured":
        features = gl.Spectrum(given["variance"], given["signal"], given["weight"])
        best = gl.best_linear(data_of(given, features=features))
        return {"M": margin2(best), "accuracy": best.test_accuracy}
    if kind == "degrees":
        best = gl.best_linear(data_of(given, degrees=gl.Degrees(given["theta"], given["weight"])))
        return {"accuracy": best.test_accuracy, "q": best.order_parameters.overlap}
    if kind == "pair":
        ratio = given["ratio"]  # alpha and mu of the new graph are its own
        to = gl.CSBM(
            given["alpha"] * ratio,
            given["lam_e_new"],
            given["mu_new"] * ratio,
            given["rho_new"],
            directed=False,
        )
        best = gl.best_linear(data_of(given), to=to)
        parts = {"joint": best, "two_stages": best.two_stages, "frozen": best.frozen}
        return {f"accuracy_{name}": part.test_accuracy for name, part in parts.items()}
    if kind == "flips":
        best = gl.best_linear(data_of(given, noise=given["flips"]))
        return {"M": margin2(best), "accuracy": best.test_accuracy}
    if kind == "two numbers":
        spread = gl.theory.label_propagation(data_of(given), given["theta_a"], given["theta_x"])
        return {"accuracy": spread.test_accuracy, "margin2": spread.order_parameters.test_margin**2}
    best = gl.best_linear(data_of(given))
    return {"M": margin2(best), "accuracy": best.test_accuracy}


@pytest.mark.parametrize("row", LINEAR, ids=lambda row: f"{row['kind']}-{row['given']['alpha']}")
def test_reference(row):
    for name, value in found(row).items():
        assert np.allclose(value, row["answer"][name], rtol=0, atol=1e-11), name


def box(n, seed, directed=True, **more):
    rng = np.random.default_rng(seed)
    alpha, lam, mu, rho = rng.uniform([[0.3], [-2], [0.1], [0.02]], [[5], [2], [4], [0.6]], (4, n))
    return gl.CSBM(alpha, lam, mu, rho, directed=directed, **more)


@pytest.mark.parametrize("classes", [2, 3, 8, (0.2, 0.8)])
def test_no_better_than_message_passing(classes):
    """A Gaussian is the hardest law of the codes: the linear estimate is never the better one."""
    data = box(200, 1, classes=classes)
    best, bayes = gl.best_linear(data), gl.bayes_optimal(data).algorithmic
    assert np.all(margin2(best) <= margin2(bayes) * (1 + 1e-12))
    if classes != 2:
        assert np.allclose(margin2(best), margin2(gl.best_linear(box(200, 1))), rtol=1e-13)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_no_trained_network_is_better(loss):
    """Convex losses act on labelled nodes, so that training on them is covered by the theorem."""
    data = box(6, 2)
    best = gl.best_linear(data).test_accuracy
    for filter in (gl.Residual([1.0, 0.5]), gl.PageRank(0.3)):
        for reg in (0.3, 3.0, np.inf):
            network = gl.GCN(filter, loss, reg, symmetrize=True)
            assert np.all(gl.predict(data, network).test_accuracy < best - 1e-4)


def test_layers_rise_to_the_limit():
    data = gl.CSBM([[4.0], [1.0]], [1.0, -0.6, 0.2], 2.0, 0.05)
    layers, best = gl.best_linear(data, layers=200), gl.best_linear(data)
    assert layers.test_accuracy.shape == (2, 3, 200)
    assert np.all(np.diff(layers.test_accuracy, axis=-1) >= 0)
    assert np.allclose(layers.test_accuracy[..., -1], best.test_accuracy, atol=1e-12)
    first = gl.theory.message_passing(
        data, layers=1
    ).test_accuracy  # nothing nonlinear has happened
    assert np.allclose(layers.test_accuracy[..., 0], first[..., 0], atol=1e-12)


def test_layers_of_hubs_rise_to_the_limit():
    data = gl.CSBM(4, [0.8, 1.2], 2, 0.1, directed=False, degrees=gl.Gamma(0.5))
    layers, best = gl.best_linear(data, layers=60), gl.best_linear(data)
    assert np.all(np.diff(layers.test_accuracy, axis=-1) >= -1e-15)
    assert np.allclose(layers.test_accuracy[:, -1], best.test_accuracy, atol=1e-12)
    assert np.allclose(
        layers.accuracy_by_degree([0.3, 2.0])[:, -1],
        best.accuracy_by_degree([0.3, 2.0]),
        atol=1e-12,
    )


def test_layers_on_two_graphs_are_those_of_the_equations_and_rise_to_the_limit():
    """Eq. 12.12 layer by layer, written out; each stage ends at its limit."""
    home, there = (
        gl.CSBM(4, 1.2, 2.0, 0.1, directed=False),
        gl.CSBM(3, [0.8, -0.5], 1.5, 0.02, directed=False),
    )
    layers, best = gl.best_linear(home, to=there, layers=80), gl.best_linear(home, to=there)
    q, r = 0.1, 0.02
    for count in range(5):
        A = 2.0 * q + 1.5 * r
        m, n = 2.0 / 4 * A / (1 + A) + 1.2**2 * q, 1.5 / 3 * A / (1 + A) + 0.8**2 * r
        assert layers.test_accuracy[0, count] == pytest.approx(ndtr(np.sqrt(n)), abs=1e-14)
        q, r = (0.1 + m) / (1 + m), (0.02 + n) / (1 + n)
    for stage in ("two_stages", "frozen"):
        ended = getattr(layers, stage).test_accuracy[:, -1]
        assert np.allclose(ended, getattr(best, stage).test_accuracy, atol=1e-12)
    assert np.allclose(layers.test_accuracy[:, -1], best.test_accuracy, atol=1e-12)
    assert np.all(np.diff(layers.test_accuracy, axis=-1) >= 0)
    assert layers.to_xarray().test_accuracy.dims == ("to_lam", "layer")


def test_a_law_of_vanishing_variance_is_none():
    data = gl.CSBM(3, 0.9, 1.5, 0.1, directed=False)
    alike = data.replaced(degrees=gl.Gamma(1e-9))
    for noise in (0.0, 0.2):
        one, other = (gl.best_linear(model.replaced(noise=noise)) for model in (data, alike))
        for name in ("train_accuracy", "train_loss"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-8)
        assert one.test_accuracy == pytest.approx(other.test_accuracy, abs=1e-8)
        assert one.test_loss == pytest.approx(other.test_loss, abs=1e-8)


def test_without_labels_the_threshold_is_that_of_the_ceiling():
    data = gl.CSBM(
        2, [0.3, 0.69, 0.72, 1.1], 1.0, 0.0, directed=False
    )  # lam^2 + mu^2/alpha = 1 at 0.707
    assert np.array_equal(gl.best_linear(data).test_accuracy > 0.5, [False, False, True, True])
    excess = np.array([1e-12, 1e-8])
    weak = gl.best_linear(gl.CSBM(1, np.sqrt(1 + excess), 0, 0, directed=False))
    assert np.allclose(margin2(weak), excess, rtol=1e-3)  # M = lam^2 - 1 without features


def test_no_features_is_a_square_root():
    lam, rho = np.linspace(-2, 2, 9), 0.07
    expected = 0.5 * (lam**2 - 1 + np.sqrt((lam**2 - 1) ** 2 + 4 * lam**2 * rho))
    assert np.allclose(
        margin2(gl.best_linear(gl.CSBM(1, lam, 0, rho, directed=False))), expected, rtol=1e-12
    )


def test_free_entropy_is_stationary():
    """The state evolution extremizes the free entropy of Gaussian codes."""
    data = gl.CSBM(2, 0.9, 1.4, 0.1, directed=False)
    evolution = StateEvolution.of(data, LinearNode(data.classes))
    M = evolution.fixed_points().best
    step = 1e-4

    def entropy(q):  # of the overlap, with the evidence that belongs to it
        m = evolution.evidence.at(q)
        psi = evolution.node.information(m)[0]
        return 0.5 * (0.1 * m + evolution.evidence.free_entropy(q)) + 0.9 * psi

    q = evolution.overlap(M)
    slope, away = (entropy(x + step) - entropy(x - step) for x in (q, q + 0.05))
    assert abs(slope[0]) < 1e-3 * abs(away[0])


def test_right_labels_and_labels_without_meaning():
    data = box(20, 3)
    right, nearly = gl.best_linear(data), gl.best_linear(data.replaced(noise=1e-12))
    assert np.allclose(nearly.test_accuracy, right.test_accuracy, atol=1e-9)
    unlabelled = gl.best_linear(data.replaced(rho=np.zeros(20))).test_accuracy
    assert np.allclose(
        gl.best_linear(data.replaced(noise=0.5 - 1e-12)).test_accuracy, unlabelled, atol=1e-9
    )


def test_calibrated_output_has_the_cross_entropy_of_gaussian_evidence():
    data = gl.CSBM(4, 1.0, 2.0, 0.1)
    best = gl.best_linear(data)
    z = np.random.default_rng(0).standard_normal(400_000)
    M = margin2(best)
    measured = np.logaddexp(0, -2 * (M + np.sqrt(M) * z))
    assert abs(best.test_loss - measured.mean()) < 4 * measured.std() / np.sqrt(z.size)
    three = gl.best_linear(gl.CSBM(4, 1.0, 2.0, 0.1, classes=(0.2, 0.3, 0.5)))
    near = gl.best_linear(gl.CSBM(4, 1.0, 2.0, 0.1, classes=(0.3333, 0.3333, 0.3334)))
    equal = gl.best_linear(gl.CSBM(4, 1.0, 2.0, 0.1, classes=3))
    assert near.test_loss == pytest.approx(equal.test_loss, abs=1e-4)
    assert three.test_accuracy == pytest.approx(three.best_accuracy)
    assert three.test_loss < equal.test_loss


def test_the_two_numbers_are_the_best_ones():
    """At Eq. 12.5 label propagation is the best linear network, and its neighbours are worse."""
    data = box(60, 4, directed=False)
    best = gl.best_linear(data)
    D0 = 1 + data.lam**2 + data.mu / data.alpha
    theta_a, theta_x = data.lam / D0, data.mu / (1 + data.mu) / D0
    at = gl.theory.label_propagation(data, theta_a, theta_x)
    M = margin2(best)
    assert np.allclose(at.order_parameters.test_margin**2, M, rtol=1e-9)
    assert np.allclose(at.order_parameters.output.mean, M / (1 + M), rtol=1e-9)
    for f, g in ((0.97, 1.0), (1.03, 1.0), (1.0, 0.97), (1.0, 1.03)):
        try:
            other = gl.theory.label_propagation(data, f * theta_a, g * theta_x)
        except gl.ParameterError:  # beyond the spectrum at some point
            continue
        assert np.all(other.log_test_error >= best.log_test_error - 1e-12)


def test_two_numbers_broadcast_and_are_refused_beyond_the_spectrum():
    data = gl.CSBM(3, [0.6, 1.2], 0.8, 0.15, directed=False)
    wide = gl.theory.label_propagation(data, np.array([[0.1], [0.2], [0.3]]), 0.1)
    alone = gl.theory.label_propagation(gl.CSBM(3, 1.2, 0.8, 0.15, directed=False), 0.2, 0.1)
    assert wide.test_accuracy.shape == (3, 2)
    assert wide.test_accuracy[1, 1] == pytest.approx(alone.test_accuracy, abs=1e-14)
    with pytest.raises(gl.ParameterError, match="singular"):
        gl.theory.label_propagation(data, 0.9, 0.5)


def test_another_graph_teaches_and_learns():
    data, to = gl.CSBM(4, 1.0, 2.0, 0.1), gl.CSBM(2, [0.5, 1.0], 1.0, 0.0)
    there = gl.best_linear(data, to=to)
    assert np.all(there.frozen.test_accuracy <= there.two_stages.test_accuracy)
    assert np.all(there.two_stages.test_accuracy <= there.test_accuracy)
    assert np.all(there.test_accuracy <= gl.bayes_optimal(data, to=to).test_accuracy)
    # frozen is the best filter on the new graph, of weights that linear message passing taught
    overlap = gl.best_linear(data).order_parameters.overlap
    c2 = 1.0 / 2 * 2 * overlap / (1 + 2 * overlap)
    M = c2
    for _ in range(500):
        M = c2 + 2 * np.array([0.25, 1.0]) * M / (1 + M)
    assert np.allclose(there.frozen.test_accuracy, ndtr(np.sqrt(M)), atol=1e-10)


def test_features_alone_are_the_same_at_any_degree():
    """Without a signal in the graph the tree adds nothing; and no linear network is above the Bayes-optimal one."""
    data = gl.CSBM(1.0, [0.0, 1.2], 2.0, 0.2, directed=False)
    few = {"degree": 4, "population": 400, "sweeps": 12}
    found, best = gl.best_linear(data, **few), gl.bayes_optimal(data, **few)
    assert found.test_accuracy[0] == pytest.approx(gl.best_linear(data).test_accuracy[0], abs=1e-6)
    assert np.all(found.test_accuracy < best.test_accuracy + 4 * best.standard_error.test_accuracy)


@pytest.mark.slow
def test_finite_degree():
    """Square errors of the tree, measured with the Bethe Hessian at 5000 nodes by an independent program, and large degree."""
    data = gl.CSBM(4, np.sqrt(2), 2, 0.1, directed=False)
    for degree, error in ((10, 0.362), (5, 0.331)):
        best = gl.best_linear(data, degree=degree)
        assert (1 - best.order_parameters.overlap) / 0.9 == pytest.approx(error, abs=1e-3)
        assert best.test_accuracy < gl.bayes_optimal(data, degree=degree).test_accuracy
    large = gl.best_linear(data, degree=2000)
    assert large.test_accuracy == pytest.approx(gl.best_linear(data).test_accuracy, abs=1e-3)


@pytest.mark.parametrize("directed", [True, False])
def test_edges_that_only_join_a_class_are_the_limit_of_those_that_mostly_do(directed):
    """A signal of sqrt(degree): the sums of evidence lost their digits, and the accuracy was NaN."""
    data = gl.CSBM(4, 1, 2, 0.1, directed=directed)
    sizes = {"population": 300, "sweeps": 12}
    one, nearly = (gl.best_linear(data, degree=d, **sizes) for d in (1, 1.0001))
    assert one.test_accuracy == pytest.approx(nearly.test_accuracy, abs=5e-3)
    best = gl.bayes_optimal(data, degree=1, **sizes).test_accuracy
    assert one.test_accuracy < best + 4 * one.standard_error.test_accuracy + 5e-3


@pytest.mark.slow
def test_finite_degree_with_everything():
    """Hubs, unequal classes, another graph: the linear estimate has a population in each case."""
    sizes = {"degree": 12, "population": 300, "sweeps": 12}
    data = gl.CSBM(4, [0.8, 1.0], 2, 0.1, directed=False, degrees=gl.Gamma(0.3))
    assert np.all(
        np.abs(gl.best_linear(data, **sizes).test_accuracy - gl.best_linear(data).test_accuracy)
        < 0.03
    )
    for classes in ((0.3, 0.7), 4):
        unequal = gl.CSBM(4, 1.0, 2, 0.1, directed=False, classes=classes)
        near = gl.best_linear(unequal, **sizes)
        assert near.test_accuracy == pytest.approx(gl.best_linear(unequal).test_accuracy, abs=0.03)
        assert near.test_loss == pytest.approx(gl.best_linear(unequal).test_loss, abs=0.06)
    one = gl.CSBM(4, 1.0, 2, 0.1)
    there = gl.best_linear(one, to=gl.CSBM(4, 1.0, 2, 0.0), **sizes)
    assert there.test_accuracy == pytest.approx(
        gl.best_linear(one, to=gl.CSBM(4, 1.0, 2, 0)).test_accuracy, abs=0.03
    )


def test_extremes_are_numbers():
    data = gl.CSBM(
        [1e-6, 1e6, 1.0, 1.0],
        [1e8, 0.0, 1e-8, 30.0],
        [1e8, 1e12, 0.0, 0.0],
        [1e-9, 0.5, 1e-12, 1.0],
    )
    best, bayes = gl.best_linear(data), gl.bayes_optimal(data)
    assert np.all(best.log_test_error >= bayes.log_test_error)
    assert np.all(np.isfinite(best.test_accuracy))


@pytest.mark.parametrize("graph", [0.0, 0.3])
def test_labels_are_propagated_up_to_where_the_system_is_singular(graph):
    """There the equation for the response loses its root: its least value rises to 0."""
    data = gl.CSBM(4.0, 0.2, 0.3, 0.3)

    def least(features):
        def excess(s):
            through = features / (1.0 - 0.7 * features * s)
            return 1.0 / s + 0.7 * graph**2 * s + through / 4.0 - 1.0

        pole = 1.0 / (0.7 * features)
        return minimize_scalar(excess, bounds=(1.0, pole * (1.0 - 1e-9)), method="bounded").fun

    edge = brentq(least, 0.01, 1.0)
    near = gl.theory.label_propagation(data, graph, edge * np.array([0.5, 0.99, 0.999999]))
    assert np.all(near.residual < 1e-15)
    assert np.all(np.diff(near.test_accuracy) < 0.0)
    with pytest.raises(gl.ParameterError, match="singular"):
        gl.theory.label_propagation(data, graph, 1.0001 * edge)


@pytest.mark.parametrize("lam, mu, rho", [(1.3, 0.0, 0.2), (0.0, 1.7, 1e-7)])
def test_the_outlier_of_the_system_lies_at_its_distance_from_zero(lam, mu, rho):
    """Eq. 12.6 against the outliers of a spiked Wigner matrix, and of a spiked covariance matrix with few labels."""
    alpha = 2.0
    limit = gl.best_linear(gl.CSBM(alpha, lam, mu, rho, directed=False)).order_parameters
    distance = lam**2 * rho if lam else (1 + mu / alpha) * mu * rho / (1 + mu)
    assert rho * limit.output.mean / limit.overlap == pytest.approx(distance, rel=1e-5)


def test_refusals_are_one_sentence():
    data = gl.CSBM(4, 1.0, 2.0, 0.1)
    with pytest.raises(gl.ParameterError, match="leave out degree"):
        gl.best_linear(data, degree=5, layers=3)
    with pytest.raises(gl.ParameterError, match="degree = 0 is not allowed"):
        gl.best_linear(data, degree=0)
    with pytest.raises(gl.ParameterError, match="noise"):
        data.replaced(noise=0.6)
    with pytest.raises(gl.ParameterError, match="leave out features"):
        gl.theory.label_propagation(gl.CSBM(4, 1, 2, 0.1, features=gl.Spectrum([1.0, 2.0])), 0.1)


def test_tables_of_the_posterior_lie_above():
    """T(m) is at least m/(1+m) for any number of equal classes and any two."""
    m = np.geomspace(1e-6, 1e3, 200)
    for classes in (2, 3, 5, 20, (0.05, 0.95)):
        kind = Classes.of(classes)
        assert np.all(posterior(kind).at(m).overlap >= LinearNode(kind).at(m).overlap * (1 - 1e-12))


def test_another_graph_of_some_degree_is_near_that_of_large_degree_and_takes_one_point():
    data, to = (
        gl.CSBM(4, 1.0, 2.0, 0.1, directed=False),
        gl.CSBM(4, -0.8, 2.0, 0.05, directed=False),
    )
    sizes = {"degree": 40, "population": 1000, "sweeps": 12}
    sparse = gl.best_linear(data, to=to, **sizes).test_accuracy
    assert abs(sparse - gl.best_linear(data, to=to).test_accuracy) < 0.01
    with pytest.raises(gl.ParameterError, match="takes one point; leave out degree"):
        gl.best_linear(data, to=to.having(lam=[0.5, 0.8]), **sizes)


def test_a_layer_whose_evidence_is_beyond_all_numbers_says_so():
    """It once had the status of an explicit answer, and no accuracy."""
    data = gl.CSBM(
        3e10, [1.0, -1.4e155], 1.3e250, 0.01, directed=False, degrees=gl.Degrees([0, 1, 2])
    )
    answer = gl.best_linear(data, layers=2)
    statuses = [[gl.Status.EXPLICIT] * 2, [gl.Status.OUT_OF_RANGE] * 2]
    np.testing.assert_array_equal(answer.status, statuses)
    np.testing.assert_array_equal(np.isfinite(answer.test_accuracy), [[True] * 2, [False] * 2])
