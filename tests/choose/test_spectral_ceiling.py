"""The best network of one filter over all filters and all regularizations: laws that it must obey."""

import functools
import math

import numpy as np
import pytest
from problems import margin, random_data
from scipy.interpolate import CubicSpline

import gcnlimit as gl
from gcnlimit.choose import spectral
from gcnlimit.choose.best_filter import filter_ceiling
from gcnlimit.choose.spectral import SpectralMargin, maximize
from gcnlimit.choose.spectral_ceiling import spectral_ceiling
from gcnlimit.numerics.spectral import edge_panels, halved, panel_measure
from gcnlimit.theory import limits
from gcnlimit.theory.finite_reg.square import square_margins
from gcnlimit.theory.points import Points

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
MANY_LABELS = gl.CSBM(alpha=4, lam=0.75, mu=0.5, rho=0.5)
single_ceiling = functools.cache(filter_ceiling)


@pytest.mark.parametrize(
    "filter, symmetrize",
    [
        (gl.Diffusion(np.linspace(-3, 3, 40)), True),
        (gl.PageRank(np.linspace(-0.3, 0.3, 40)), True),
        (gl.PageRank(np.linspace(-0.3, 0.3, 40)), False),
        (gl.Polynomial(np.random.default_rng(1).normal(size=(40, 5))), True),
    ],
)
def test_the_closed_margin_of_the_square_loss_solves_the_self_consistent_equations(
    filter, symmetrize
):
    data = random_data(40)
    gcn = gl.GCN(
        filter, reg=np.append(np.geomspace(1e-3, 1e5, 39), math.inf), symmetrize=symmetrize
    )
    closed = square_margins(Points.of(data, gcn))
    np.testing.assert_allclose(closed, margin(gl.predict(data, gcn, tol=1e-12)), atol=1e-10)


def test_known_values():
    best = gl.best_filter(MANY_LABELS, 6)
    assert best.prediction.test_accuracy == pytest.approx(0.8002295, abs=1e-7)
    assert best.ceiling.test_accuracy == pytest.approx(0.8006318, abs=1e-7)
    assert best.ceiling_at_infinite_reg.test_accuracy == pytest.approx(0.7660022, abs=1e-7)
    assert single_ceiling(DATA).test_accuracy == pytest.approx(0.8874922, abs=1e-7)
    assert filter_ceiling(DATA, reg=math.inf).test_accuracy == pytest.approx(0.8860905, abs=1e-7)


def test_the_ceiling_is_above_a_tuned_network_and_below_bayes():
    """Comparisons hold the other families."""
    data = random_data(5, seed=3)
    ceiling = filter_ceiling(data)
    tuned = gl.tune(data, gl.GCN(gl.Diffusion(1.0)), {"t": (-20, 20), "reg": (0, math.inf)})
    assert np.all(ceiling.margin >= margin(tuned.prediction) - 1e-9)
    assert np.all(ceiling.margin >= filter_ceiling(data, reg=math.inf).margin - 1e-11)
    assert np.all(ceiling.log_test_error > gl.bayes_optimal(data).log_test_error)
    assert np.all(ceiling.status == gl.Status.CONVERGED)


def test_random_filters_at_random_regularizations_stay_below():
    rng = np.random.default_rng(5)
    for data in (DATA, MANY_LABELS, gl.CSBM(alpha=1, lam=-0.6, mu=1.0, rho=0.8)):
        best = single_ceiling(data)
        centre = np.polynomial.polynomial.polyfit(
            best.x, best.g, 8
        )  # around the best, and anywhere
        anything = (
            rng.normal(size=(400, 9)) * 10.0 ** rng.uniform(-4, 0, (400, 1)) / 2.0 ** np.arange(9)
        )
        coefficients = anything + centre * (rng.uniform(size=(400, 1)) < 0.7)
        reg = best.reg * 10.0 ** rng.normal(size=400)
        found = gl.predict(data, gl.GCN(gl.Polynomial(coefficients), reg=reg), throw=False)
        assert margin(found).max() <= best.margin + 1e-10


def test_polynomials_grow_to_the_ceiling():
    data = random_data(3, seed=4)
    steps = np.array([margin(gl.best_filter(data, k).prediction) for k in (0, 1, 3, 9, 28)])
    assert np.all(np.diff(steps, axis=0) >= -1e-9)
    ceiling = filter_ceiling(data).margin
    assert np.all(ceiling >= steps[-1] - 1e-9)
    np.testing.assert_allclose(steps[-1], ceiling, atol=2e-4)


def test_order_one_against_a_scan_of_every_direction_and_regularization():
    data = gl.CSBM(alpha=[4.0, 1.0], lam=[0.75, -1.2], mu=[0.5, 2.0], rho=[0.5, 0.3])
    angle = np.linspace(0, np.pi, 301)[:, None]
    lines = gl.Polynomial(np.stack([np.cos(angle), np.sin(angle)], axis=-1))
    columns = gl.CSBM(
        *(np.asarray(p)[:, None, None] for p in (data.alpha, data.lam, data.mu, data.rho))
    )
    plane = gl.GCN(lines, reg=np.geomspace(1e-3, 1e3, 61))
    scan = square_margins(Points.of(columns, plane)).reshape(2, -1).max(axis=1)
    best = margin(gl.best_filter(data, 1).prediction)
    assert np.all(best >= scan - 1e-9)
    np.testing.assert_allclose(best, scan, atol=1e-4)


def test_the_best_values_are_stationary_and_no_node_would_rather_be_elsewhere():
    signal, ends = np.array([0.9, 1.5]), halved(edge_panels(np.array([0.9, 1.5])))
    problem = SpectralMargin(
        panel_measure(signal, ends),
        True,
        *(np.array(p) for p in ([4.0, 1.0], [0.5, 2.0], [0.5, 0.2])),
    )
    start = np.broadcast_to(np.arctan(0.2 * np.exp(problem.measure.x)), problem.measure.x.shape)
    found = maximize(problem, start)
    weight = problem.measure.tau + problem.measure.e
    slope = np.abs(spectral._derivatives(problem, found.angle)[0]) / np.where(
        weight > 0.0, weight, 1.0
    )
    assert np.max(slope) < 1e-6
    slope = problem.slope(problem.numbers(*problem.functions(found.angle)))
    here = problem.share(slope, found.angle)
    for angle in np.linspace(-np.pi / 2, np.pi / 2, 201):
        there = problem.share(slope, np.full_like(found.angle, angle))
        assert np.all((there - here)[:, :-1] <= 1e-9 * np.abs(here).max())


@pytest.mark.parametrize("gain, worth", [(3e-10, False), (3e-9, True)])
def test_a_node_is_exchanged_for_more_than_a_billionth_of_the_largest_share(
    gain, worth, monkeypatch
):
    """Shares are counted per weight of their node, so that a finer grid of nodes changes nothing."""
    one, signal = np.ones(1), np.array([0.9])
    problem = SpectralMargin(
        panel_measure(signal, edge_panels(signal)), True, 4.0 * one, 0.5 * one, 0.5 * one
    )
    best = maximize(problem, np.arctan(0.2 * np.exp(problem.measure.x))).angle
    slope, node = (
        problem.slope(problem.numbers(*problem.functions(best))),
        np.argmax(problem.measure.tau),
    )
    weight = np.where(problem.measure.tau > 0.0, problem.measure.tau + problem.measure.e, 1.0)

    def shifted(by):
        return best + by * (np.arange(best.size) == node)

    def share(angle):
        return (problem.share(slope, angle) / weight)[0]

    lost = (share(best) - share(shifted(1e-2)))[node] / np.max(
        np.abs(share(best))
    )  # quadratic in the shift
    off = shifted(1e-2 * math.sqrt(gain / lost))
    monkeypatch.setattr(spectral, "_TRIED", best[0, [node]] / (0.5 * np.pi))
    _, raised = spectral._exchanged(problem, off, problem.at(off))
    assert raised == [worth]


def test_gradient_in_the_values_is_exact():
    rng = np.random.default_rng(0)
    signal = np.array([0.5, -1.3])
    for s in (0.0, 1.0):
        problem = SpectralMargin(
            panel_measure(signal, edge_panels(signal)),
            s > 0.0,
            np.full(2, 2.0),
            np.full(2, 1.0),
            np.full(2, 0.3),
        )
        g = 0.2 + 0.1 * rng.normal(size=problem.measure.x.shape)
        U, W = g / (1 + s * g**2), g**2 / (1 + s * g**2)
        by_U, by_W = problem.by_values(U, W)
        dU, dW = rng.normal(size=(2, *g.shape))
        h = 1e-6
        difference = (
            problem.value(U + h * dU, W + h * dW) - problem.value(U - h * dU, W - h * dW)
        ) / (2 * h)
        np.testing.assert_allclose(np.sum(by_U * dU + by_W * dW, axis=1), difference, rtol=1e-7)


def test_polynomials_reach_the_ceiling_of_infinite_regularization_too():
    data = random_data(3, seed=6)
    explicit = filter_ceiling(data, reg=math.inf)
    assert np.all(np.isinf(explicit.reg))
    np.testing.assert_allclose(
        margin(gl.best_filter(data, 24, reg=math.inf).prediction), explicit.margin, atol=1e-5
    )


def test_without_a_graph_infinite_regularization_is_the_best():
    data = gl.CSBM(alpha=[0.5, 4.0], lam=0.0, mu=[1.0, 3.0], rho=[0.7, 0.2])
    ceiling = filter_ceiling(data)
    assert np.all(np.isinf(ceiling.reg))
    np.testing.assert_allclose(
        ceiling.margin, limits.short_diffusion_margin(data, 0.0, True), atol=1e-12
    )


@pytest.mark.slow
def test_without_features_the_sign_of_the_filter_is_free_and_the_ceiling_is_resolved():
    data = gl.CSBM(alpha=4.0, lam=0.75, mu=0.0, rho=0.5)
    ceiling = filter_ceiling(data)  # takes seconds: the sign is free at each node of the spectrum
    assert ceiling.error < 1e-9
    nearby = filter_ceiling(gl.CSBM(data.alpha, data.lam, 1e-6, data.rho))
    assert ceiling.margin == pytest.approx(nearby.margin, abs=1e-5)


def test_without_any_signal_nothing_is_learnt():
    assert filter_ceiling(gl.CSBM(alpha=2, lam=0.0, mu=0.0, rho=0.3)).test_accuracy == 0.5


def test_the_transition_of_the_spectrum_is_crossed_smoothly():
    lam = np.array([-1e-2, -1e-4, -1e-8, 0.0, 1e-8, 1e-4, 1e-2]) / math.sqrt(2) + math.sqrt(0.5)
    found = filter_ceiling(gl.CSBM(alpha=4, lam=lam, mu=1.0, rho=0.3))
    assert np.all(found.error < 1e-9)
    slope = np.diff(found.margin) / np.diff(lam)
    assert np.ptp(slope[[0, 1, 4, 5]]) < 0.1 * slope.mean()
    assert np.all(slope > 0)


def test_heterophily_mirrors_the_filter():
    one, other = (single_ceiling(data) for data in (MANY_LABELS, MANY_LABELS.replaced(lam=-0.75)))
    assert one.margin == pytest.approx(other.margin, abs=1e-10)
    np.testing.assert_allclose(one.g[:201], other.g[200::-1], atol=1e-5)


def test_all_points_at_once_give_what_each_gives_alone():
    data = gl.CSBM(alpha=4, lam=[0.75, 1.0], mu=[0.5, 2.0], rho=[0.5, 0.1])
    points = Points.of(data, gl.GCN(gl.Polynomial(np.ones(1))))
    together = spectral_ceiling(points, infinite=False, tol=1e-9)
    alone = [single_ceiling(one).margin for one in (MANY_LABELS, DATA)]
    np.testing.assert_allclose(together.margin, alone, atol=2e-9)


@pytest.mark.slow
def test_the_best_polynomial_close_to_the_ceiling_is_confirmed_by_simulation():
    best = gl.best_filter(MANY_LABELS, 12)
    assert best.ceiling.test_accuracy - best.prediction.test_accuracy < 1e-6
    assert best.ceiling.reg == pytest.approx(
        best.gcn.reg, rel=0.05
    )  # for filters of largest value 1
    measured = gl.simulate(
        MANY_LABELS, best.gcn, nodes=900, degree=60, trials=10, seed=3, workers=1
    )
    error = measured.standard_error.test_accuracy
    assert abs(measured.test_accuracy - best.prediction.test_accuracy) < 4 * error + 1e-3
    assert measured.test_accuracy > best.ceiling_at_infinite_reg.test_accuracy + 4 * error


@pytest.mark.parametrize("reg", [1.0, 0.0, "inf"])
@pytest.mark.parametrize("function", [gl.best_filter, gl.compare])
def test_a_finite_regularization_is_refused(function, reg):
    with pytest.raises(gl.ParameterError, match="reg"):
        function(DATA, reg=reg)


@pytest.mark.parametrize("infinite", [True, False])
def test_the_values_of_the_best_filter_have_the_largest_magnitude_one(infinite):
    """The regularization is reported in their unit, so they are no other multiple."""
    points = Points.of(DATA, gl.GCN(gl.Diffusion(1.0)))
    best = spectral_ceiling(points, infinite=infinite, tol=1e-8)
    assert np.max(np.abs(best.g), axis=1) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("finite", [True, False])
def test_the_hessian_in_the_angles_is_diagonal_plus_rank_eight(finite):
    """Both parts together are the differences of the gradient, which is that of the margin."""
    problem, angle = random_filters(finite)
    gradient, diagonal, rows = spectral._derivatives(problem, angle)
    rest = problem.curvature(problem.numbers(*problem.functions(angle)))
    move = np.random.default_rng(1).normal(size=angle.shape)
    h = 1e-5
    rise = (problem.at(angle + h * move) - problem.at(angle - h * move)) / (2 * h)
    np.testing.assert_allclose(np.vecdot(gradient, move), rise, rtol=1e-7)
    ahead, behind = (spectral._derivatives(problem, angle + step * move)[0] for step in (h, -h))
    bent = diagonal * move + (rows.mT @ (rest @ (rows @ move[:, :, None])))[:, :, 0]
    size = np.max(np.abs(bent), axis=1, keepdims=True)
    np.testing.assert_allclose(bent / size, (ahead - behind) / (2 * h) / size, atol=1e-6)


def test_at_infinite_regularization_a_step_scales_with_the_filter():
    problem, angle = random_filters(finite=False)
    step, promise = spectral._direction(problem, angle)
    scaled, same = spectral._direction(problem, 8.0 * angle)
    np.testing.assert_allclose(scaled / 8.0, step, atol=1e-7)
    np.testing.assert_allclose(same, promise, rtol=1e-6)


def test_newton_squares_the_error():
    """Near the best filter each step leaves about the square of what was left."""
    problem, angle = random_filters(finite=True)
    start = np.exp(np.array([[1.0], [-1.0]]) * problem.measure.x)
    best = spectral.climb(problem, np.arctan(0.2 * start))
    nearby = best.angle + 1e-3 * np.random.default_rng(2).normal(size=angle.shape)
    assert not spectral.climb(problem, nearby, steps=1).settled.any()
    climbed = spectral.climb(problem, nearby, steps=5)
    assert climbed.settled.all()
    np.testing.assert_allclose(climbed.margin, best.margin, rtol=1e-12)


@pytest.mark.parametrize("infinite", [True, False])
def test_the_reported_filter_and_regularization_have_the_reported_margin(infinite):
    data = gl.CSBM(4.0, lam=[0.6, -0.6, -1.2], mu=[0.5, 0.5, 2.0], rho=[0.5, 0.5, 0.3])
    points = Points.of(data, gl.GCN(gl.Diffusion(1.0)))
    best = spectral_ceiling(points, infinite=infinite, tol=1e-9)
    np.testing.assert_array_equal(best.g[[0, 1], -1], best.g[[0, 1], [200, 0]])  # at the edge
    measure = panel_measure(points.signal, halved(edge_panels(points.signal)))
    problem = SpectralMargin.of(points, measure, finite=not infinite)
    rows = zip(measure.x[:, :-1], best.g, strict=True)
    bulk = [CubicSpline(np.linspace(-2, 2, 201), g[:-1])(x) for x, g in rows]
    g = np.concatenate([bulk, best.g[:, -1:]], axis=1)
    if infinite:
        np.testing.assert_allclose(problem.at(g), best.margin, rtol=1e-9)
        assert np.all(np.isinf(best.reg))
        return
    # the scale of the filter stands for the regularization, which falls with it
    low, high = (np.full((3, 1), size) for size in (1e-2, 1e2))
    for _ in range(60):
        scale = np.sqrt(low * high)
        reg = problem.reg(problem.functions(np.arctan(scale * g))[1])[:, None] / scale**2
        above = reg > best.reg[:, None]
        low, high = np.where(above, scale, low), np.where(above, high, scale)
    np.testing.assert_allclose(problem.at(np.arctan(scale * g)), best.margin, rtol=1e-9)


def random_filters(finite):
    signal = np.array([0.9, -1.5])
    columns = (np.array(p) for p in ([4.0, 1.0], [0.5, 2.0], [0.5, 0.2]))
    problem = SpectralMargin(panel_measure(signal, edge_panels(signal)), finite, *columns)
    return problem, 0.2 + 0.1 * np.random.default_rng(0).normal(size=problem.measure.x.shape)
