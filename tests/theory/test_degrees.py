"""Heterogeneous degrees: laws, reference values, routes that meet, limits, refusals, and sampled graphs."""

import dataclasses
import math

import numpy as np
import pytest
from reference import DEGREES
from scipy.special import ndtr

import gcnlimit as gl
import gcnlimit.losses
from gcnlimit.degrees import Degrees, Gamma, LogNormal, Pareto
from gcnlimit.normalization import Normalization, Regularized, as_normalization
from gcnlimit.theory.decision import accuracy
from gcnlimit.theory.degrees import solve as degrees_solve
from gcnlimit.theory.degrees.ceiling import PropensityEvolution
from gcnlimit.theory.degrees.far import far_layers
from gcnlimit.theory.degrees.layers import LayerEquations, Wiring
from gcnlimit.theory.finite_reg import solution
from gcnlimit.theory.margins import Effort, answers_at
from gcnlimit.theory.points import Points
from gcnlimit.theory.propensity_spectrum import spectrum
from gcnlimit.theory.transfer import transfer

LAWS = {
    "two_values(.4,2,.3)": Degrees([0.4, 2.0], weight=[0.7, 0.3]),
    "two_values(.5,5,.1)": Degrees([0.5] * 9 + [5.0]),
    "pareto(2.5,10)": Pareto(2.5, 10),
    "pareto(2.5,20)": Pareto(2.5, 20),
    "gamma(2.0)": Gamma(0.5),
    "gamma(4.0)": Gamma(0.25),
    "lognormal(1.0)": LogNormal(1.0),
}
FILTERS = {"residual": gl.Residual, "diffusion": gl.Diffusion, "pagerank": gl.PageRank}
NORMALIZATIONS = {
    "none": "none",
    "symmetric": "symmetric",
    "random walk": "random-walk",
    "regularised(1.0)": Regularized(1.0),
    "regularised(1/lam^2)": Regularized(),
}


def problem(
    law,
    filter,
    normalization="symmetric",
    reg=math.inf,
    loss="square",
    *,
    symmetric=True,
    classes=2,
    **data,
):
    parameters = {"alpha": 4.0, "lam": 1.2, "mu": 2.0, "rho": 0.1} | data
    model = gl.CSBM(**parameters, directed=not symmetric, classes=classes, degrees=law)
    return model, gl.GCN(filter, loss, reg, symmetrize=False, normalization=normalization)


def points(law, *network, **data):
    """Margins without the last average; also of a law of one value, which a model does not keep."""
    model, gcn = problem(Degrees([1.0, 2.0]), *network, **data)
    return Points.unchecked(model, gcn)._replace(degrees=law).checked()


def solve(points):
    """Margins and losses of points that are solved together."""
    return answers_at(points, Effort(progress=False))[0]


def of_row(row):
    kind, parameter = row["filter"]
    return problem(
        LAWS[row["law"]],
        FILTERS[kind](parameter),
        NORMALIZATIONS[row.get("normalisation", "symmetric")],
        math.inf if row["reg"] == "inf" else row["reg"],
        row.get("loss", "square"),
        symmetric=row["operator"] == "symmetric",
        **{name: row[name] for name in ("alpha", "lam", "mu", "rho")},
    )


def name(row):
    return "-".join(
        str(row[key])
        for key in ("law", "normalisation", "filter", "loss", "reg", "lam")
        if key in row
    )


NARROW_AND_WIDE = [
    Gamma(1e-14),
    Gamma(1e-8),
    Gamma(0.01),
    Gamma(3.0),
    LogNormal(1e-8),
    LogNormal(0.1),
    Pareto(1.0, 50),
]


@pytest.mark.parametrize("law", [*LAWS.values(), *NARROW_AND_WIDE], ids=repr)
def test_quadratures_have_the_moments_of_their_laws(law):
    for power in (0.0, 0.5, 1.0, 2.0, 3.0):
        assert law.average(law.theta**power) == pytest.approx(law.moment(power), rel=1e-11)
    draws = law.draw(np.random.default_rng(0), 40_000)
    for power in (0.5, 1.0):
        error = np.std(draws**power) / 200
        assert abs(np.mean(draws**power) - law.moment(power)) < 4 * error


@pytest.mark.parametrize("row", DEGREES["laws"].items(), ids=str)
def test_laws_are_those_of_the_reference(row):
    law, expected = LAWS[row[0]], row[1]
    assert law.moment(2.0) - 1 == pytest.approx(expected["variance"], abs=2e-10)
    assert law.mean_root == pytest.approx(expected["mean_sqrt"], abs=1e-10)


ROWS = [
    DEGREES[part]
    for part in ("symmetric_normalisation", "normalisations", "directed", "finite_reg")
]
SLOW = ("diffusion", "pareto(2.5,10)", 1.0)  # seconds each, on a long chain with many propensities


def quick(row):
    return (
        row.get("normalisation", "symmetric") == "symmetric"
        or (row["filter"][0], row["law"], row["reg"]) != SLOW
    )


@pytest.mark.parametrize("row", [row for part in ROWS for row in part if quick(row)], ids=name)
def test_networks(row):
    found = gl.predict(*of_row(row))
    assert found.test_accuracy == pytest.approx(row["test_accuracy"], abs=1e-9)
    assert found.train_accuracy == pytest.approx(row["train_accuracy"], abs=1e-9)
    if by_theta := row.get("accuracy_by_theta"):
        theta, expected = np.transpose(by_theta)
        law = LAWS[row["law"]].theta
        nearest = law[np.argmin(np.abs(law[:, None] - theta), axis=0)]
        assert found.accuracy_by_degree(nearest) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("row", DEGREES["tuned"], ids=name)
def test_strengths_at_their_best(row):
    signals = {key: row[key] for key in ("alpha", "lam", "mu", "rho")}
    for normalization, best in row["normalisations"].items():
        data, gcn = problem(
            LAWS[row["law"]], gl.PageRank(0.1), NORMALIZATIONS[normalization], **signals
        )
        found = gl.tune(data, gcn, {"theta": (-1, 1)})
        assert found.prediction.test_accuracy == pytest.approx(best["test_accuracy"], abs=2e-7)
        assert found.parameters["theta"] == pytest.approx(best["strength"], abs=1e-3)


def test_normalizations_side_by_side():
    """Regularized is the best of them, and a law without the moments of a normalization leaves it out."""
    for law, left_out in (
        (LAWS["two_values(.5,5,.1)"], set()),
        (Gamma(1.0), {"PageRank, none", "PageRank, random walk"}),
    ):
        found = gl.compare(problem(law, gl.PageRank(0.1))[0], depth=1, reg=math.inf)
        assert found.best.method == "PageRank, regularized"
        names = {"PageRank, none", "PageRank, random walk", "PageRank, regularized"}
        assert names - set(found.methods) == left_out
        assert np.all(found.gap >= 0)


@pytest.mark.parametrize("row", DEGREES["ceiling"], ids=name)
def test_ceilings(row):
    law = LAWS[row["law"]]
    found = gl.bayes_optimal(
        gl.CSBM(row["alpha"], row["lam"], row["mu"], row["rho"], directed=False, degrees=law)
    )
    assert found.test_accuracy == pytest.approx(row["test_accuracy"], abs=1e-9)
    assert found.order_parameters.overlap == pytest.approx(row["q_features"], abs=1e-9)
    assert found.accuracy_by_degree(law.theta) @ law.weight == pytest.approx(
        row["test_accuracy"], abs=1e-9
    )
    assert not found.hard


def test_ceiling_at_finite_degree_approaches_that_of_large_degree():
    data = gl.CSBM(
        4.0, 1.0, 2.0, 0.1, directed=False, degrees=Degrees([0.4, 2.0], weight=[0.7, 0.3])
    )
    found = gl.bayes_optimal(data, degree=40, population=1500, sweeps=20)
    expected = gl.bayes_optimal(data)
    assert (
        abs(found.test_accuracy - expected.test_accuracy) < 4 * found.standard_error.test_accuracy
    )
    assert found.free_entropy == pytest.approx(expected.free_entropy, rel=0.1)


@pytest.mark.parametrize(
    "row", DEGREES["spectrum"], ids=lambda row: f"{row['law']}-{row['normalisation']}"
)
def test_spectra(row):
    law = LAWS[row["law"]]
    given = {"regularised(E theta^2)": Regularized(law.moment(2.0))} | NORMALIZATIONS
    found = spectrum(as_normalization(given[row["normalisation"]]), law, np.array([row["lam"]]))
    assert found.edge[0] == pytest.approx(row["edge"], abs=1e-9)
    assert found.outlier[0] == pytest.approx(row["outlier"], abs=1e-9)
    assert found.critical[0] == pytest.approx(
        row["critical_lam"], abs=5e-8
    )  # of a bisection, in the reference
    eigenvector = ndtr(found.margin[0] * np.sqrt(law.theta)) @ law.weight
    assert eigenvector == pytest.approx(row["eigenvector_accuracy"], abs=1e-9)


def test_the_regularized_transition_is_that_of_the_ceiling():
    """Edge and outlier meet at lam^2 E theta^2 = 1, where evidence begins to grow without labels."""
    for law in LAWS.values():
        critical = law.moment(2.0) ** -0.5
        assert spectrum(Regularized(critical**-2), law, np.array([2.0])).critical[
            0
        ] == pytest.approx(critical, rel=1e-6)
        data = gl.CSBM(
            4.0, critical * np.array([0.99, 1.01]), 0.0, 0.0, directed=False, degrees=law
        )
        assert PropensityEvolution.of(data, law).detectable().tolist() == [False, True]
        assert (data.snr > 1).tolist() == [False, True]


@pytest.mark.parametrize("reg", [math.inf, 0.3])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(
    "filter",
    [gl.PageRank(0.4), gl.Residual([1.0, 0.5]), gl.Residual([]), gl.Diffusion(0.5)],
    ids=repr,
)
def test_degrees_that_are_alike_are_the_homogeneous_theory(filter, symmetric, reg):
    data = gl.CSBM(4.0, 0.9, 2.0, 0.1, directed=not symmetric)
    expected = gl.predict(data, gl.GCN(filter, "logistic", reg, symmetrize=False))
    for normalization in ("symmetric", "none", "random-walk", Regularized()):
        found = solve(
            points(Gamma(0.0), filter, normalization, reg, "logistic", symmetric=symmetric, lam=0.9)
        )
        accuracies = ndtr([found.test_margin[0, 0], found.train_margin[0, 0]])
        assert accuracies == pytest.approx(
            [expected.test_accuracy, expected.train_accuracy], abs=1e-9
        )
        losses = [found.test_loss[0], found.train_loss[0]]
        assert losses == pytest.approx([expected.test_loss, expected.train_loss], rel=1e-8)


@pytest.mark.parametrize("classes, loss", [(2, "logistic"), (3, "square")])
@pytest.mark.parametrize("reg", [math.inf, 2.0])
@pytest.mark.parametrize("filter", [gl.PageRank(0.35), gl.Residual([1.0, 0.5])], ids=repr)
def test_the_short_and_the_long_route_meet(filter, reg, classes, loss):
    """A vanishing tau is the symmetric normalization, and takes the route of the others."""
    law = Pareto(2.0, 6)
    short, long = (
        solve(points(law, filter, normalization, reg, loss, classes=classes))
        for normalization in ("symmetric", Regularized(1e-13))
    )
    assert long.test_margin == pytest.approx(short.test_margin, rel=1e-8)
    assert long.train_margin == pytest.approx(short.train_margin, rel=1e-8)


@pytest.mark.parametrize("reg", [math.inf, 1.0])
def test_pagerank_as_one_layer_is_its_long_chain(reg):
    law, theta = Degrees([1.0, 4.0]), 0.3
    one = solve(points(law, gl.PageRank(theta), Regularized(), reg))
    chain = solve(points(law, gl.Polynomial(theta ** np.arange(40.0)), Regularized(), reg))
    assert chain.test_margin == pytest.approx(one.test_margin, rel=1e-6)


def test_points_together_are_points_alone():
    theta, law = [0.2, 0.3], Gamma(0.5)
    together = solve(points(law, gl.PageRank(theta), Regularized(), [0.1, 10.0], lam=[0.8, 1.4]))
    for i, (reg, lam) in enumerate([(0.1, 0.8), (10.0, 1.4)]):
        alone = solve(points(law, gl.PageRank(theta[i]), Regularized(), reg, lam=lam))
        assert together.test_margin[i] == pytest.approx(alone.test_margin[0], rel=1e-7)


@pytest.mark.parametrize("reg", [math.inf, 1.0])
@pytest.mark.parametrize("normalization", ["symmetric", "none", Regularized()])
def test_accuracy_at_propensities_that_are_asked_for(normalization, reg):
    law = Degrees([1.0, 2.0, 6.0])
    found = gl.predict(*problem(law, gl.PageRank([0.2, 0.1]), normalization, reg))
    asked = found.accuracy_by_degree([*law.theta, 3.0])
    assert asked[:, :3] @ law.weight == pytest.approx(found.test_accuracy, rel=1e-8)
    assert np.all(asked[:, 2] < asked[:, 3])  # a larger hub knows more


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_ceiling_without_heterogeneity_and_at_its_extremum(classes):
    data = gl.CSBM(4.0, [0.5, 1.0, 1.5], 1.0, [[0.0], [0.02]], directed=False, classes=classes)
    expected = gl.bayes_optimal(data)
    evolution = PropensityEvolution.of(data, Gamma(0.0))
    best, reached = evolution.fixed_points()[:2]
    for overlaps, ceiling in ((best, expected), (reached, expected.algorithmic)):
        found = accuracy(np.sqrt(evolution.at(overlaps, np.ones(1)))[:, 0], classes)
        assert found == pytest.approx(np.ravel(ceiling.test_accuracy), abs=1e-11)
    assert evolution.state(best).free_entropy == pytest.approx(
        np.ravel(expected.free_entropy), abs=1e-12
    )
    evolution = PropensityEvolution.of(data, Pareto(2.5, 10))
    best, step = evolution.fixed_points()[0], 1e-5
    for nudge in step * np.eye(2):
        rises = [evolution.state(best + sign * nudge).free_entropy for sign in (1, -1)]
        assert np.abs(rises[0] - rises[1]).max() < 1e-3 * step


@pytest.mark.parametrize("classes", [2, 5, [0.2, 0.8]], ids=str)
def test_the_slopes_of_the_ceiling_are_derivatives_and_decide_what_is_detected(classes):
    law = Gamma(0.5)
    data = gl.CSBM(4.0, [0.3, 0.7, 1.3], 0.8, [0.0, 0.2, 0.5], classes=classes, degrees=law)
    evolution = PropensityEvolution.of(data.replaced(degrees=None), law)
    x, h = np.array([[0.2, 0.3], [0.5, 0.4], [0.9, 0.8]]), 1e-5
    slope = evolution.next(x)[1]
    for k, step in enumerate(h * np.eye(2)):
        difference = (evolution.next(x + step)[0] - evolution.next(x - step)[0]) / (2.0 * h)
        np.testing.assert_allclose(slope[:, :, k], difference, rtol=1e-6)
    # without labels evidence grows from a little of it, or fades
    bare = dataclasses.replace(evolution, rho=np.zeros(3))
    grown = np.full((3, 2), 1e-9)
    for _ in range(30):
        grown = bare.next(grown)[0]
    np.testing.assert_array_equal(bare.detectable(), grown[:, 1] > 1e-9)


@pytest.mark.parametrize(
    "law, normalization, word",
    [
        (Gamma(0.5), "none", "hubs are unbounded"),
        (LogNormal(0.5), (0.25, 0.25), "hubs are unbounded"),
        (Gamma(1.0), "random-walk", "theta\\*\\*-1,"),
        (Gamma(0.5), (0.0, 1.0), "theta\\*\\*-2,"),
        (Gamma(0.1), (0.75, 0.75), "leaves"),
        (Degrees([0, 1, 3]), "random-walk", "theta\\*\\*-1,"),
    ],
)
def test_laws_without_an_answer_are_refused(law, normalization, word):
    with pytest.raises(gl.ParameterError, match=word):
        gl.predict(*problem(law, gl.Residual([1.0]), normalization))


def test_more_refusals():
    with pytest.raises(gl.ParameterError, match="diverges on a spectrum of radius"):
        gl.predict(*problem(Pareto(2.5, 10), gl.PageRank(0.4), "none"))
    with pytest.raises(gl.ParameterError, match="no theory for degrees"):
        gl.predict(*problem(Gamma(0.5), gl.PageRank(0.3), classes=[0.3, 0.7]))
    data, gcn = problem(Gamma(0.5), gl.PageRank(0.3))
    for refused in (
        lambda: gl.best_filter(data),
        lambda: gl.depth.order_functions(data, gcn),
        lambda: gl.depth.learning_rate(data),
        lambda: gl.theory.message_passing(data, layers=2),
        lambda: transfer(gl.CSBM(4, 1, 2, 0.1), gcn, data),
        lambda: gl.limits.no_residual_margin(data, 2),
    ):
        with pytest.raises(gl.ParameterError, match="no theory for degrees"):
            refused()
    with pytest.raises(gl.ParameterError, match="no theory for degrees"):
        gl.bayes_optimal(gl.CSBM(4, 1, 2, 0.1, classes=[0.3, 0.7], degrees=Gamma(0.5)))
    with pytest.raises(gl.ParameterError, match="law of degrees"):
        gl.predict(gl.CSBM(4, 1, 2, 0.1), gcn).accuracy_by_degree(2.0)
    with pytest.raises(gl.ParameterError, match="write None, Gamma"):
        gl.CSBM(4, 1, 2, 0.1, degrees=[1, 2])
    for wrong in (
        lambda: Degrees([0.0, 0.0]),
        lambda: Gamma(-1.0),
        lambda: Pareto(2.0, 1.0),
        lambda: Degrees([[1.0]]),
    ):
        with pytest.raises(gl.ParameterError):
            wrong()


def test_names_of_normalizations():
    assert as_normalization("none") == Normalization(0.0, 0.0)
    assert as_normalization((0.5, 0.5)).plain
    assert Regularized(0.0).plain
    assert not Regularized().plain
    left, right = Regularized().factors(np.array([0.2, 7.0]), np.array([0.0]))
    assert (left * right)[0] == pytest.approx([0.2, 7.0])  # without signal nothing is divided


@pytest.mark.parametrize("kind", [Gamma, LogNormal])
def test_a_variance_below_rounding_is_that_of_degrees_all_alike(kind):
    for variance in (5e-324, 1e-308, 1e-20):
        assert kind(variance) == kind(0.0)


CONTINUOUS = {
    "predict": lambda data: gl.predict(data, gl.GCN(gl.PageRank(0.2), reg=[1.0, np.inf])),
    "other operators": lambda data: gl.predict(
        data, gl.GCN(gl.Residual([1.0]), normalization="regularized", symmetrize=False)
    ),
    "ceiling": gl.bayes_optimal,
}


@pytest.mark.parametrize("answer", CONTINUOUS.values(), ids=CONTINUOUS)
@pytest.mark.parametrize("classes", [2, 3, 4, 5])
def test_margins_are_continuous_in_the_variance_of_the_degrees(answer, classes):
    """The margin is that of nodes all alike with the mean accuracy: the inverse of Phi_C, for any number of classes."""
    data = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1, "classes": classes}
    alike, varied = (
        answer(gl.CSBM(**data, degrees=law)).order_parameters for law in (None, Gamma(1e-8))
    )
    assert varied.test_margin == pytest.approx(alike.test_margin, rel=1e-6)
    assert varied.train_margin == pytest.approx(alike.train_margin, rel=1e-6)


@pytest.mark.parametrize("small", [1e-20, 1e-100, 1e-200, 1e-300])
def test_degrees_beyond_the_range_of_numbers_are_refused_at_once(small):
    """Their inverse enters a random walk, and rounding would decide; a constant added to the degrees bounds it."""
    data = gl.CSBM(4, 1.0, 2.0, 0.5, degrees=gl.Degrees([small, 1.0]))
    gcn = gl.GCN(gl.Residual([1.0, 1.0]), loss="hinge", reg=10.0, normalization="random-walk")
    with pytest.raises(
        gl.ParameterError, match=r"theta\*\*-1, which is .* take normalization='symmetric'"
    ):
        gl.predict(data, gcn)
    assert 0.5 < gl.predict(data, gcn.replaced(normalization="regularized")).test_accuracy < 1.0


def test_a_point_that_was_lost_is_tried_again_under_a_law_of_degrees(monkeypatch):
    """From further away, by the largest of its outputs: there is one for each propensity."""
    data = gl.CSBM(4, [0.8, 1.0], 2.0, 0.1, degrees=gl.Gamma(0.5))
    gcn = gl.GCN(gl.Residual([1.0]), loss="logistic", reg=0.1)
    usual = gl.predict(data, gcn).test_accuracy
    run = solution._Track.run
    ways = []

    def lose_the_first(track, *effort):
        ways.append(track)
        end = run(track, *effort)
        return end._replace(converged=np.array([True, False])) if len(ways) == 1 else end

    monkeypatch.setattr(solution._Track, "run", lose_the_first)
    assert gl.predict(data, gcn).test_accuracy == pytest.approx(usual, abs=1e-10)
    assert len(ways) == 2


def test_nodes_that_respond_alike_are_solved_as_one():
    """Under the symmetric normalization the propensities move means only; another that tends to it has one response each."""
    data = gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(0.5))
    points = Points.of(data, gl.GCN(gl.Diffusion(0.5), reg=1.0, symmetrize=False))
    equations = LayerEquations.of(points, data.degrees)
    alike = far_layers(equations)
    assert equations.nodes(alike).C.shape[1] == 1
    assert equations.nodes(alike).output.variance.shape == (1, data.degrees.theta.size)
    ones = np.ones((1, data.degrees.theta.size))
    each = dataclasses.replace(equations, left=ones, right=ones)
    for one, other in zip(equations.next(alike), each.next(far_layers(each)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_a_descent_is_given_up_after_a_bounded_amount_of_work(monkeypatch):
    monkeypatch.setattr(degrees_solve, "_WORK", 10**6)
    data = gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Gamma(0.5))
    gcn = gl.GCN(gl.Diffusion(0.5), reg=1.0, normalization="regularized")
    prediction = gl.predict(data, gcn, throw=False)
    assert prediction.status == gl.Status.NOT_CONVERGED
    assert prediction.iterations <= 20


def test_a_long_chain_of_layers_has_an_answer_between_its_neighbours():
    """Twenty-four layers of small weights: elimination called their response a singular matrix."""
    data = gl.CSBM(0.13, 0.073, 0.003, 0.002, directed=False, degrees=gl.LogNormal(0.3))
    gcn = gl.GCN(gl.Diffusion([-0.34, -0.33, -0.32]), normalization="regularized")
    chains = gl.predict(data, gcn)
    below, here, above = chains.test_accuracy
    assert np.all(chains.train_accuracy <= 1.0)
    assert below < here < above
    assert here == pytest.approx((below + above) / 2.0, abs=1e-6)
    assert gl.predict(
        data, gcn.replaced(filter=gl.Diffusion(-0.33))
    ).test_accuracy == pytest.approx(here, abs=1e-9)


def test_a_point_is_searched_for_in_the_same_way_alone_and_in_a_batch():
    data = gl.CSBM(4, 1.0, 2.0, 0.1, degrees=gl.Degrees([0.5, 1.5]))
    network = gl.GCN(gl.Residual([1.0]), "logistic", reg=1.0, normalization="regularized")
    batch = gl.predict(data, network.replaced(reg=np.array([1e-4, 1.0])))
    assert batch.iterations[1] == gl.predict(data, network).iterations


@pytest.mark.parametrize("directed", [True, False])
def test_degrees_that_are_alike_are_the_homogeneous_theory_of_any_features(directed):
    """At infinite regularization, of features whose variances are not 1 on average."""
    data = gl.CSBM(
        4.0, 0.9, 2.0, 0.1, directed=directed, features=gl.Spectrum([0.5, 3.0], [0.6, 1.4])
    )
    gcn = gl.GCN(gl.Diffusion(0.5), symmetrize=False)
    alike, nearly = (
        gl.predict(one, gcn).order_parameters for one in (data, data.replaced(degrees=Gamma(1e-12)))
    )
    assert nearly.test_margin == pytest.approx(alike.test_margin, rel=1e-6)
    assert nearly.train_margin == pytest.approx(alike.train_margin, rel=1e-6)


@pytest.mark.parametrize("filter", [gl.PageRank(0.3), gl.Residual([1.0, 0.5]), gl.Diffusion(0.7)])
def test_layers_are_counted_as_they_are_solved_for(filter):
    """The count decides how many points are solved at once."""
    data, gcn = problem(Gamma(0.5), filter, reg=1.0)
    at = Points.of(data, gcn)
    count = LayerEquations.of(at, at.degrees).shape[-1]
    assert Wiring.layers(at).tolist() == [count]


def test_a_corner_at_zero_has_the_solution_of_degrees_that_are_alike():
    """The equations of all normalizations against those of one law of the nodes."""
    bent = gcnlimit.losses.FromValue(lambda z: 0.5 * (1.0 - z) ** 2 + np.maximum(0.0, -z), (0.0,))
    gcn = gl.GCN(gl.PageRank(0.2), bent, [0.3, 30.0], symmetrize=False)
    data = gl.CSBM(4.0, 1.0, 2.0, 0.3)
    hardly = data.replaced(degrees=gl.Degrees([1.0, 1.0 + 1e-9]))
    alike, varied = gl.predict(data, gcn), gl.predict(hardly, gcn.replaced(normalization="none"))
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        np.testing.assert_allclose(getattr(varied, name), getattr(alike, name), rtol=1e-7)


def test_a_point_that_long_strides_lose_is_found_on_short_ones():
    """Strides of a factor of 2 lost it, or not, by its last digit."""
    law = gl.Degrees([0.46308723, 0.84311499, 1.30995538, 1.3838424])
    filter = gl.Polynomial(
        [-1.04377946, 0.48345408, 0.33251294, -0.12794699, 0.3950488, -0.30302778]
    )
    gcn = gl.GCN(filter, "logistic", 2818.3375333107447, normalization=gl.Regularized())
    signals = -13.1654922126881, 0.09403530331170391, 0.0016708775392962885
    data = gl.CSBM(16.736966412535125 * (1.0 + 1e-12), *signals, directed=False, degrees=law)
    assert gl.predict(data, gcn).iterations < 900


@pytest.mark.parametrize(
    "law", [gl.Degrees([0.5, 1.5]), pytest.param(gl.Gamma(0.5), marks=pytest.mark.slow)]
)
def test_a_small_regularization_is_reached_on_strides_that_grow(law):
    """Strides of one length, each from the solution before it, took 900 iterations."""
    gcn = gl.GCN(
        gl.Residual([1.0, 0.5]), "logistic", [1e-12, 1e-11, 1e-10], normalization="regularized"
    )
    prediction = gl.predict(gl.CSBM(4.0, 1.5, 2.0, 0.5, degrees=law), gcn)
    assert prediction.iterations.max() < 500
    first, second = np.diff(prediction.test_accuracy)
    assert 0.0 < first < second < 1.3 * first


def test_a_search_that_is_given_up_says_that_more_of_it_would_not_help(monkeypatch):
    data = gl.CSBM(4.0, 1.0, 2.0, 0.5, degrees=gl.Degrees([1e-2, 1.0]))
    gcn = gl.GCN(gl.Residual([1.0, 1.0]), reg=1.0, normalization="random-walk")
    with pytest.raises(gl.ConvergenceError, match="allow more iterations or a larger tol"):
        gl.predict(data, gcn, max_iterations=5)
    monkeypatch.setattr(degrees_solve, "_WORK", 1000)
    with pytest.raises(gl.ConvergenceError, match="iterations would not help; take a larger tol"):
        gl.predict(data, gcn)


def test_layers_have_one_size_whatever_the_hubs():
    """A chain of the sizes of a bulk without hubs had moments of 1e24, whose rounding was 1e-8 of the map."""
    data = gl.CSBM(4.0, 1.0, 2.0, 0.1, degrees=Pareto(3, 50))
    points = Points.of(data, gl.GCN(gl.Diffusion(1.0), "hinge", 0.1, normalization="none"))
    equations = degrees_solve.balanced(LayerEquations.of(points, points.degrees))
    far = far_layers(equations)
    spread = np.einsum("ptkk->pk", equations.nodes(far).C)
    assert spread.max() < 1e3 * spread.min()


def test_a_random_walk_of_nodes_of_hardly_any_edges_is_solved():
    """It was given up; its neighbours lead to it."""
    gcn = gl.GCN(gl.Residual([1.0, 1.0]), reg=1.0, normalization="random-walk")
    near, here = (
        gl.predict(gl.CSBM(4.0, 1.0, 2.0, 0.5, degrees=gl.Degrees([small, 1.0])), gcn).test_accuracy
        for small in (3e-4, 1e-4)
    )
    assert 0.5 < here < near < 0.6


@pytest.mark.parametrize("loss", [pytest.param("logistic", marks=pytest.mark.slow), "hinge"])
def test_a_random_walk_is_solved_where_the_mean_of_the_squared_inverse_is_infinite(loss):
    """Outputs of the rarest nodes have deviations of 1e5, and no part in the answer."""
    law = gl.Gamma(0.6)
    assert law.moment(-2.0) == np.inf
    usual = law.theta > 1e-5
    gcn = gl.GCN(gl.Residual([0.8]), loss, 0.3, normalization="random-walk")
    data = gl.CSBM(1.5, 1.0, 1.0, 0.3, degrees=law)
    p = gl.predict(data, gcn)
    cut = gl.predict(data.replaced(degrees=gl.Degrees(law.theta[usual], law.weight[usual])), gcn)
    assert p.test_accuracy == pytest.approx(cut.test_accuracy, abs=1e-6)
    assert p.test_loss == pytest.approx(cut.test_loss, rel=1e-5)


OWN = pytest.param(lambda z: np.logaddexp(0, -2 * z), id="own", marks=pytest.mark.slow)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge", OWN])
@pytest.mark.parametrize("normalization", ["symmetric", "none", "random-walk", "regularized"])
def test_ordinary_points_are_solved_alike_alone_and_together(normalization, loss):
    """Random ones under each law, in a stated number of steps; or refused with a sentence."""
    rng = np.random.default_rng(len(normalization))
    bounded, any_degree = [Pareto(2.5, 20), Degrees([0.3, 1, 3])], [Gamma(0.3), LogNormal(0.5)]
    # hubs without bounds are refused without a normalization
    second = bounded if normalization == "none" else any_degree
    for law in (rng.choice(bounded), rng.choice(second)):
        lam, reg = rng.uniform(-1.5, 1.5, 2), np.exp(rng.uniform(-2.0, 2.0, 2))
        gcn = gl.GCN(gl.Residual([rng.uniform(0.0, 2.0)]), loss, reg, normalization=normalization)
        data = gl.CSBM(rng.uniform(1.0, 6.0), lam, rng.uniform(0.3, 3.0), 0.3, degrees=law)
        together = gl.predict(data, gcn)
        assert np.all(together.iterations < 400)
        alone = gl.predict(data.replaced(lam=lam[1]), gcn.replaced(reg=reg[1]))
        assert alone.test_accuracy == pytest.approx(together.test_accuracy[1], abs=1e-8)
        assert alone.train_loss == pytest.approx(together.train_loss[1], rel=1e-6)
