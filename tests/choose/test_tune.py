"""Tuned networks: known optima, dense scans on random parameters, limits and bounds."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from problems import DATA, margin, random_data

import gcnlimit as gl
from gcnlimit.choose import method
from gcnlimit.theory import limits

EVERYWHERE = (-math.inf, math.inf)


def column(data):
    """The same data with an axis added for a scan."""
    return gl.CSBM(*(np.asarray(p)[:, None] for p in (data.alpha, data.lam, data.mu, data.rho)))


@pytest.mark.parametrize(
    "filter, free, value, accuracy",
    [
        (gl.Diffusion(0.0), {"t": (0, 10)}, 1.488, 0.88095),
        (gl.PageRank(0.0), {"theta": (0, 1)}, 0.411, 0.88597),
    ],
)
def test_known_optima(filter, free, value, accuracy):
    best = gl.tune(DATA, gl.GCN(filter, symmetrize=True), free)
    assert best.status is gl.results.TuneStatus.INTERIOR
    assert next(iter(best.parameters.values())) == pytest.approx(value, abs=5e-4)
    assert best.prediction.test_accuracy == pytest.approx(accuracy, abs=5e-6)


@pytest.mark.parametrize("symmetrize", [True, False])
@pytest.mark.parametrize(
    "build, name, bounds, grid",
    [
        (gl.Diffusion, "t", (-6, 6), np.linspace(-6, 6, 1201)),
        (gl.PageRank, "theta", (-1, 1), None),
        (lambda c: gl.Residual.constant(c, 3), "c", (-20, 20), np.linspace(-20, 20, 4001)),
    ],
)
def test_dense_scans_find_nothing_better(build, name, bounds, grid, symmetrize):
    data = random_data(20)
    best = gl.tune(
        data, gl.GCN(build(0.5 if name == "c" else 0.0), symmetrize=symmetrize), {name: bounds}
    )
    if grid is None:
        radius = np.maximum(1, np.abs(data.effective_signal(symmetrize)))
        radius = radius + 1 / radius if symmetrize else radius
        grid = np.linspace(-0.998, 0.998, 1001) / radius[:, None]
    scan = margin(gl.predict(column(data), gl.GCN(build(grid), symmetrize=symmetrize)))
    assert np.all(margin(best.prediction) >= scan.max(axis=1) - 1e-13)
    place = np.broadcast_to(grid, scan.shape)[np.arange(20), scan.argmax(axis=1)]
    sharp = np.abs(best.curvature[name]) > 1e-4
    spacing = np.max(np.diff(np.broadcast_to(grid, scan.shape), axis=1), axis=1)
    assert np.all(np.abs(best.parameters[name] - place)[sharp] <= 1.01 * spacing[sharp])
    assert sharp.sum() > 10


@pytest.mark.parametrize("symmetrize", [True, False])
def test_free_strengths_of_two_layers_against_a_scan_of_the_plane(symmetrize):
    data = random_data(6, seed=1)
    best = gl.tune(
        data, gl.GCN(gl.Residual.constant(1.0, 2), symmetrize=symmetrize), {"c": [(-12, 12)] * 2}
    )
    c = np.sinh(np.linspace(-np.arcsinh(12), np.arcsinh(12), 161))
    pairs = np.stack(np.meshgrid(c, c), axis=-1).reshape(-1, 2)
    scan = margin(gl.predict(column(data), gl.GCN(gl.Residual(pairs), symmetrize=symmetrize)))
    assert np.all(margin(best.prediction) >= scan.max(axis=1) - 1e-12)
    assert np.all(margin(best.prediction) <= scan.max(axis=1) + 1e-2)


def test_freeing_each_layer_gains_and_equal_strengths_are_among_its_starts():
    data = random_data(12, seed=2)
    gcn = gl.GCN(gl.Residual.constant(1.0, 3), symmetrize=True)
    shared, each = (gl.tune(data, gcn, {"c": c}) for c in (EVERYWHERE, [EVERYWHERE] * 3))
    gain = margin(each.prediction) - margin(shared.prediction)
    assert np.all(gain >= -1e-12)
    assert np.any(gain > 1e-3)


@pytest.mark.slow
def test_equal_strengths_are_among_the_starts_of_many_layers():
    data, gcn = random_data(6, seed=5), gl.GCN(gl.Residual.constant(1.0, 7))
    shared, each = (gl.tune(data, gcn, {"c": c}) for c in (EVERYWHERE, [EVERYWHERE] * 7))
    assert np.all(margin(each.prediction) >= margin(shared.prediction) - 1e-12)


def test_coefficients_reach_the_best_filter():
    gcn = gl.GCN(gl.Polynomial(np.ones(4)), symmetrize=True)
    best = gl.tune(DATA, gcn, {"coefficients": (-1, 1)})
    other = gl.best_filter(DATA, 3, reg=math.inf)
    assert margin(best.prediction) == pytest.approx(margin(other.prediction), abs=1e-10)


def test_diffusion_vanishes_with_the_graph_and_takes_its_sign():
    lam = np.array([-1e-2, -1e-4, 1e-4, 1e-2])
    data = gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1)
    for symmetrize in (True, False):
        t = gl.tune(
            data, gl.GCN(gl.Diffusion(1.0), symmetrize=symmetrize), {"t": (-10, 10)}
        ).parameters["t"]
        assert np.all(np.sign(t) == np.sign(lam))
        np.testing.assert_allclose(
            t, -t[::-1], rtol=1e-3
        )  # an optimum is located to the root of rounding
        np.testing.assert_allclose(t[1] / t[0], 1e-2, rtol=1e-2)
    random = random_data(100, seed=3)
    t = gl.tune(random, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (-30, 30)}).parameters[
        "t"
    ]
    assert np.all(np.sign(t) == np.sign(random.lam))


def test_accuracies_that_round_to_one_are_still_told_apart():
    data = gl.CSBM(alpha=0.1, lam=9.0, mu=90.0, rho=0.5)
    best = gl.tune(data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 2)})
    assert best.prediction.test_accuracy == 1.0
    assert best.status is gl.results.TuneStatus.INTERIOR
    t = best.parameters["t"]
    near = margin(gl.predict(data, gl.GCN(gl.Diffusion([0.99 * t, t, 1.01 * t]), symmetrize=True)))
    assert near[1] > max(near[0], near[2])


@pytest.mark.parametrize(
    "bounds, status, value",
    [((0, 0.5), "UPPER_BOUND", 0.5), ((3, 9), "LOWER_BOUND", 3.0), ((2, 2), "FLAT", 2.0)],
)
def test_bounds_are_told(bounds, status, value):
    best = gl.tune(DATA, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": bounds})
    assert best.status.name == status
    assert best.parameters["t"] == pytest.approx(value)
    assert best.status.message.endswith(("better network", "is reported"))


def test_without_a_graph_signal_the_residual_goes_to_infinity():
    data = gl.CSBM(alpha=4, lam=0.0, mu=2.0, rho=0.1)
    best = gl.tune(
        data, gl.GCN(gl.Residual.constant(1.0, 2), symmetrize=False), {"c": (0, math.inf)}
    )
    assert best.status is gl.results.TuneStatus.INFINITE
    no_graph = gl.predict(data, gl.GCN(gl.Diffusion(0.0), symmetrize=False)).test_accuracy
    assert best.prediction.test_accuracy == pytest.approx(no_graph, abs=1e-6)


def test_principal_components_are_the_limit_of_pagerank_and_of_diffusion():
    data = gl.CSBM(alpha=4, lam=-8.0, mu=0.0, rho=0.01)
    for filter, free in (
        (gl.PageRank(0.0), {"theta": (-1, 1)}),
        (gl.Diffusion(0.0), {"t": EVERYWHERE}),
    ):
        best = gl.tune(data, gl.GCN(filter, symmetrize=True), free)
        assert best.status is gl.results.TuneStatus.INFINITE
        assert next(iter(best.parameters.values())) < 0
        assert margin(best.prediction) == pytest.approx(
            limits.pca_margin(8 * math.sqrt(2)), rel=1e-5
        )


@pytest.mark.parametrize("lam", [8.0, -8.0])
def test_strong_directed_signals_do_not_overflow(lam):
    data = gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1)
    best = gl.tune(data, gl.GCN(gl.Diffusion(0.0), symmetrize=False), {"t": EVERYWHERE})
    assert np.sign(best.parameters["t"]) == np.sign(lam)
    assert best.status is gl.results.TuneStatus.INTERIOR


def test_all_points_at_once_give_what_each_gives_alone():
    data = random_data(9, seed=4)
    family = gl.GCN(gl.PageRank(0.0), symmetrize=True)
    together = gl.tune(data, family, {"theta": (-1, 1)})
    for k in range(9):
        one = gl.CSBM(data.alpha[k], data.lam[k], data.mu[k], data.rho[k])
        alone = gl.tune(one, family, {"theta": (-1, 1)})
        assert margin(alone.prediction) == pytest.approx(margin(together.prediction)[k], abs=1e-13)
        assert isinstance(alone.parameters["theta"], float)


def test_curvature_says_what_a_wrong_choice_costs():
    best = gl.tune(DATA, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 10)})
    t, d = best.parameters["t"], 0.02
    z = margin(gl.predict(DATA, gl.GCN(gl.Diffusion([t - d, t, t + d]), symmetrize=True)))
    assert z[1] - 0.5 * (z[0] + z[2]) == pytest.approx(-0.5 * best.curvature["t"] * d**2, rel=1e-3)


@pytest.mark.parametrize(
    "filter, free, words",
    [
        (gl.Diffusion(1.0), {}, "names nothing to tune"),
        (gl.Diffusion(1.0), {"theta": (0, 1)}, "whose parameter is 't'"),
        (gl.Diffusion(1.0), {"strength": (0, 1)}, "unknown"),
        (gl.Diffusion(1.0), {"t": (3, 1)}, "lower bound must come first"),
        (gl.Diffusion(1.0), {"t": 3}, "not a pair"),
        (gl.Diffusion(1.0), {"t": (1, 2, 3)}, "not a pair"),
        (gl.Diffusion(1.0), {"t": (0, math.nan)}, "is empty"),
        (gl.Diffusion(1.0), {"t": np.ma.masked_array([0.0, 1.0], [0, 1])}, "not a pair"),
        (gl.Diffusion(1.0), {"t": [(0, 1)]}, "one pair for each layer"),
        (gl.Diffusion(1.0), {"reg": (0, 1)}, "must be > 0"),
        (gl.Diffusion(1.0), {"t": (math.inf, math.inf)}, "no finite value"),
        (gl.PageRank(0.0), {"theta": (0.9, 1)}, "convergent interval"),
        (gl.Residual.constant(1.0, 2), {"c": [(0, 1)]}, "one pair for each layer"),
        (gl.Residual(np.empty(0)), {"c": (0, 1)}, "no layers"),
        (
            gl.Residual.constant(1.0, 40),
            {"c": [(0, 1)] * 40},
            "40 numbers, and more than 32 take minutes",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(filter, free, words):
    with pytest.raises(gl.ParameterError, match=words):
        gl.tune(DATA, gl.GCN(filter, symmetrize=True), free)


def test_infinite_regularization_is_refused_with_a_penalty_that_has_none():
    gcn = gl.GCN(gl.Diffusion(1.0), reg=1.0, penalty=gl.ElasticNet(0.5))
    with pytest.raises(gl.ParameterError, match="reaches infinity, not allowed with penalty"):
        gl.tune(DATA, gcn, {"reg": (0.1, math.inf)})


def test_arguments_in_the_wrong_order_are_refused():
    with pytest.raises(gl.ParameterError, match="tune needs a CSBM and a GCN"):
        gl.tune(gl.GCN(gl.Diffusion(1.0), symmetrize=False), DATA, {"t": (0, 1)})


@pytest.fixture
def known(monkeypatch):
    """Stand-in for the equations: a margin with a known maximum over ``log reg`` and ``t``, unsolved below ``reg = 0.1``."""

    def install(best_reg, best_t=1.0):
        def margins(reg, t):
            with np.errstate(divide="ignore"):
                off = np.log(reg) - math.log(best_reg) if math.isfinite(best_reg) else 1.0 / reg
            return 2.0 - np.tanh(off / 5.0) ** 2 - (t - best_t) ** 2 / 9.0

        def solved(points):
            return np.where(points.reg < 0.1, np.nan, margins(points.reg, points.filter.t))

        monkeypatch.setattr(method, "margins_of", solved)

    return install


@pytest.mark.parametrize(
    "free", [{"reg": (1e-2, math.inf)}, {"reg": (1e-2, math.inf), "t": (0, 10)}]
)
def test_regularization_is_found_on_its_logarithmic_scale(known, free):
    known(7.0)
    best = gl.tune(DATA, gl.GCN(gl.Diffusion(1.0), "logistic", symmetrize=True), free)
    assert best.parameters["reg"] == pytest.approx(7.0, rel=1e-5)
    assert best.gcn.reg == best.parameters["reg"]
    assert best.curvature["reg"] == pytest.approx(-2 / 25, rel=1e-3)
    assert best.status is gl.results.TuneStatus.INTERIOR


@pytest.mark.parametrize("free", [{"reg": (0.5, math.inf)}, {"reg": (0.5, math.inf), "t": (0, 10)}])
def test_infinite_regularization_competes(known, free):
    known(math.inf)
    best = gl.tune(DATA, gl.GCN(gl.Diffusion(1.0), "logistic", reg=1.0, symmetrize=True), free)
    assert best.parameters["reg"] == math.inf
    assert best.status is gl.results.TuneStatus.INFINITE
    assert best.curvature["reg"] == 0.0


def test_points_without_an_answer_are_avoided(known):
    known(1e-3)
    best = gl.tune(
        DATA, gl.GCN(gl.Diffusion(1.0), "logistic", symmetrize=True), {"reg": (1e-3, 10)}
    )
    assert best.parameters["reg"] == pytest.approx(0.1, rel=1e-2)
    nowhere = gl.tune(
        DATA, gl.GCN(gl.Diffusion(1.0), "logistic", symmetrize=True), {"reg": (1e-3, 1e-2)}
    )
    assert nowhere.status is gl.results.TuneStatus.NOT_CONVERGED


def test_a_finite_regularization_can_win_on_the_symmetrized_graph():
    two = gl.Residual.constant(1.0, 2)
    best = gl.tune(DATA, gl.GCN(two, symmetrize=True), {"reg": (1.0, math.inf)})
    assert best.status is gl.results.TuneStatus.INTERIOR
    reg = np.append(np.geomspace(1.0, 1e4, 41), math.inf)
    scan = gl.predict(DATA, gl.GCN(two, reg=reg, symmetrize=True)).test_accuracy
    assert best.prediction.test_accuracy >= scan.max() - 1e-9
    assert best.prediction.test_accuracy > scan[-1] + 5e-4
    assert reg[scan.argmax() - 1] < best.parameters["reg"] < reg[scan.argmax() + 1]


def test_infinite_regularization_wins_with_two_directed_layers():
    best = gl.tune(
        DATA, gl.GCN(gl.Residual.constant(1.0, 2), symmetrize=False), {"reg": (1.0, math.inf)}
    )
    assert best.status is gl.results.TuneStatus.INFINITE
    assert best.parameters["reg"] == math.inf


@dataclass(frozen=True, eq=False)
class Heat(gl.Filter):
    """Diffusion counted in half the time, as a user would write a filter: nothing is registered anywhere."""

    parameter = "s"
    s: object

    def _diffusion(self):
        return gl.Diffusion(2.0 * np.asarray(self.s))

    def quadrature_nodes(self):
        return self._diffusion().quadrature_nodes()

    def layers(self, **how):
        return self._diffusion().layers(**how)

    def normalized(self, x):
        return self._diffusion().normalized(x)

    def chain(self, **how):
        return self._diffusion().chain(**how)

    def series(self, *how):
        return self._diffusion().series(*how)


def test_a_filter_of_ones_own_is_tuned_like_any_other():
    mine, known = (
        gl.tune(DATA, gl.GCN(filter, symmetrize=True), {filter.parameter: (0, 10)})
        for filter in (Heat(1.0), gl.Diffusion(1.0))
    )
    assert mine.parameters["s"] == pytest.approx(known.parameters["t"] / 2, rel=1e-6)
    assert mine.prediction.test_accuracy == pytest.approx(known.prediction.test_accuracy, rel=1e-12)
    with pytest.raises(gl.ParameterError, match="choose among s, reg"):
        gl.tune(DATA, mine.gcn, {"t": (0, 1)})


def test_the_filter_of_the_test_is_tuned_with_that_of_the_training():
    data = gl.CSBM(alpha=[1.0, 4.0], lam=[1.0, 0.5], mu=2.0, rho=0.1)
    one = gl.tune(data, gl.GCN(gl.PageRank(0.0)), {"theta": (-1, 1)})
    pair = gl.GCN(gl.PageRank(0.0), test_filter=gl.PageRank(0.0))
    two = gl.tune(data, pair, {"theta": (-1, 1), "test_theta": (-1, 1)})
    best = gl.tune(data, gl.GCN(gl.PageRank(0.0)), {"theta": (-1, 1), "test_filter": "best"})
    given = gl.tune(data, one.gcn, {"test_filter": "best"})
    accuracy = [found.prediction.test_accuracy for found in (one, two, best)]
    assert np.all(accuracy[0] < accuracy[1])
    assert np.all(accuracy[1] < accuracy[2])
    assert np.all(accuracy[0] < given.prediction.test_accuracy)
    with pytest.raises(gl.ParameterError, match="take 'best'"):
        gl.tune(data, pair, {"test_filter": (0, 1)})
    with pytest.raises(gl.ParameterError, match="no theory for finite reg; take"):
        gl.tune(data, gl.GCN(gl.PageRank(0.1), reg=1.0), {"test_filter": "best"})


@pytest.mark.parametrize(
    "choose",
    [
        lambda data: gl.tune(data, gl.GCN(gl.Diffusion(1.0)), {"t": (0, 10)}),
        lambda data: gl.best_filter(data, order=1),
    ],
)
def test_a_choice_for_an_estimate_shows_the_errors_of_its_prediction(choose):
    estimate = gl.real.EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.1, mu_error=0.3)
    best = choose(estimate)
    error = best.prediction.standard_error.test_accuracy
    assert error == gl.predict(estimate, best.gcn).standard_error.test_accuracy > 0.01
    assert best.to_dataframe()["test_accuracy_standard_error"].item() == error
    assert f"{best.test_accuracy:.6g} ± {error:.0g}" in repr(best)


def test_no_answer_at_all_is_an_error_and_never_nan():
    """So near to its pole PageRank is too steep for a training that stops."""
    data = gl.CSBM(9.28, 0.572, 0.108, 0.125, directed=False)
    gcn = gl.GCN(gl.PageRank(0.4999), reg=0.0, training=gl.GradientFlow(1.0))
    with pytest.raises(gl.ConvergenceError, match="flatter filter"):
        gl.tune(data, gcn, {"time": (0.01, 10)})
    left = gl.tune(data, gcn, {"time": (0.01, 10)}, throw=False)
    assert math.isnan(left.test_accuracy)
