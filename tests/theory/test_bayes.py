"""The Bayes-optimal ceiling: reference values, the transition, limits, and networks below it."""

import numpy as np
import pytest
from reference import CLASSES, REFERENCE
from scipy.stats import norm

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import Evidence, StateEvolution


@pytest.mark.parametrize("row", REFERENCE["bayes_optimal"], ids=lambda row: str(row["data"]))
def test_reference(row):
    assert (
        abs(gl.bayes_optimal(gl.CSBM(**row["data"])).test_accuracy - row["test_accuracy"]) < 1e-13
    )


def state_evolution(alpha, lam_s, mu, rho, steps):
    """Plain iteration of the paper's equations, averages by the trapezoidal rule, from the informed start."""
    w = np.linspace(-12, 12, 4001)
    weight, m_y = norm.pdf(w) * (w[1] - w[0]), 1.0
    for _ in range(steps):
        m_u = mu * m_y / (1 + mu * m_y)
        m = mu / alpha * m_u + lam_s**2 * m_y
        m_y = rho + (1 - rho) * (weight @ np.tanh(m + np.sqrt(m) * w))
    return norm.cdf(np.sqrt(m))


@pytest.mark.parametrize(
    "data",
    [
        gl.CSBM(alpha=3.0, lam=0.9, mu=1.0, rho=0.2),
        gl.CSBM(alpha=1.0, lam=1.8, mu=0.5, rho=0.0, directed=False),
    ],
)
def test_against_plain_iteration(data):
    signal = data.effective_signal(symmetrize=True)
    expected = state_evolution(data.alpha, signal, data.mu, data.rho, steps=100)
    assert gl.bayes_optimal(data).test_accuracy == pytest.approx(expected, abs=1e-12)


def test_just_above_the_transition_without_labels():
    """Near snr = 1 on a symmetric graph without features, m = (lam^2 - 1) + O((lam^2 - 1)^2)."""
    excess = np.array([1e-12, 1e-9, 1e-6])
    m = gl.bayes_optimal(
        gl.CSBM(alpha=1, lam=np.sqrt(1 + excess), mu=0, rho=0, directed=False)
    ).order_parameters.output.mean
    assert np.allclose(m, excess, rtol=5e-4)


def test_no_recovery_below_the_transition():
    data = gl.CSBM(alpha=1, lam=[0.0, 0.5, 1.0], mu=0, rho=0, directed=False)
    assert np.all(gl.bayes_optimal(data).test_accuracy == 0.5)
    assert np.allclose(gl.bayes_optimal(data).test_loss, np.log(2))


def test_few_labels_select_the_informed_branch():
    few, none = (
        gl.bayes_optimal(gl.CSBM(alpha=2, lam=1.2, mu=1, rho=rho)).test_accuracy
        for rho in (1e-14, 0.0)
    )
    assert few == pytest.approx(none, abs=1e-12)


def test_at_the_transition_a_few_labels_give_a_square_root():
    rho = np.array([1e-12, 1e-10])
    m = gl.bayes_optimal(
        gl.CSBM(alpha=1, lam=1.0, mu=0, rho=rho, directed=False)
    ).order_parameters.output.mean
    assert np.allclose(m, np.sqrt(rho), rtol=1e-4)


def test_all_labels_known_but_one():
    """With every other label known the posterior is that of one node: m = lam_s^2 + mu^2 / (alpha (1 + mu))."""
    data = gl.CSBM(alpha=2.0, lam=0.8, mu=1.5, rho=1.0)
    assert gl.bayes_optimal(data).order_parameters.output.mean == pytest.approx(
        2 * 0.64 + 1.5**2 / (2 * 2.5), rel=1e-14
    )


def test_learning_rate_one_down_to_tiny_errors():
    lam = np.array([25.0, 26.0, 30.0])
    prediction = gl.bayes_optimal(gl.CSBM(alpha=4, lam=lam, mu=1, rho=0.1))
    assert np.all(prediction.log_test_error < -600)
    assert np.allclose(-prediction.log_test_error / lam**2, 1.0, rtol=0.02)


def test_the_graph_sign_does_not_matter_and_the_ceiling_rises():
    lam = np.linspace(-2, 2, 41)
    accuracy = gl.bayes_optimal(gl.CSBM(alpha=4, lam=lam, mu=1, rho=0.1)).test_accuracy
    assert np.allclose(accuracy, accuracy[::-1], rtol=1e-14)
    assert np.all(np.diff(accuracy[20:]) > 0)


def test_no_network_passes_the_ceiling():
    rng = np.random.default_rng(3)
    n = 500
    for directed in (True, False):
        data = gl.CSBM(
            alpha=rng.uniform(0.2, 6, n), lam=rng.uniform(-3, 3, n), mu=rng.uniform(0, 4, n), rho=rng.uniform(0.01, 0.9, n),
            directed=directed,
        )  # fmt: skip
        ceiling = gl.bayes_optimal(data).log_test_error
        for filter in (
            gl.Diffusion(rng.uniform(-3, 3, n)),
            gl.Residual(rng.uniform(-2, 3, (n, 3))),
        ):
            for symmetrize in (False, True):
                assert np.all(
                    gl.predict(data, gl.GCN(filter, symmetrize=symmetrize)).log_test_error
                    >= ceiling
                )


def test_an_extreme_signal_of_the_features_keeps_its_digits():
    """With huge mu every feature says its centroid: m = lam_s^2 + mu/alpha at full overlap, to the last digits."""
    alpha = 1e17
    m = gl.bayes_optimal(gl.CSBM(alpha, 0.0, [1e16, 1e18], rho=0.1)).order_parameters.output.mean
    assert np.allclose(m, [0.1, 10.0], rtol=1e-12)


def ceiling(row, classes, features=None):
    data = gl.CSBM(
        row["alpha"],
        row["lam_s"],
        row["mu"],
        row["rho"],
        directed=False,
        classes=classes,
        features=features,
    )
    return gl.bayes_optimal(data)


@pytest.mark.parametrize(
    "row", CLASSES["A_iv_bayes"], ids=lambda row: f"{row['C']}-{row['lam_s']}-{row['rho']}"
)
def test_reference_of_many_classes(row):
    found, (expected,) = ceiling(row, row["C"]), row["fixed_points"]
    assert not found.hard
    assert found.test_accuracy == pytest.approx(expected["accuracy"], abs=1e-11)
    assert found.order_parameters.overlap == pytest.approx(expected["q"], abs=1e-11)
    assert found.test_loss == pytest.approx(expected["cross_entropy"], abs=1e-11)
    assert found.free_entropy == pytest.approx(expected["free_entropy"], abs=1e-11)


@pytest.mark.parametrize("row", CLASSES["B_bayes"], ids=lambda row: str(row["p"]))
def test_reference_of_two_unequal_classes(row):
    """The last fixed point is the largest; one between it and no evidence at all is unstable."""
    found, expected = ceiling(row, (row["p"], 1 - row["p"])), row["fixed_points"][-1]
    assert found.hard == (len(row["fixed_points"]) > 1)
    assert found.test_accuracy == pytest.approx(expected["accuracy"], abs=1e-11)
    assert found.free_entropy == pytest.approx(expected["free_entropy"], abs=1e-11)


@pytest.mark.parametrize("row", CLASSES["C_bayes"])
def test_reference_of_correlated_features(row):
    found = ceiling(row, 2, gl.Spectrum(row["sigma2"], row["Gamma"], row["weights"]))
    assert found.test_accuracy == pytest.approx(row["fixed_points"][0]["accuracy"], abs=1e-11)


@pytest.mark.parametrize("classes", [5, 6, 7, 8, 9, 10, 20, 50])
def test_reference_of_the_hard_phase(classes):
    row, found = CLASSES["hard_phase_graph_only"][str(classes)], gl.limits.hard_phase(classes)
    assert found.lam_spinodal == pytest.approx(row["lam_sp"], abs=1e-9)
    assert found.lam_transition == pytest.approx(row["lam_IT"], abs=1e-9)
    if str(classes) in CLASSES["rho_c_graph_only"]:
        assert found.rho_c == pytest.approx(
            CLASSES["rho_c_graph_only"][str(classes)]["rho_c"], abs=1e-9
        )


@pytest.mark.parametrize("classes", [5, 10, (0.05, 0.95)])
def test_the_ceiling_jumps_at_the_transition_and_algorithms_follow_at_one(classes):
    phase = gl.limits.hard_phase(classes)
    lam = np.array([phase.lam_transition - 1e-7, phase.lam_transition + 1e-7, 1 - 1e-7, 1 + 1e-7])
    found = gl.bayes_optimal(gl.CSBM(1.0, lam, 0.0, 0.0, directed=False, classes=classes))
    chance = np.max(gl.CSBM(1.0, 0.0, 0.0, 0.0, classes=classes).fractions)
    assert np.array_equal(found.hard, [False, True, True, False])
    assert found.test_accuracy[0] == pytest.approx(chance, abs=1e-12)
    assert np.allclose(found.algorithmic.test_accuracy[1:3], chance, atol=1e-12)
    assert found.algorithmic.test_accuracy[3] == found.test_accuracy[3] > chance + 0.01


@pytest.mark.parametrize(
    "fractions, continuous", [((0.2114, 0.7886), True), ((0.2112, 0.7888), False)]
)
def test_two_classes_become_hard_below_the_published_size(fractions, continuous):
    assert (gl.limits.hard_phase(fractions).rho_c == 0.0) is continuous


@pytest.mark.parametrize("classes", [6, 10])
def test_labels_end_the_hard_phase(classes):
    phase = gl.limits.hard_phase(classes)
    lam = np.linspace(0.8, 1.0, 2001)
    for rho, exists in ((0.7 * phase.rho_c, True), (1.001 * phase.rho_c, False)):
        found = gl.bayes_optimal(gl.CSBM(1.0, lam, 0.0, rho, directed=False, classes=classes))
        assert bool(np.any(found.hard)) is exists


@pytest.mark.slow
def test_fixed_points_are_those_of_a_plain_iteration():
    """Message passing from the labels, and from the classes themselves, with features and without."""
    rng = np.random.default_rng(5)
    n = 300
    lam, alpha, rho = rng.uniform(0.5, 0.97, n), rng.uniform(2, 8, n), 10 ** rng.uniform(-4, -1, n)
    mu = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0, 0.5, n))
    tables = posterior(Classes.of(10))
    q = [rho, np.ones(n)]
    for _ in range(3000):
        m = [lam**2 * x + mu**2 / alpha * x / (1 + mu * x) for x in q]
        q = [rho + (1 - rho) * tables.at(x).overlap for x in m]
    found = gl.bayes_optimal(gl.CSBM(alpha, lam, mu, rho, directed=False, classes=10))
    best, reached = found.order_parameters.overlap, found.algorithmic.order_parameters.overlap
    assert 10 < np.sum(found.hard) < n
    assert np.allclose(reached, q[0], atol=1e-8)
    assert np.all((np.abs(best - q[1]) < 1e-8) | (np.abs(best - q[0]) < 1e-8))


def test_the_free_entropy_is_stationary_at_a_fixed_point():
    law = gl.Spectrum([0.5, 2.0], [1.2, 0.8])
    evidence = Evidence(law, *(np.array([x]) for x in (2.0, 0.7, 1.3, 0.0, 0.0)))
    evolution = StateEvolution(evidence, np.array([0.05]), posterior(Classes.of(6)))
    m = evolution.fixed_points().best
    q = evolution.overlap(m)
    levels = [
        (1.3 * signal / variance, 0.5)
        for variance, signal in zip(law.variance, law.signal, strict=True)
    ]
    step = 1e-4

    def free_entropy(q):
        at = evidence.at(q)
        half = 0.5 * evolution.node.directions
        parts = sum(w * (a * q - np.log1p(a * q) - (a * q) ** 2 / (1 + a * q)) for a, w in levels)
        direct = (
            half * (0.05 * at - 0.35 * q**2 + parts / 2.0)
            + 0.95 * evolution.node.information(at)[0]
        )
        return direct[0]

    assert free_entropy(q) == pytest.approx(evolution.state(m).free_entropy[0], rel=1e-12)
    assert abs(free_entropy(q + step) - free_entropy(q - step)) / (2 * step) < 1e-7
