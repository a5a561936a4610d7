"""The ceiling of three or more unequal classes, whose order parameter is a matrix."""

import numpy as np
import pytest
from problems import PARAMETERS

import gcnlimit as gl
from gcnlimit.classes import Classes, simplex_codes
from gcnlimit.theory import decision
from gcnlimit.theory.ceiling.posterior import posterior
from gcnlimit.theory.ceiling.state_evolution import Evidence
from gcnlimit.theory.ceiling.unequal import MatrixEvolution
from gcnlimit.theory.ceiling.unequal_posterior import (
    MatrixPosterior,
    coarse_rule,
    gaussian_rules,
    posterior_log_error,
)
from validation.unequal_hard_phase import hard_phase_ends

THREE = (0.5, 0.3, 0.2)
LAW = gl.Spectrum([0.2, 1.8], [1.5, 0.5])


def evolution(data):
    posterior = MatrixPosterior(data.fractions, gaussian_rules(data.fractions.size - 1)[0])
    return MatrixEvolution(Evidence.of(data), float(data.rho), posterior)


@pytest.mark.parametrize("law", [None, LAW])
@pytest.mark.parametrize("lam", [0.3, 1.0])
def test_classes_that_are_nearly_equal_have_the_ceiling_of_equal_ones(lam, law):
    signals = PARAMETERS | {"lam": lam}
    equal = gl.bayes_optimal(gl.CSBM(**signals, classes=3, features=law))
    nearly = gl.bayes_optimal(
        gl.CSBM(**signals, classes=[1 / 3 + 1e-9, 1 / 3, 1 / 3 - 1e-9], features=law)
    )
    for name in (
        "test_accuracy",
        "log_test_error",
        "test_loss",
        "balanced_accuracy",
        "free_entropy",
    ):
        assert getattr(nearly, name) == pytest.approx(getattr(equal, name), abs=2e-8)
    assert nearly.order_parameters.overlap == pytest.approx(
        equal.order_parameters.overlap, abs=1e-8
    )


@pytest.mark.slow
def test_four_classes_that_are_nearly_equal_have_the_ceiling_of_equal_ones():
    equal, nearly = (
        gl.bayes_optimal(gl.CSBM(**PARAMETERS, classes=classes))
        for classes in (4, [0.25 + 1e-9, 0.25 - 1e-9, 0.25, 0.25])
    )
    assert nearly.test_accuracy == pytest.approx(equal.test_accuracy, abs=1e-8)
    assert nearly.standard_error.test_accuracy == 0.0  # a single rule, whose digits are all right


@pytest.mark.slow
def test_five_classes_lie_within_their_standard_error():
    equal, nearly = (
        gl.bayes_optimal(gl.CSBM(**PARAMETERS, classes=classes))
        for classes in (5, [0.2 + 1e-9, 0.2 - 1e-9, 0.2, 0.2, 0.2])
    )
    error = nearly.standard_error.test_accuracy
    assert 0.0 < error < 1e-5
    assert abs(nearly.test_accuracy - equal.test_accuracy) < 4.0 * error


@pytest.mark.parametrize("p", [0.5, 0.2, 0.03])
def test_a_matrix_of_one_entry_is_the_number_of_two_classes(p):
    one = MatrixPosterior(np.array([p, 1.0 - p]), *gaussian_rules(1))
    tables = posterior(Classes.of([p, 1.0 - p]))
    for m in (0.01, 0.3, 2.0, 9.0):
        assert one.overlap(np.array([[m]]))[0, 0] == pytest.approx(
            float(tables.at(np.array(m)).overlap), abs=1e-12
        )
        information = [float(x) for x in tables.information(np.array(m))]
        assert one.information(np.array([[m]])) == pytest.approx(information, abs=1e-12)


@pytest.mark.parametrize("p", [0.05, 0.15])
def test_both_fixed_points_of_one_entry_are_those_of_two_classes(p):
    """On both sides of the ends of the hard phase, where fixed points merge, and of its transition."""
    phase = gl.limits.hard_phase([p, 1.0 - p])
    ends = [phase.lam_spinodal * x for x in (0.999, 1.001)] + [
        phase.lam_transition * x for x in (0.999, 1.001)
    ]
    for lam in (*ends, 0.999, 1.01):
        data = gl.CSBM(alpha=1.0, lam=lam, mu=0.0, rho=0.0, directed=False, classes=[p, 1.0 - p])
        ceiling, at = gl.bayes_optimal(data), evolution(data)
        above, below = at.fixed_points()
        assert below.overlap[0, 0] == pytest.approx(
            ceiling.algorithmic.order_parameters.overlap, abs=1e-8
        )
        best = max((above, below), key=lambda found: at.free_entropy(found.overlap))
        assert best.overlap[0, 0] == pytest.approx(ceiling.order_parameters.overlap, abs=1e-8)
        assert (above is below) == (lam < phase.lam_spinodal or lam > 1.0)


@pytest.mark.parametrize("fractions", [THREE, (0.9, 0.06, 0.04), (0.1, 0.2, 0.3, 0.4)])
@pytest.mark.parametrize("margin", [0.1, 1.0, 4.0, 20.0])
def test_evidence_alike_in_all_directions_is_decided_by_one_integral(fractions, margin):
    p = np.array(fractions)
    (rule,), m = gaussian_rules(p.size - 2), margin**2 * np.eye(p.size - 1)
    for prior in (p, np.full(p.size, 1 / p.size)):
        one = decision._posterior_log_error(np.array([margin]), p, prior)[0]
        assert posterior_log_error(m, p, prior, rule) == pytest.approx(one, rel=1e-11)


def test_the_decision_has_the_error_of_the_largest_posterior():
    """Two routes to one number: tails of Gaussian variables, and one minus the average of the largest posterior probability."""
    p, m, rng = np.array(THREE), np.array([[1.2, 0.3], [0.3, 0.5]]), np.random.default_rng(0)
    codes, size = simplex_codes(p), 100_000
    kinds = rng.choice(3, size, p=p)
    b = codes[kinds] @ m + rng.standard_normal((size, 2)) @ np.linalg.cholesky(m).T
    scores = b @ codes.T - 0.5 * np.einsum("ka,ab,kb->k", codes, m, codes) + np.log(p)
    chance = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    missed = 1.0 - np.max(chance, axis=1)
    error = np.exp(posterior_log_error(m, p, p, *gaussian_rules(1)))
    assert abs(np.mean(missed) - error) < 4.0 * np.std(missed) / np.sqrt(size)
    mean = chance @ codes
    T = MatrixPosterior(p, *gaussian_rules(2)).overlap(m)
    products = mean[:, :, None] * codes[kinds][:, None, :]
    assert np.all(
        np.abs(np.mean(products, axis=0) - T) < 4.0 * np.std(products, axis=0) / np.sqrt(size)
    )


@pytest.mark.parametrize("features", [None, LAW])
def test_the_free_entropy_is_stationary_at_the_fixed_point_and_only_there(features):
    data = gl.CSBM(alpha=2.0, lam=0.5, mu=1.0, rho=0.2, classes=THREE, features=features)
    at = evolution(data)
    q, step = at.fixed_points()[0].overlap, 1e-4
    for shift in (np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])):
        slope = [
            (at.free_entropy(c * q + step * shift) - at.free_entropy(c * q - step * shift))
            / (2 * step)
            for c in (1.0, 0.8)
        ]
        assert abs(slope[0]) < 1e-8
        assert abs(slope[1]) > 1e-4


def test_half_the_overlap_is_the_gradient_of_the_free_entropy_of_the_evidence():
    p, m, step = (
        MatrixPosterior(np.array(THREE), *gaussian_rules(2)),
        np.array([[0.9, 0.2], [0.2, 0.6]]),
        1e-4,
    )
    for shift in (np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]])):
        slope = (p.information(m + step * shift)[0] - p.information(m - step * shift)[0]) / (
            2 * step
        )
        assert slope == pytest.approx(0.5 * np.sum(p.overlap(m) * shift), abs=1e-8)


@pytest.mark.parametrize("directed, features", [(True, None), (False, LAW)])
def test_message_passing_reaches_the_ceiling(directed, features):
    data = gl.CSBM(
        alpha=2.0, lam=0.9, mu=1.0, rho=0.1, classes=THREE, directed=directed, features=features
    )
    graphs = [gl.sample(data, nodes=700, degree=None, seed=seed) for seed in range(6)]
    found = np.array([gl.amp(graph).performance.test_accuracy for graph in graphs])
    ceiling = gl.bayes_optimal(data).test_accuracy
    assert abs(np.mean(found) - ceiling) < 4.0 * np.std(found, ddof=1) / np.sqrt(found.size)


@pytest.mark.parametrize("fractions", [THREE, (0.8, 0.15, 0.05)])
def test_no_network_exceeds_the_ceiling(fractions):
    data = gl.CSBM(alpha=4.0, lam=[0.2, 1.0, 3.0], mu=2.0, rho=0.1, classes=fractions)
    ceiling = gl.bayes_optimal(data)
    network = gl.tune(data, gl.GCN(gl.Diffusion(1.0)), {"t": (0, 10)}).prediction
    assert np.all(ceiling.test_accuracy > network.best_accuracy)
    assert np.all(ceiling.balanced_accuracy > network.balanced_accuracy)


def test_without_labels_the_overlap_appears_at_the_transition_or_before_it():
    """Below snr = 1 message passing finds nothing; a small class makes the transition discontinuous, and the phase hard."""
    data = gl.CSBM(
        alpha=1.0, lam=[0.5, 0.9, 1.05], mu=0.0, rho=0.0, directed=False, classes=[0.9, 0.06, 0.04]
    )
    ceiling = gl.bayes_optimal(data)
    np.testing.assert_array_equal(ceiling.hard, [False, True, False])
    np.testing.assert_allclose(ceiling.algorithmic.test_accuracy[:2], 0.9, atol=1e-12)
    assert ceiling.test_accuracy[0] == pytest.approx(0.9, abs=1e-12)
    assert 0.95 < ceiling.test_accuracy[1] < ceiling.test_accuracy[2]
    assert ceiling.free_entropy[1] > 0.0


def test_a_gap_is_mapped_and_compared_on_three_unequal_classes():
    data = gl.CSBM(**PARAMETERS, classes=THREE)
    network = gl.GCN(gl.Diffusion(1.0))
    gap = gl.gap_map(data, network, {"t": (0, 10)})
    assert gap.gap > 0.0
    entries = {
        entry.method: entry.test_accuracy
        for entry in gl.compare(data, depth=1, order=2, reg=np.inf).entries
    }
    assert max(entries, key=entries.get) == "Bayes-optimal"


def test_the_smallest_class_is_recovered_first():
    """A state that tells it from the others, as if they were one class, is that of two: so are the ends of the hard phase."""
    three, two = hard_phase_ends(np.array([0.8, 0.15, 0.05])), gl.limits.hard_phase([0.05, 0.95])
    assert three == pytest.approx(two[:2], abs=1e-9)


@pytest.mark.slow
def test_the_hard_phase_begins_where_the_free_entropies_cross():
    """With the smallest class a fifth of the nodes, recovery of all three at once comes before that of the smallest alone."""
    classes = [0.5, 0.3, 0.2]
    spinodal, transition = hard_phase_ends(np.array(classes))
    assert spinodal < gl.limits.hard_phase([0.2, 0.8]).lam_spinodal < 1.0
    for factor, hard in ((1.0 - 2e-5, False), (1.0 + 2e-5, True)):
        data = gl.CSBM(1, factor * transition, 0, 0, directed=False, classes=classes)
        assert gl.bayes_optimal(data).hard is hard


def test_nearly_equal_classes_have_no_hard_phase_if_they_are_four_or_fewer():
    assert hard_phase_ends(np.array([0.36, 0.34, 0.3])) == (1.0, 1.0)


def test_the_hard_phase_of_more_unequal_classes_is_left_to_the_ceiling():
    with pytest.raises(gl.ParameterError, match="take two, equal ones, or bayes_optimal"):
        gl.limits.hard_phase([0.5, 0.3, 0.2])


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("reg", [0.3, 10.0, np.inf])
def test_a_square_of_ones_own_is_the_square_loss_in_other_units(p, reg):
    """Targets of the one are the codes, of variance 1, and of the other plus and minus 1."""
    data = gl.CSBM(**PARAMETERS, classes=[p, 1.0 - p])
    built_in, own = (
        gl.predict(data, gl.GCN(gl.Diffusion(1.0), loss=loss, reg=reg))
        for loss in ("square", lambda h: 0.5 * (1.0 - h) ** 2)
    )
    assert own.test_accuracy == pytest.approx(built_in.test_accuracy, rel=1e-9)
    for name in ("test_loss", "train_loss"):
        assert getattr(own, name) == pytest.approx(
            4.0 * p * (1.0 - p) * getattr(built_in, name), rel=1e-9
        )


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 6])
def test_rules_have_the_moments_of_normal_variables_up_to_the_third(dimensions):
    for x, w in (*gaussian_rules(dimensions), coarse_rule(dimensions)):
        coarse = dimensions < 4 and len(w) < 4000
        atol = (
            2e-3 if coarse else 1e-6 if dimensions == 3 else 1e-12
        )  # beyond the radius of the ball
        assert w.sum() == pytest.approx(1.0, abs=1e-13)
        np.testing.assert_allclose(w @ x, 0.0, atol=1e-13)
        np.testing.assert_allclose((w[:, None] * x).T @ x, np.eye(dimensions), atol=atol)
        third = np.einsum("n,ni,nj,nk->ijk", w, x, x, x, optimize=True)
        np.testing.assert_allclose(third, 0.0, atol=1e-11)


def test_the_posterior_is_sure_under_strong_evidence_and_the_prior_under_none():
    """Also where the odds of two classes are beyond the range of numbers."""
    fractions = np.array(THREE)
    entropy = -fractions @ np.log(fractions)
    posterior = MatrixPosterior(fractions, gaussian_rules(2)[0])
    for strength in (300.0, 1e5, 1e12):
        m = strength * np.array([[1.0, 0.3], [0.3, 2.0]])
        np.testing.assert_allclose(posterior.overlap(m), np.eye(2), atol=1e-12)
        free_entropy, cross_entropy = posterior.information(m)
        assert 0.0 <= cross_entropy < 1e-12
        assert free_entropy == pytest.approx(0.5 * np.trace(m) - entropy, rel=1e-14)
    np.testing.assert_allclose(posterior.overlap(np.zeros((2, 2))), 0.0, atol=1e-15)
    assert posterior.information(np.zeros((2, 2))) == pytest.approx((0.0, entropy), abs=1e-14)
