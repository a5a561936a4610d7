"""Any number of classes, unequal classes and correlated features, on sampled graphs."""

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.results.performance import Status
from gcnlimit.simulation.data.size import edge_probabilities
from validation.class_cases import FIELDS

PARAMETERS = {"alpha": 2.5, "lam": 1.1, "mu": 2.0, "rho": 0.25}
COLOUR = gl.Spectrum([0.3, 1.7], [1.4, 0.6])
KINDS = [3, 5, (0.3, 0.7), (0.5, 0.3, 0.2)]


def drawn(classes=2, features=None, nodes=600, degree=60, seed=0, **change):
    return gl.sample(
        gl.CSBM(**PARAMETERS | change, classes=classes, features=features), nodes, degree, seed
    )


@pytest.mark.parametrize("classes", [2, *KINDS])
def test_codes_are_standardized(classes):
    y, p = Classes.of(classes).codes, Classes.of(classes).fractions
    assert np.allclose(p @ y, 0.0)
    assert np.allclose(y.T * p @ y, np.eye(p.size - 1))
    assert np.allclose(y @ y.T, np.diag(1.0 / p) - 1.0)


@pytest.mark.parametrize("directed", [True, False])
def test_every_block_of_the_graph_has_its_density(directed):
    """And all classes have the same mean degree."""
    classes, nodes, degree, draws = (0.6, 0.3, 0.1), 400, 30, 40
    expected = edge_probabilities(0.8, nodes, degree, Classes.of(classes))
    assert np.allclose(expected @ classes, degree / nodes)
    statistic = 0.0
    for seed in range(draws):
        i = drawn(classes, nodes=nodes, degree=degree, lam=0.8, directed=directed, seed=seed)
        member = np.eye(3)[i.labels.astype(int)]
        edges = i.adjacency if directed else np.triu(i.adjacency.toarray())
        pairs = (
            member.T
            @ (np.ones((nodes, nodes)) if directed else np.triu(np.ones((nodes, nodes))))
            @ member
        )
        deviation = member.T @ (edges @ member) - pairs * expected
        statistic += np.sum(deviation**2 / (pairs * expected * (1 - expected)))
    assert 1e-4 < chi2.cdf(statistic, df=9 * draws) < 1 - 1e-4


@pytest.mark.parametrize(
    "classes, lam", [(2, 3.3), (2, -3.3), (5, -0.9), ((0.1, 0.9), -0.4), ((0.1, 0.9), 3.3)]
)
def test_a_signal_without_probabilities_is_refused_with_what_would_allow_it(classes, lam):
    with pytest.raises(
        gl.ParameterError, match=rf"lam = {lam:g} is not allowed .* take a larger degree"
    ) as error:
        drawn(classes, nodes=3000, degree=10, lam=lam)
    low, high = map(float, re.findall(r"at (?:least|most) (\S+)", str(error.value)))
    bound = low if lam < 0 else high
    assert drawn(classes, nodes=3000, degree=10, lam=0.999 * bound).adjacency.nnz
    with pytest.raises(gl.ParameterError, match="is not allowed"):
        drawn(classes, nodes=3000, degree=10, lam=1.001 * bound)


def test_features_have_the_covariance_and_the_signal_asked_for():
    i = drawn(3, COLOUR, nodes=6000, degree=20)
    Y, X = Classes.of(3).codes_of(i.labels), np.asarray(i.features)
    half = X.shape[1] // 2
    direction = Y.T @ X / 6000 * math.sqrt(6000 / 2.0)
    for part, variance, share in ((slice(half), 0.3, 1.4), (slice(half, None), 1.7, 0.6)):
        noise = X[:, part] - Y @ (math.sqrt(2.0 / 6000) * i.latents.centroid[part].T)
        assert np.var(noise) == pytest.approx(variance, rel=0.01)
        assert np.mean(i.latents.centroid[part] ** 2) == pytest.approx(
            share, rel=4 * math.sqrt(2 / (2 * half))
        )
        assert np.mean(direction[:, part] ** 2) == pytest.approx(share + variance / 2.0, rel=0.15)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("classes", [2, *KINDS])
def test_an_instance_comes_back_from_a_file(classes, streamed, tmp_path):
    i = gl.sample(
        gl.CSBM(**PARAMETERS, classes=classes, features=COLOUR), 200, 30, streamed=streamed
    )
    i.save(tmp_path / "i.npz")
    j = gl.Instance.load(tmp_path / "i.npz")
    assert j.data == i.data
    gcn = gl.GCN(gl.Diffusion(1.0), reg=1.0)
    assert np.array_equal(gl.fit(j, gcn).outputs, gl.fit(i, gcn).outputs)
    assert np.array_equal(gl.amp(j).probabilities, gl.amp(i).probabilities)


def test_other_libraries_get_the_classes():
    pytest.importorskip("networkx")
    i = drawn(5)
    graph = gl.real.to_networkx(i.to_dataset())
    assert [d["label"] for _, d in graph.nodes(data=True)] == i.labels.astype(int).tolist()


def test_your_own_graph_may_have_any_classes():
    i = drawn(3)
    own = gl.Instance.of(i.adjacency, i.features, i.labels, i.train_mask, data=i.data, degree=60)
    gcn = gl.GCN(gl.Diffusion(1.0), "softmax", reg=1.0)
    alike = dataclasses.replace(
        i.observation, adjacency=own.adjacency
    )  # a graph of one's own loses its self-loops
    assert np.array_equal(
        gl.fit(own, gcn).outputs, gl.fit(gl.Instance(alike, i.latents), gcn).outputs
    )
    with pytest.raises(gl.ParameterError, match="whole number from 0 to 2"):
        gl.Instance.of(i.adjacency, i.features, i.labels - 1.0, i.train_mask, data=i.data)


def rows(i, t=1.0):
    """What the network multiplies its weights with, on every node."""
    a = i.observation.operator(True)
    values, vectors = np.linalg.eigh(a @ np.eye(len(i.labels)))
    return vectors * np.exp(t * values) @ (vectors.T @ i.features) / math.sqrt(len(i.labels))


@pytest.mark.parametrize("classes", [4, (0.5, 0.3, 0.2)])
def test_one_hot_targets_are_the_codes_in_other_words(classes):
    """Ridge regression on one-hot targets, with a bias where classes are unequal: o = p + sqrt(p) B (h + b), exactly."""
    i, p = drawn(classes), Classes.of(classes).fractions
    f = gl.fit(i, gl.GCN(gl.Diffusion(1.0), reg=2.0))
    F, onehot, mask = rows(i), np.eye(p.size)[Classes.of(classes).index_of(i.labels)], i.train_mask
    row, target = (F[mask].mean(axis=0), onehot[mask].mean(axis=0)) if classes != 4 else (0.0, p)
    Z = F[mask] - row
    W = np.linalg.solve(Z.T @ Z + 2.0 * np.eye(F.shape[1]), Z.T @ (onehot[mask] - target))
    outputs = (F - row) @ W + target
    assert np.allclose(
        outputs, p + (f.outputs + f.bias) @ (Classes.of(classes).codes * p[:, None]).T, atol=1e-8
    )


@pytest.mark.parametrize("classes", [3, (0.5, 0.3, 0.2)])
@pytest.mark.parametrize("rho", [0.1, 0.7])
def test_the_gradient_of_the_cross_entropy_vanishes(classes, rho):
    i, E = drawn(classes, rho=rho), Classes.of(classes).one_hot_basis
    f = gl.fit(i, gl.GCN(gl.Diffusion(1.0), "softmax", reg=[0.1, 3.0]))
    F, mask = rows(i)[i.train_mask], i.train_mask
    onehot = np.eye(3)[i.labels[mask].astype(int)]
    for reg, W, b in zip((0.1, 3.0), f.weights, f.bias, strict=True):
        missed = (onehot - softmax((F @ W + b) @ E.T, axis=1)) @ E
        first = np.linalg.norm(F.T @ (onehot - 1 / 3) @ E)
        assert np.linalg.norm(F.T @ missed - reg * W) < 1e-8 * first
        assert classes == 3 or np.abs(missed.sum(axis=0)).max() < 1e-8 * len(F)


@pytest.mark.parametrize("classes", [2, (0.3, 0.7)])
def test_softmax_of_two_classes_is_the_logistic_loss_at_half_the_reg(classes):
    i = drawn(classes)
    one = gl.fit(i, gl.GCN(gl.Diffusion(1.0), "softmax", reg=2.0))
    other = gl.fit(i, gl.GCN(gl.Diffusion(1.0), "logistic", reg=1.0))
    assert np.allclose(
        math.sqrt(2) * (one.outputs + one.bias), other.outputs + other.bias, atol=1e-5
    )
    assert one.performance.test_loss == pytest.approx(other.performance.test_loss, abs=1e-6)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge", "softmax"])
def test_the_bias_balances_the_pulls_and_tends_to_the_larger_class(loss):
    i = drawn((0.3, 0.7))
    f = gl.fit(i, gl.GCN(gl.Diffusion(1.0), loss, reg=[1.0, 1e9, math.inf]))
    assert np.all(f.bias < 0.0)
    assert f.bias[2] == -math.inf
    majority = np.mean(i.labels[~i.train_mask] == 1)
    assert f.performance.test_accuracy[1] == pytest.approx(majority)
    assert f.performance.test_accuracy[2] == f.performance.best_accuracy[2]
    assert f.performance.test_loss[1] == pytest.approx(f.performance.test_loss[2], rel=2e-3)
    for name in ("best_accuracy", "balanced_accuracy", "roc_auc"):
        values = getattr(f.performance, name)
        assert values[1] == pytest.approx(values[2], abs=1e-3)


def test_a_loss_of_two_classes_says_so():
    with pytest.raises(
        gl.ParameterError, match=r"take loss='softmax' or 'square', or reg=math.inf"
    ):
        gl.fit(drawn(3), gl.GCN(gl.Diffusion(1.0), "logistic", reg=1.0))


def test_a_dense_graph_cannot_have_a_small_class_of_strong_signal():
    with pytest.raises(gl.ParameterError, match=r"at most .* take more nodes or a weaker signal"):
        drawn((0.02, 0.98), nodes=100, degree=60, lam=0.5)


def test_a_class_without_labels_has_no_free_bias():
    i = drawn((0.02, 0.98), nodes=100, degree=2, rho=0.05, lam=0.1)
    assert np.all(i.labels[i.train_mask] == 1)
    with pytest.raises(gl.ParameterError, match="a class has no labelled node"):
        gl.fit(i, gl.GCN(gl.Diffusion(1.0), "logistic", reg=1.0))
    assert np.isfinite(gl.fit(i, gl.GCN(gl.Diffusion(1.0), reg=1.0)).outputs).all()


def test_a_point_without_an_answer_does_not_lose_the_others():
    data = gl.CSBM(alpha=4, lam=np.array([0.5, 9.0])[:, None], mu=2.0, rho=0.2)
    gcn = gl.GCN(gl.PageRank(theta=[0.2, 0.9]))
    with pytest.raises(gl.ParameterError, match="lam = 9"):
        gl.simulate(data, gcn, nodes=300, degree=20, trials=2, workers=1)
    kept = gl.simulate(data, gcn, nodes=300, degree=20, trials=2, workers=1, throw=False)
    assert kept.status.tolist() == [
        [Status.CONVERGED, Status.REFUSED],
        [Status.REFUSED, Status.REFUSED],
    ]
    assert np.array_equal(np.isfinite(kept.test_accuracy), kept.status == Status.CONVERGED)
    alone = gl.simulate(
        gl.CSBM(4, 0.5, 2.0, 0.2), gl.GCN(gl.PageRank(theta=0.2)), 300, 20, 2, workers=1
    )
    assert kept.test_accuracy[0, 0] == alone.test_accuracy


THEORY = {
    "three-softmax": ({"classes": 3}, "softmax", "symmetric"),
    "three-coloured-directed": ({"classes": 3, "features": COLOUR}, "square", "directed"),
    "unequal-logistic-directed": ({"classes": (0.3, 0.7)}, "logistic", "directed"),
    "unequal-hinge": ({"classes": (0.3, 0.7)}, "hinge", "symmetrized"),
    "unequal-coloured": ({"classes": (0.3, 0.7), "features": COLOUR}, "square", "symmetrized"),
    "three-unequal": ({"classes": (0.5, 0.3, 0.2)}, "square", "symmetric"),
    "two-coloured-logistic": ({"features": COLOUR}, "logistic", "symmetric"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", THEORY)
def test_every_field_is_as_predicted(case):
    """At finite and infinite regularization; where trials hardly differ, the spread of independent nodes is the error."""
    kind, loss, graph = THEORY[case]
    data = gl.CSBM(**PARAMETERS, directed=graph != "symmetric", **kind)
    gcn = gl.GCN(gl.Diffusion(0.8), loss, reg=[1.0, math.inf], symmetrize=graph != "directed")
    measured = gl.simulate(data, gcn, nodes=300, degree=None, trials=12, seed=3, workers=1)
    expected, nodes = gl.predict(data, gcn), {"test": 225 * 12, "train": 75 * 12}
    for name in FIELDS:
        exact = getattr(expected, name)
        if exact is None:
            continue
        rare = (
            np.sqrt(np.abs(exact * (1 - exact)) / nodes["train" if "train" in name else "test"])
            if "loss" not in name
            else 0.0
        )
        error = np.maximum(getattr(measured.standard_error, name), np.maximum(rare, 1e-9))
        assert np.all(np.abs(getattr(measured, name) - exact) < 4 * error), name


CEILINGS = [
    gl.CSBM(4.0, 1.0, 1.5, 0.1, directed=False, classes=5),
    gl.CSBM(4.0, 0.7, 1.5, 0.1, classes=[0.2, 0.8], features=COLOUR),
]


@pytest.mark.slow
@pytest.mark.parametrize("data", CEILINGS, ids=["five", "unequal-coloured-directed"])
def test_message_passing_reaches_the_ceiling_of_any_classes(data):
    runs = [gl.amp(gl.sample(data, nodes=700, degree=None, seed=k)) for k in range(8)]
    assert all(run.status is Status.CONVERGED for run in runs)
    best = gl.bayes_optimal(data)
    for name in ("test_accuracy", "test_loss", "balanced_accuracy"):
        values = np.array([getattr(run.performance, name) for run in runs])
        assert abs(values.mean() - getattr(best, name)) < 4 * values.std(ddof=1) / math.sqrt(8)
    free = np.array([run.free_entropy for run in runs])
    assert abs(free.mean() - best.free_entropy) < 4 * free.std(ddof=1) / math.sqrt(8)


@pytest.mark.parametrize("classes", [(0.3, 0.7), (0.5, 0.3, 0.2)])
def test_a_network_of_the_wrong_sign_is_as_wrong_as_predicted(classes):
    """A filter that takes like for unlike has a negative margin; it is decided as if it were positive."""
    data = gl.CSBM(3.0, 2.0, 0.3, 0.5, directed=False, classes=classes)
    gcn = gl.GCN(gl.Residual([1.0]), test_filter=gl.Polynomial([0.0, -1.0]))
    predicted = gl.predict(data, gcn)
    assert predicted.order_parameters.test_margin < -0.5
    assert predicted.test_accuracy < max(classes) < predicted.best_accuracy
    measured = gl.simulate(data, gcn, nodes=4000, degree=60, trials=3, seed=0)
    for name in ("test_accuracy", "best_accuracy"):
        assert getattr(measured, name) == pytest.approx(getattr(predicted, name), abs=0.02)


def test_posterior_probabilities_are_calibrated():
    """On the Nishimori line the overlap of the posterior means with the codes is their own size."""
    i = drawn((0.5, 0.3, 0.2), COLOUR, nodes=2000, degree=200, seed=1)
    found, hidden = gl.amp(i), ~i.train_mask
    assert np.allclose(found.probabilities.sum(axis=1), 1.0)
    size = np.mean(np.sum(found.labels[hidden] ** 2, axis=1))
    overlap = np.sum(found.labels[hidden] * i.data.classes.codes_of(i.labels)[hidden], axis=1)
    assert abs(np.mean(overlap) - size) < 4 * np.std(overlap) / math.sqrt(hidden.sum()) + 0.05


@pytest.mark.slow
def test_a_start_from_the_labels_alone_fails_in_the_hard_phase():
    """Twenty classes without labels: from the truth the Bayes-optimal state, from noise the state that algorithms reach."""
    data = gl.CSBM(alpha=4, lam=0.82, mu=0.0, rho=0.0, directed=False, classes=20)
    ceiling = gl.bayes_optimal(data)
    assert ceiling.hard
    i = gl.sample(data, nodes=2500, degree=None, seed=0)  # fewer leave the phase by a fluctuation
    truth, noise = (gl.amp(i, start=start, max_iterations=30) for start in ("truth", "labels"))
    assert truth.performance.test_accuracy > 0.9 * ceiling.test_accuracy
    assert noise.performance.test_accuracy < ceiling.algorithmic.test_accuracy + 0.1
    assert truth.free_entropy > noise.free_entropy + 0.1


def test_an_informed_start_needs_all_labels():
    i = drawn(3)
    with pytest.raises(gl.ParameterError, match="needs an Instance whose labels are all known"):
        gl.amp(i.observation, start="truth")
    with pytest.raises(gl.ParameterError, match="start = 'middle' is not allowed"):
        gl.amp(i, start="middle")


def test_without_labels_classes_are_recovered_up_to_their_names():
    data = gl.CSBM(alpha=4, lam=2.0, mu=1.0, rho=0.0, directed=False, classes=3)
    found = gl.amp(gl.sample(data, nodes=800, degree=150, seed=0)).performance
    assert abs(found.test_accuracy - gl.bayes_optimal(data).test_accuracy) < 0.04


def test_belief_propagation_agrees_with_message_passing_at_a_large_degree():
    i = drawn((0.5, 0.3, 0.2), nodes=800, degree=150, seed=2)
    edges, dense = gl.belief_propagation(i), gl.amp(i)
    assert edges.performance.test_accuracy == pytest.approx(
        dense.performance.test_accuracy, abs=0.02
    )
    assert np.sqrt(np.mean((edges.probabilities - dense.probabilities) ** 2)) < 0.05


@pytest.mark.parametrize("classes", [(0.2, 0.8), (0.5, 0.3, 0.2)], ids=repr)
def test_a_network_decides_by_its_own_logits_and_bias(classes):
    i = gl.sample(gl.CSBM(4, 1.0, 2.0, 0.3, classes=classes), nodes=400, degree=30, seed=0)
    f = gl.fit(i, gl.GCN(gl.Residual([1.0]), "softmax", reg=1.0))
    scores = (f.outputs + f.bias).reshape(400, -1) @ i.data.classes.one_hot_basis.T
    right = scores.argmax(axis=1) == i.labels
    assert f.performance.test_accuracy == pytest.approx(right[~i.train_mask].mean())
    assert f.performance.train_accuracy == pytest.approx(right[i.train_mask].mean())
