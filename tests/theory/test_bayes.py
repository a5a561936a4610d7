"""The Bayes-optimal ceiling: reference values, the transition, limits, and networks below it."""

import mpmath as mp
import numpy as np
import pytest
from reference import REFERENCE

import gcnlimit as gl


@pytest.mark.parametrize("row", REFERENCE["bayes_optimal"], ids=lambda row: str(row["data"]))
def test_reference(row):
    assert abs(gl.bayes_optimal(gl.CSBM(**row["data"])).test_accuracy - row["test_accuracy"]) < 1e-13


def state_evolution(alpha, lam_s, mu, rho, steps):
    """Plain iteration of the paper's equations at 18 digits, from the informed start."""
    mp.mp.dps = 18
    m_y = mp.mpf(1)
    for _ in range(steps):
        m_u = mu * m_y / (1 + mu * m_y)
        m = mu / alpha * m_u + lam_s**2 * m_y
        average = mp.quad(lambda w, m=m: mp.tanh(m + mp.sqrt(m) * w) * mp.npdf(w), [-12, -6, -3, 0, 3, 6, 12])
        m_y = rho + (1 - rho) * average
    return mp.ncdf(mp.sqrt(m))


@pytest.mark.parametrize(
    ("data", "steps"),
    [
        (gl.CSBM(alpha=3.0, lam=0.9, mu=1.0, rho=0.2), 30),
        (gl.CSBM(alpha=1.0, lam=1.8, mu=0.5, rho=0.0, directed=False), 30),
    ],
)
def test_against_plain_iteration(data, steps):
    signal = data.effective_signal(symmetrize=True)
    expected = state_evolution(data.alpha, signal, data.mu, data.rho, steps)
    assert gl.bayes_optimal(data).test_accuracy == pytest.approx(float(expected), abs=1e-12)


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
    few, none = (gl.bayes_optimal(gl.CSBM(alpha=2, lam=1.2, mu=1, rho=rho)).test_accuracy for rho in (1e-14, 0.0))
    assert few == pytest.approx(none, abs=1e-12)


def test_at_the_transition_a_few_labels_give_a_square_root():
    rho = np.array([1e-12, 1e-10])
    m = gl.bayes_optimal(gl.CSBM(alpha=1, lam=1.0, mu=0, rho=rho, directed=False)).order_parameters.output.mean
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
        for filter in (gl.Diffusion(rng.uniform(-3, 3, n)), gl.Residual(rng.uniform(-2, 3, (n, 3)))):
            for symmetrize in (False, True):
                assert np.all(gl.predict(data, gl.GCN(filter, symmetrize=symmetrize)).log_test_error >= ceiling)


def test_labelled_nodes_are_known():
    prediction = gl.bayes_optimal(gl.CSBM(alpha=4, lam=1, mu=1, rho=0.1))
    assert prediction.train_accuracy == 1.0
    assert prediction.train_loss == 0.0
