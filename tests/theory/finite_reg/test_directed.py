"""Averages of a directed graph by its layers, against a sampled matrix, and against themselves at another stiffness."""

import numpy as np
import pytest
from problems import FILTERS

import gcnlimit as gl
from gcnlimit.numerics.fixed_point import fixed_point
from gcnlimit.theory.finite_reg import solution
from gcnlimit.theory.finite_reg.directed import DirectedEquations, Medium
from gcnlimit.theory.finite_reg.directed_solution import DirectedSolution
from gcnlimit.theory.finite_reg.solution import ScaledChain
from gcnlimit.theory.points import Points

CASES = [*(f for f in FILTERS if not isinstance(f, gl.PageRank)), gl.Polynomial([1.0, 0.4, 0.0])]


def problem_of(filter, lam):
    points = Points.of(
        gl.CSBM(alpha=2.0, lam=lam, mu=1.0, rho=0.5),
        gl.GCN(filter, "square", 1.0, symmetrize=False),
    )
    scaled = ScaledChain.of(
        filter.chain(accuracy=1e-13, radius=points.radius), points.signal, False
    )
    return DirectedEquations.of(points, scaled), float(scaled.gain[0])


def solved(problem, s):
    """Layers at a stiffness, by the matrix equation alone."""
    s = np.array([s])
    start = problem.medium(problem.start()).pack(problem.far)

    def update(rows, _):
        return problem.sweep(Medium.unpack(rows, problem.chain.depth, problem.far), s)[2].pack(
            problem.far
        )

    rows = fixed_point(update, start, tol=1e-13, scale=np.ones_like, max_iterations=2000).state
    free, stiff, medium = problem.sweep(Medium.unpack(rows, problem.chain.depth, problem.far), s)
    return medium, problem.transforms(free, stiff, medium, s)


@pytest.mark.parametrize("filter", CASES, ids=repr)
@pytest.mark.parametrize("lam", [0.7, -1.6])
def test_averages_are_those_of_a_sampled_graph(filter, lam):
    s, size, trials = 3.0, 200, 8
    problem, gain = problem_of(filter, lam)
    _, predicted = solved(problem, s)
    measured = np.array(
        [_measured(filter, gain, lam=lam, s=s, size=size, seed=seed) for seed in range(trials)]
    )
    error = measured.std(axis=0, ddof=1) / np.sqrt(trials)
    averages = (
        predicted._asdict().items()
    )  # the last ones, of labels across the spike, are those of symmetric graphs
    for (name, value), mean, e in zip(averages, measured.mean(axis=0), error, strict=False):
        bias = 2.0 * (1.0 + mean**2) / size  # a spike moves a trace by one part in N
        assert abs(float(value[0]) - mean) < 4.0 * e + bias, name


def _measured(filter, gain, *, lam, s, size, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size)
    a = lam * np.outer(y, y) / size + rng.normal(size=(size, size)) / np.sqrt(size)
    b, c, g = filter.chain(accuracy=1e-13, radius=3.0)
    power, total = np.eye(size), g[0] * np.eye(size)
    for k in range(len(b)):
        power = b[k] * a @ power + c[k] * power
        total = total + g[k + 1] * power
    total = total / gain
    U = np.linalg.solve(np.eye(size) + s * total @ total.T, total)
    W = U @ total.T
    bulk = np.trace(W) / size  # the spike has no weight in a trace
    uu, uw, ww = (
        left @ right / size - (y @ left) * (y @ right) / size**2
        for left, right in ((U @ y, U @ y), (U @ y, W @ y), (W @ y, W @ y))
    )
    return (
        bulk,
        np.sum(U**2) / size,
        np.sum(W**2) / size - bulk**2,
        1.0 / (1.0 - s * bulk),
        y @ U @ y / size,
        y @ W @ y / size - bulk,
        uu,
        uw,
        ww,
    )


@pytest.mark.parametrize("filter", CASES, ids=repr)
def test_derivatives_are_those_of_the_layers(filter):
    problem, _ = problem_of(filter, 0.8)
    s, step = 2.0, 1e-4
    (low, at_low), (here, at), (high, at_high) = (
        solved(problem, x) for x in (s - step, s, s + step)
    )
    assert np.allclose((low.V - high.V) / (2 * step), here.X, rtol=1e-6, atol=1e-9)
    assert np.allclose((high.V_hat - low.V_hat) / (2 * step), here.Y, rtol=1e-6, atol=1e-9)
    slope = (at_low.W - at_high.W) / (2 * step)
    assert np.allclose(slope, at.WW_bulk + at.W**2, rtol=1e-6)
    along = (at_low.W + at_low.excess - at_high.W - at_high.excess) / (2 * step)
    assert np.allclose(along, at.WW_across + (at.W + at.excess) ** 2, rtol=1e-6)
    assert np.allclose(
        (at_low.U - at_high.U) / (2 * step), at.UW_across + at.U * (at.W + at.excess), rtol=1e-6
    )


@pytest.mark.parametrize("filter", CASES, ids=repr)
def test_the_start_is_the_limit_of_no_stiffness(filter):
    problem, _ = problem_of(filter, 0.8)
    s = 1e-9
    medium, _ = solved(problem, s)
    start = problem.at(np.array([0.25 / s])).start()  # V_w = 1/(alpha reg), the stiffness is rho
    for old, new in zip(problem.medium(start), medium, strict=True):
        assert np.abs(old - new).max(initial=0.0) <= 1e-6 * np.abs(new).max(initial=0.0)


def test_diffusion_against_a_strong_signal_reaches_the_limit_of_infinite_regularization():
    """Time and signal of opposite signs: terms of a series about 0 would cancel along the labels."""
    data = gl.CSBM(alpha=4, lam=-22.4, mu=98.9, rho=0.999)
    gcn = gl.GCN(gl.Diffusion([0.2, 0.5, 1.0]), reg=1e9, symmetrize=False)
    large, infinite = (
        gl.predict(data, network).order_parameters for network in (gcn, gcn.replaced(reg=np.inf))
    )
    np.testing.assert_allclose(large.test_margin, infinite.test_margin, rtol=1e-7)
    np.testing.assert_allclose(large.train_margin, infinite.train_margin, rtol=1e-7)


def test_layers_follow_the_pulls_before_a_search_begins():
    """Else the start of most stages is not that of a network, and the way down takes many small steps."""
    gcn = gl.GCN(gl.Diffusion(12.0), reg=1.0, symmetrize=False)
    assert gl.predict(gl.CSBM(4, 1.0, 2.0, 0.1), gcn).iterations < 300


@pytest.mark.slow
def test_a_chain_at_the_rounding_of_its_layers_is_solved():
    gcn = gl.GCN(gl.Diffusion([18.0, 19.0, 20.0]), reg=1.0, symmetrize=False)
    prediction = gl.predict(gl.CSBM(4, 1.0, 2.0, 0.1), gcn)
    assert prediction.residual.max() < 1e-9
    # accuracies fall along a smooth curve, to 1/2
    first, second = np.diff(prediction.test_accuracy)
    assert first < second < 0.9 * first < 0.0


def test_a_search_is_given_up_after_a_bounded_amount_of_work(monkeypatch):
    monkeypatch.setattr(solution, "_WORK", 10_000)
    gcn = gl.GCN(gl.Diffusion(5.0), reg=1e-3, symmetrize=False)
    prediction = gl.predict(gl.CSBM(4, 1.0, 2.0, 0.1), gcn, throw=False)
    assert prediction.status == gl.Status.NOT_CONVERGED
    assert prediction.iterations < 1000


def test_points_solved_together_have_chains_of_like_depth():
    """A series about the signal is twice as long: beside it, shorter ones would be solved with as many layers."""
    t, lam = np.array([0.5, 1.0, 2.0]), np.array([-6.0, 5.0, 3.0])
    network = gl.GCN(gl.Diffusion(t), reg=1.0)
    cost = DirectedSolution.cost(Points.of(gl.CSBM(4, lam, 1.0, 0.3, directed=True), network))
    depth = [
        gl.Diffusion(t[k]).directed_chain(lam[k], accuracy=solution.ACCURACY).depth
        for k in range(3)
    ]
    assert np.array_equal(np.argsort(cost), np.argsort(depth))
