"""The ceiling at finite degree: its limits, and belief propagation on large graphs."""

import math
import tracemalloc

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.theory.ceiling import finite_degree
from gcnlimit.theory.ceiling.linear_node import LinearNode
from gcnlimit.theory.ceiling.population import (
    Draw,
    LinearPopulation,
    Population,
    SparseModel,
    _losses,
)


def test_at_large_degree_it_is_the_dense_ceiling():
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    dense, found = (
        gl.bayes_optimal(data),
        gl.bayes_optimal(data, degree=30, population=500, sweeps=14),
    )
    assert abs(found.test_accuracy - dense.test_accuracy) < 4 * found.standard_error.test_accuracy
    assert abs(found.test_loss - dense.test_loss) < 4 * found.standard_error.test_loss
    assert (found.train_accuracy, found.train_loss) == (1.0, 0.0)  # labels that are known
    assert not found.hard


@pytest.mark.parametrize("classes", [2, 5, (0.2, 0.8)])
def test_without_edges_the_features_are_all_there_is(classes):
    """The state evolution without a graph is the same recursion, by Gaussian integrals."""
    data = gl.CSBM(
        alpha=1.0,
        lam=0.0,
        mu=2.0,
        rho=0.2,
        classes=classes,
        features=gl.Spectrum([0.5, 2.0], [1.5, 0.5]),
    )
    dense, found = (
        gl.bayes_optimal(data),
        gl.bayes_optimal(data, degree=1e-9, population=1500, sweeps=24),
    )
    assert abs(found.test_accuracy - dense.test_accuracy) < 4 * found.standard_error.test_accuracy
    assert abs(found.test_loss - dense.test_loss) < 4 * found.standard_error.test_loss
    assert found.balanced_accuracy == pytest.approx(dense.balanced_accuracy, abs=0.01)
    assert found.free_entropy == pytest.approx(dense.free_entropy, abs=0.02)
    if classes != 5:
        assert found.roc_auc == pytest.approx(dense.roc_auc, abs=0.01)


def test_messages_are_drawn_in_runs_only_where_none_weighs_much():
    weak, strong = (
        Population(
            SparseModel.of(gl.CSBM(4, lam, 1.0, 0.1, directed=False), 20.0),
            4000,
            informed=True,
            rng=np.random.default_rng(0),
        )
        for lam in (0.5, 4.2)
    )
    assert weak.run > 1
    assert strong.run == 1


def test_two_directions_are_twice_the_edges():
    """A directed graph observes each pair twice: twice the degree, and the same difference of the classes on each edge."""
    options = {"population": 200, "sweeps": 6}
    directed = gl.CSBM(alpha=4, lam=[0.5, 1.0], mu=1.0, rho=0.1)
    symmetric = gl.CSBM(alpha=4, lam=directed.lam * math.sqrt(2), mu=1.0, rho=0.1, directed=False)
    one = gl.bayes_optimal(directed, degree=3, **options).test_loss
    np.testing.assert_allclose(
        one, gl.bayes_optimal(symmetric, degree=6, **options).test_loss, rtol=1e-9
    )


@pytest.mark.parametrize(
    "degree, informed, reached", [(9.0, 0.2, 0.2), (14.5, 0.93, 0.2), (20.0, 0.98, 0.98)]
)
def test_five_colours_are_hard_to_find_between_their_two_thresholds(degree, informed, reached):
    """Edges only between classes: a solution appears at degree 12.84, and message passing finds it from degree 16."""
    data = gl.CSBM(alpha=4, lam=-(degree**0.5) / 4, mu=0.0, rho=0.0, directed=False, classes=5)
    found = gl.bayes_optimal(data, degree=degree, population=150, sweeps=40)
    assert found.test_accuracy == pytest.approx(informed, abs=0.05)
    assert found.algorithmic.test_accuracy == pytest.approx(reached, abs=0.05)
    assert found.hard == (informed != reached)


@pytest.mark.parametrize(
    "degree, lam, options",
    [
        (3, 1.0, {"directed": False}),
        pytest.param(4, 0.8, {"classes": 5}, marks=pytest.mark.slow),
        pytest.param(
            10, -0.7, {"classes": (0.2, 0.3, 0.5), "directed": False}, marks=pytest.mark.slow
        ),
        pytest.param(
            3, -1.0, {"features": gl.Spectrum([0.5, 2.0], [1.5, 0.5])}, marks=pytest.mark.slow
        ),
    ],
    ids=["two", "five", "unequal", "coloured"],
)
def test_belief_propagation_reaches_it_on_large_graphs(degree, lam, options):
    data = gl.CSBM(alpha=20, lam=lam, mu=2.0, rho=0.2, **options)
    ceiling = gl.bayes_optimal(data, degree=degree, population=1000, sweeps=16)
    found = [
        gl.belief_propagation(gl.sample(data, nodes=1500, degree=degree, seed=k), tol=1e-3)
        for k in range(5)
    ]
    for name in ("test_accuracy", "test_loss"):
        values = [getattr(f.performance, name) for f in found]
        error = math.hypot(
            np.std(values, ddof=1) / math.sqrt(5), getattr(ceiling.standard_error, name)
        )
        assert abs(np.mean(values) - getattr(ceiling, name)) < 4 * error
    values = [f.free_entropy for f in found]
    assert abs(np.mean(values) - ceiling.free_entropy) < 4 * np.std(values, ddof=1) / math.sqrt(5)


@pytest.mark.parametrize(
    "degree, signals, options, accuracy, loss",
    [
        (4, (4, 1.0, 2.0, 0.1), {}, (0.91856, 0.00036), (0.19773, 0.00076)),
        (
            10,
            (4, -0.7, 2.0, 0.1),
            {"directed": False, "classes": 5},
            (0.75776, 0.0008),
            (0.62836, 0.00181),
        ),
        (
            10,
            (20, -0.7, 2.0, 0.2),
            {"directed": False, "classes": (0.2, 0.3, 0.5)},
            (0.62713, 0.00082),
            (0.79390, 0.00075),
        ),
        (
            40,
            (2, 0.8, 2.0, 0.2),
            {"directed": False, "classes": 3},
            (0.81690, 0.00057),
            (0.45559, 0.00117),
        ),
        (
            20,
            (4, 0.9, 1.0, 0.05),
            {"directed": False, "classes": (0.2, 0.8)},
            (0.83704, 0.00035),
            (0.37979, 0.0008),
        ),
    ],
    ids=["two", "five", "three unequal", "three", "two unequal"],
)
def test_drawing_every_neighbour_by_itself_finds_the_same(degree, signals, options, accuracy, loss):
    """Values and standard errors of the recursion without runs of messages or tables of Poisson numbers."""
    found = gl.bayes_optimal(
        gl.CSBM(*signals, **options), degree=degree, population=1000, sweeps=20
    )
    for name, (value, error) in {"test_accuracy": accuracy, "test_loss": loss}.items():
        both = math.hypot(error, getattr(found.standard_error, name))
        assert abs(getattr(found, name) - value) < 4 * both


@pytest.mark.parametrize("classes, degree", [(4, 10), ((0.2, 0.8), 16)])
def test_beyond_two_equal_classes_the_correction_has_the_opposite_sign_of_the_signal(
    classes, degree
):
    """The third moment of the codes, which vanishes for two equal classes, takes evidence from the edges of homophilic graphs."""
    data = gl.CSBM(alpha=4, lam=[0.9, -0.9], mu=1.0, rho=0.1, directed=False, classes=classes)
    sparse = gl.bayes_optimal(data, degree=degree, population=400, sweeps=16)
    shift = sparse.test_loss - gl.bayes_optimal(data).test_loss
    assert shift[0] > 4 * sparse.standard_error.test_loss[0]
    assert shift[1] < -4 * sparse.standard_error.test_loss[1]


def test_a_degree_that_cannot_carry_the_signal_is_refused():
    with pytest.raises(gl.ParameterError, match="lam = 2 is not allowed at degree 3"):
        gl.bayes_optimal(gl.CSBM(alpha=4, lam=2.0, mu=1.0, rho=0.1), degree=3)


@pytest.mark.slow
def test_on_another_graph_the_free_entropy_counts_what_the_first_graph_taught():
    home, there = (gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=rho) for rho in (0.3, 0.1))
    dense = gl.bayes_optimal(home, to=there)
    found = gl.bayes_optimal(home, to=there, degree=60, population=800, sweeps=12)
    for mine, limit in ((found, dense), (found.two_stages, dense.two_stages)):
        assert mine.free_entropy == pytest.approx(limit.free_entropy, abs=0.015)


@pytest.mark.parametrize("classes", [2, 5, (0.3, 0.7), (0.2, 0.3, 0.5)])
def test_the_loss_of_a_linear_node_is_that_of_its_evidence(classes):
    """However strong the evidence: to rounding where it is quick, else to what a population can tell."""
    margin = np.linspace(0.0, 5.0, 7)
    loss = LinearNode(Classes.of(classes)).cross_entropy(margin**2)
    assert _losses(Classes.of(classes))(margin) == pytest.approx(loss, rel=1e-12, abs=2e-6)


def test_the_loss_of_a_linear_population_is_the_mean_over_its_nodes():
    model = SparseModel.of(gl.CSBM(3.0, 3.0, 1.5, 0.2, directed=False, classes=8), 12.0)
    one, same = (LinearPopulation(model, 400, True, np.random.default_rng(0)) for _ in range(2))
    loss = LinearNode(Classes.of(8)).cross_entropy(same.sweep()[0, :, 0])
    assert one.measure().loss == pytest.approx(loss.mean(), rel=1e-9)


@pytest.mark.parametrize("directed", [True, False])
def test_the_memory_asked_for_is_about_that_which_is_taken(directed, monkeypatch):
    """Refusals stand on it."""
    asked = []
    monkeypatch.setattr(finite_degree, "require", lambda what, size, remedy: asked.append(size))
    data = gl.CSBM(4, 0.5, 1.0, 0.1, classes=4, directed=directed)
    tracemalloc.start()
    gl.bayes_optimal(data, degree=4.0, population=3000, sweeps=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.6 * asked[0] < peak < 1.2 * asked[0]


def test_two_starts_differ_by_four_standard_errors_and_noticeably():
    """Each is a mean over populations, whose scatter is estimated from few of them."""
    spread = np.array([-1.5, -0.5, 0.5, 1.5]) * 0.01
    error = math.sqrt(2.0 * np.sum(spread**2) / 3 / 4)
    below = np.zeros((4, finite_degree._OVERLAP + 1))
    below[:, finite_degree._OVERLAP] = 0.3 + spread
    for far, differ in ((3.99, False), (4.01, True)):
        for side in (-1.0, 1.0):
            assert finite_degree._differ(below, below + side * far * error) == differ
    still = 0.0 * below
    for far, differ in ((0.99, False), (1.01, True)):
        assert finite_degree._differ(still, still + far * finite_degree._DIFFERENT) == differ


class Moving:
    """A population whose overlap, from its own place, rises by the same amount at every measurement."""

    rise, spread = 0.0, 0.0

    def __init__(self, model, size, informed, rng):
        self.rise = type(self).rise + type(self).spread * rng.choice([-1.0, 1.0])
        self.measured = 0

    def sweep(self):
        pass

    def measure(self):
        self.measured += 1
        return Draw(0.0, 0.0, 0.0, 0.0, self.rise * self.measured, 1.0)


def test_populations_that_still_move_are_told_from_noise(monkeypatch):
    """The second half of the measurements is compared with the first, in units of the scatter of the populations."""

    def drift(rise, spread):
        monkeypatch.setattr(Moving, "rise", rise)
        monkeypatch.setattr(Moving, "spread", spread)
        return finite_degree._run(
            Moving, (None,), 100, 16, np.random.SeedSequence(0), informed=True
        )

    start = drift(0.02, 0.0)
    assert start.drift == pytest.approx(0.08)  # four of eight measurements later
    assert start.means[:, finite_degree._OVERLAP] == pytest.approx(0.09)
    assert start.entropy == 1.0
    assert drift(0.002, 0.0).drift == 0.0  # not noticeable
    # signs of the populations as drawn from this seed
    signs = drift(0.0, 1.0).means[:, finite_degree._OVERLAP] / 4.5
    error = np.std(signs, ddof=1) / np.sqrt(signs.size)
    for far, moves in ((3.99, False), (4.01, True)):
        rise = (far * error - np.mean(signs)) * 0.1
        assert (drift(rise, 0.1).drift != 0.0) == moves


@pytest.mark.parametrize(
    "lam, fractions", [(1.5, 2), (-1.5, 2), (-0.7, (0.3, 0.7)), (1.5, (0.3, 0.7))]
)
def test_a_signal_that_would_need_a_negative_probability_is_refused(lam, fractions):
    """At degree d between two classes beyond its root, and within the smaller of two at lam < -sqrt(d) p/(1 - p)."""
    data = gl.CSBM(4, lam, 2.0, 0.1, directed=False, classes=fractions)
    with pytest.raises(gl.ParameterError, match="a probability of an edge would be negative"):
        SparseModel.of(data, 2.0)
    assert np.all(SparseModel.of(data.having(lam=0.85 * lam), 2.0).fractions > 0.0)
