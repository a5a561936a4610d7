"""Networks whose training stops: reference values, limits in time, and sampled graphs."""

import json
import math
import re

import numpy as np
import pytest
from problems import random_data
from reference import FILTERS, ROOT

import gcnlimit as gl
from gcnlimit.theory.finite_reg.path import SymmetricRidge
from gcnlimit.theory.points import Points
from gcnlimit.theory.training import _Spectra

ROWS = json.loads((ROOT / "validation" / "training.json").read_text())["rows"]
DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)


def problem(row, **others):
    filter = {k: v for k, v in row["filter"].items() if k != "kind"}
    directed = row["symmetrize"] or row.get("directed", False)
    network = gl.GCN(
        FILTERS[row["filter"]["kind"]](**filter),
        reg=row["reg"],
        symmetrize=row["symmetrize"],
        **others,
    )
    return gl.CSBM(**row["data"], directed=directed), network


def training(row):
    asked = row["training"]
    if asked["kind"] == "flow":
        return gl.GradientFlow(math.inf if asked["t"] == "inf" else asked["t"])
    return gl.GradientDescent(asked["steps"], asked["eta"], asked.get("beta", 0.0))


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if "training" in row],
    ids=lambda row: f"{row['filter']['kind']}-{row['training']}",
)
def test_reference_values(row):
    data, gcn = problem(row, training=training(row))
    p = gl.predict(data, gcn)
    output = p.order_parameters.output
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        assert getattr(p, name) == pytest.approx(row[name], abs=1e-9)
    assert output.mean == pytest.approx(row["mean"], rel=1e-9)
    assert output.variance == pytest.approx(row["variance"], rel=1e-9)
    features_only = gl.CSBM(row["data"]["alpha"], 0.0, row["data"]["mu"], 0.1)
    there = gl.transfer(data, gcn, features_only).order_parameters.feature_margin
    assert there == pytest.approx(row["feature_margin"], abs=1e-9)


FILTER = {
    "diffusion": gl.Diffusion(0.7),
    "residual": gl.Residual([0.4, -1.2]),
    "polynomial": gl.Polynomial([0.3, 1.0, -0.4, 0.2]),
}


@pytest.mark.parametrize("filter", FILTER.values(), ids=FILTER)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_end_of_a_training_is_the_ridge_regression(filter, classes, normalize):
    data = gl.CSBM(
        [0.3, 2.0, 7.0], [1.3, -0.4, 0.9], [0.5, 3.0, 0.0], [0.7, 0.2, 0.4], classes=classes
    )
    ridge = gl.GCN(filter, reg=[0.3, 5.0, 0.05], normalize=normalize)
    end, flow = (
        gl.predict(data, ridge),
        gl.predict(data, ridge.replaced(training=gl.GradientFlow(math.inf))),
    )
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        np.testing.assert_allclose(getattr(flow, name), getattr(end, name), atol=1e-8)
    np.testing.assert_allclose(
        flow.order_parameters.weights.Q, end.order_parameters.weights.Q, rtol=1e-7
    )


@pytest.mark.parametrize("symmetrize", [False, True])
def test_a_normalized_filter_has_its_time_and_regularization_in_another_unit(symmetrize):
    data = gl.CSBM([0.5, 2.0, 5.0], [0.3, -1.4, 1.1], [1.0, 0.3, 2.0], [0.5, 0.3, 0.1])
    filter = gl.PageRank([-0.3, 0.2, 0.4])
    unit = np.exp(2.0 * filter.log_gain(symmetrize))
    divided = gl.GCN(
        filter,
        reg=0.3,
        symmetrize=symmetrize,
        normalize=True,
        training=gl.GradientFlow(2.0),
    )
    plain = divided.replaced(reg=0.3 * unit, normalize=False, training=gl.GradientFlow(2.0 / unit))
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        np.testing.assert_allclose(
            *(getattr(gl.predict(data, gcn), name) for gcn in (divided, plain)), rtol=1e-9
        )


def test_pagerank_on_a_directed_graph_ends_in_its_ridge_regression():
    data = gl.CSBM([0.5, 2.0, 5.0], [0.3, -1.4, 1.1], [1.0, 0.3, 2.0], [0.5, 0.3, 0.1])
    ridge = gl.GCN(gl.PageRank([-0.5, 0.0, 0.6]), reg=[0.1, 1.0, 4.0], symmetrize=False)
    end, flow = (
        gl.predict(data, ridge),
        gl.predict(data, ridge.replaced(training=gl.GradientFlow(math.inf))),
    )
    np.testing.assert_allclose(flow.test_accuracy, end.test_accuracy, atol=1e-8)
    np.testing.assert_allclose(flow.train_loss, end.train_loss, atol=1e-8)


def test_pagerank_on_directed_graphs_of_any_kind_is_resolved_at_every_time():
    data = random_data(60, seed=8)
    theta = np.random.default_rng(8).uniform(-0.95, 0.95, 60) / np.maximum(np.abs(data.lam), 1.0)
    times = np.array([1e-6, 0.1, 1e3])[:, None]
    directed = gl.GCN(gl.PageRank(theta), symmetrize=False)
    p = gl.predict(data, directed.replaced(reg=0.0, training=gl.GradientFlow(times)))
    strong = gl.predict(data, directed)
    np.testing.assert_allclose(p.test_accuracy[0], strong.test_accuracy, atol=1e-4)
    assert np.all(np.diff(p.train_loss, axis=0) < 0.0)


@pytest.mark.parametrize(
    "start", [gl.GradientFlow(1e-7), gl.GradientDescent(1, 0.37), gl.GradientDescent(1, 0.2, 0.9)]
)
def test_the_first_step_is_the_network_at_infinite_regularization(start):
    filter = gl.PageRank(0.4)
    first = gl.predict(DATA, gl.GCN(filter, training=start))
    strong = gl.predict(DATA, gl.GCN(filter))
    assert first.test_accuracy == pytest.approx(strong.test_accuracy, abs=1e-7)
    assert first.order_parameters.test_margin == pytest.approx(
        strong.order_parameters.test_margin, abs=1e-6
    )


def test_many_small_steps_are_the_flow():
    time = np.array([0.1, 1.0, 10.0])
    flow = gl.predict(DATA, gl.GCN(gl.Diffusion(1.0), reg=0.1, training=gl.GradientFlow(time)))
    errors = []
    for steps in (200, 400):
        descent = gl.GradientDescent(steps, time / steps)
        p = gl.predict(DATA, gl.GCN(gl.Diffusion(1.0), reg=0.1, training=descent))
        errors.append(np.abs(p.test_accuracy - flow.test_accuracy))
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, rtol=0.1)  # the error falls as the step


@pytest.mark.parametrize(
    "training",
    [
        gl.GradientFlow(np.geomspace(1e-3, 1e3, 7)),
        gl.GradientDescent([1, 30, 150, 1000, 4000], rate=0.1, momentum=0.99),
    ],
)
def test_times_share_contours_and_agree_with_each_alone(training):
    """Those of a large momentum share two."""
    together = gl.predict(DATA, gl.GCN(gl.Diffusion(1.0), training=training)).test_accuracy
    name = training.names[0]
    ways = [training.replaced(**{name: time}) for time in getattr(training, name)]
    networks = [gl.GCN(gl.Diffusion(1.0), training=way) for way in ways]
    alone = [gl.predict(DATA, network).test_accuracy for network in networks]
    np.testing.assert_allclose(together, alone, atol=1e-11)


def test_weight_decay_and_epochs_are_those_of_the_mean_loss():
    """Plain descent on the mean loss over labelled nodes, written out on a sampled graph."""
    rate, decay, epochs = 0.05, 0.02, 40
    rho, nodes = 0.2, 400
    data = gl.CSBM(alpha=2, lam=1.0, mu=2.0, rho=rho)
    instance = gl.sample(data, nodes=nodes, degree=30, seed=3)
    descent = gl.GradientDescent.from_epochs(
        epochs, rate, rho=instance.train_mask.mean(), momentum=0.5
    )
    gcn = gl.GCN(gl.Residual([1.0]), reg=instance.train_mask.mean() * decay, training=descent)
    fitted = gl.fit(instance, gcn)
    operator = instance.observation.operator(True, "cpu", gcn.normalization)
    Z = operator @ instance.features + instance.features
    R = instance.train_mask
    theta = before = np.zeros(Z.shape[1])
    for _ in range(epochs):
        gradient = -Z[R].T @ (instance.labels[R] - Z[R] @ theta) / R.sum() + decay * theta
        theta, before = theta - rate * gradient + 0.5 * (theta - before), theta
    np.testing.assert_allclose(fitted.outputs.ravel(), Z @ theta, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "training",
    [
        gl.GradientFlow([0.01, 0.3, 10.0, 1000.0]),
        gl.GradientDescent([1, 4, 200], 0.05),
        gl.GradientDescent([3, 30], 0.05, 0.8),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_sampled_graphs_agree_at_every_time(training, classes):
    data = gl.CSBM(alpha=2, lam=0.8, mu=2.0, rho=0.3, classes=classes)
    gcn = gl.GCN(gl.Residual([1.0, 0.5]), reg=0.05, training=training)
    theory, measured = (
        gl.predict(data, gcn),
        gl.simulate(data, gcn, nodes=2500, degree=50, trials=6, seed=4),
    )
    for name in ("test_accuracy", "test_loss", "train_loss"):
        apart = np.abs(getattr(measured, name) - getattr(theory, name))
        assert np.all(
            apart <= 4.0 * getattr(measured.standard_error, name) + 2e-3
        )  # and of the order 1/N


@pytest.mark.slow
def test_the_swing_of_a_large_momentum_is_that_of_each_graph_at_other_steps():
    """Its mean over graphs is blurred, since phases scatter; the lowest and the highest accuracy of each graph are not."""
    data = gl.CSBM(alpha=2, lam=0.8, mu=2.0, rho=0.3)
    descent = gl.GradientDescent(np.arange(296, 313), 0.03, 0.99)
    gcn = gl.GCN(gl.Residual([1.0, 0.5]), reg=0.05, training=descent)
    graphs = (gl.sample(data, nodes=2000, degree=60, seed=seed) for seed in range(8))
    curves = np.array([gl.fit(graph, gcn).performance.test_accuracy for graph in graphs])
    theory = gl.predict(data, gcn).test_accuracy
    for end in (np.min, np.max):
        each = end(curves, axis=1)
        assert abs(each.mean() - end(theory)) < 4.0 * each.std(ddof=1) / len(each) ** 0.5
    assert np.ptp(curves.mean(axis=0)) < 0.8 * np.ptp(theory)


def test_descents_of_any_momentum_end_in_the_ridge_regression():
    data, momentum = random_data(12, seed=12), np.array([0.0, 0.5, 0.9, 0.99])[:, None]
    ridge = gl.GCN(gl.Diffusion(0.8), reg=0.2, normalize=True)
    descent = gl.GradientDescent(10**9, 0.005, momentum)
    end, trained = (gl.predict(data, ridge.replaced(training=way)) for way in (None, descent))
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        expected = np.broadcast_to(getattr(end, name), (4, 12))
        np.testing.assert_allclose(getattr(trained, name), expected, atol=1e-9)


def test_momentum_is_its_recursion():
    x, rate, momentum, steps = np.linspace(0.01, 4.0, 30) + 0.01j, 0.6, 0.9, 12
    before, part = np.ones_like(x), 1.0 - rate * x
    for _ in range(steps - 1):
        before, part = part, (1.0 + momentum - rate * x) * part - momentum * before
    learned = gl.GradientDescent(steps, rate, momentum).learned(x)
    np.testing.assert_allclose(learned, (1.0 - part) / x, rtol=1e-11)


def test_steps_just_below_the_largest_stable_one_do_not_diverge():
    """What is learned last has small eigenvalues, on which steps of any size are as good as the flow of the same time."""
    data, filter = gl.CSBM(3.91, -0.01, 2.211, 0.476), gl.Diffusion(-1.58)
    flow = gl.GCN(filter, normalize=True, training=gl.GradientFlow(1.0))
    ridge = SymmetricRidge(Points.of(data, flow), 255)
    rate = 1.99 / float(ridge.ends()[1][0] * ridge.unit[0])
    steps = np.array([300, 1000, 3000])
    stepped = gl.predict(data, flow.replaced(training=gl.GradientDescent(steps, rate)))
    flowed = gl.predict(data, flow.replaced(training=gl.GradientFlow(steps * rate)))
    np.testing.assert_allclose(stepped.test_loss, flowed.test_loss, rtol=1e-3)


def test_stable_steps_beside_a_strong_outlier_are_those_of_any_contour():
    """Steps at 96 % of the largest stable size: with more steps on the contour, and with a momentum that is nearly none."""
    data, filter = gl.CSBM(0.7372, 1.7066, 2.6091, 0.4114), gl.Diffusion(0.7)
    descents = [
        gl.GradientDescent(100, 0.02),
        gl.GradientDescent([100, 1000], 0.02),
        gl.GradientDescent(100, 0.02, 1e-13),
    ]
    losses = [
        np.ravel(gl.predict(data, gl.GCN(filter, reg=0.1, training=descent)).train_loss)[0]
        for descent in descents
    ]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-9)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_descent_diverges_above_the_largest_stable_rate_and_says_so(momentum):
    gcn = gl.GCN(gl.Diffusion(0.7), reg=0.1, training=gl.GradientDescent(1000, 5.0, momentum))
    with pytest.raises(gl.ConvergenceError, match="rate = 5, whose largest stable value") as error:
        gl.predict(DATA, gcn)
    stable = float(re.search(r"value is ([0-9.]+)", str(error.value))[1])
    near = gl.GradientDescent(4000, stable * np.array([0.98, 1.02]), momentum)
    p = gl.predict(DATA, gcn.replaced(training=near), throw=False)
    assert p.status.tolist() == [gl.Status.EXPLICIT, gl.Status.DIVERGED]
    end = gl.predict(DATA, gcn.replaced(training=None))
    assert p.test_accuracy[0] == pytest.approx(end.test_accuracy, abs=1e-9)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_times_whose_squared_outputs_underflow_are_out_of_range(symmetrize):
    """A little later they are those of the first step."""
    network = gl.GCN(gl.PageRank(0.3), symmetrize=symmetrize)
    descent = gl.GradientDescent(1, [1e-140, 1e-170])
    cases = (
        (network, network.replaced(reg=0.0, training=gl.GradientFlow([1e-140, 1e-170]))),
        (network, network.replaced(reg=0.0, training=descent)),
    )
    for same, gcn in cases:
        p = gl.predict(DATA, gcn, throw=False)
        assert p.status.tolist() == [gl.Status.EXPLICIT, gl.Status.OUT_OF_RANGE]
        assert p.test_accuracy[0] == pytest.approx(gl.predict(DATA, same).test_accuracy, abs=1e-8)
        assert np.isnan([p.test_accuracy[1], p.calibration.slope[1]]).all()


@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("momentum", [None, 0.0, 0.9])
def test_regularizations_of_any_size_leave_digits(symmetrize, momentum):
    """Far above the spectrum all eigenvalues are learned alike: outputs are those of the ridge regression, times a number."""
    reg = 10.0 ** np.arange(7.0, 20.0, 3.0)
    ridge = gl.GCN(gl.PageRank(0.3), reg=reg, symmetrize=symmetrize)
    half, full = gl.GradientFlow(0.5 / reg), gl.GradientFlow(50.0 / reg)
    if momentum is not None:
        half, full = (gl.GradientDescent(n, 0.2 / reg, momentum) for n in (2, 1000))
    end, learned, some = (
        gl.predict(DATA, ridge.replaced(training=way)) for way in (None, full, half)
    )
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        np.testing.assert_allclose(getattr(learned, name), getattr(end, name), rtol=1e-9)
    np.testing.assert_allclose(some.test_accuracy, end.test_accuracy, rtol=1e-6)
    ends, outputs = (p.order_parameters.output.mean for p in (end, some))
    np.testing.assert_allclose(outputs / ends, (outputs / ends)[-1], rtol=1e-6)
    assert 0.1 < (outputs / ends)[-1] < 0.9


def test_a_spectrum_down_to_zero_is_resolved_at_all_finite_times():
    """Where features and labels are as many: two contours meet, with and nearly without momentum, and no time is the last."""
    data = gl.CSBM(alpha=2, lam=0.8, mu=1.5, rho=0.5)
    gcn = gl.GCN(gl.Diffusion(1.0), normalize=True)
    flow = gcn.replaced(reg=0.0, training=gl.GradientFlow([1.0, 1e3, 1e5, math.inf]))
    p = gl.predict(data, flow, throw=False)
    assert list(p.status) == [0, 0, 0, gl.Status.UNRESOLVED]
    assert np.all(np.diff(p.train_loss[:3]) < 0)
    drop, ellipse = (
        gl.predict(
            data, flow.replaced(training=gl.GradientDescent([3, 300, 20_000], 0.05, momentum))
        )
        for momentum in (0.0, 1e-13)
    )
    for name in ("test_accuracy", "test_loss", "train_loss"):
        np.testing.assert_allclose(getattr(drop, name), getattr(ellipse, name), rtol=1e-9)


@pytest.mark.parametrize("momentum", [0.5, 0.9])
def test_a_contour_of_momentum_is_as_wide_as_the_growth_on_it_allows(momentum):
    """Its nodes are in inverse proportion to its width: a dozen for one step, some hundreds for a thousand."""
    network = gl.GCN(
        gl.Diffusion(1.0), reg=0.1, training=gl.GradientDescent(20, 0.1, momentum=momentum)
    )
    points = Points.of(gl.CSBM(4, [0.5, 1.0], 2.0, [0.1, 0.5]), network)
    spectra = _Spectra.of(points, points.training)
    for steps, most in ((1.0, 20), (20.0, 60), (1000.0, 500)):
        (_, _, width), nodes = spectra.ellipses(np.full(2, steps))
        assert np.all(nodes < most)
        assert np.all(spectra.growth(width) * steps < np.log(100.0))


def test_a_training_that_cannot_be_sampled_is_refused_as_it_was_given():
    gcn = gl.GCN(gl.Diffusion(1.0), "logistic", training=gl.GradientFlow(1.0))
    with pytest.raises(gl.ParameterError, match=r"training = GradientFlow\(time=1\.0\) and loss"):
        gl.simulate(DATA, gcn, nodes=100, degree=10, trials=1)


def test_other_values_of_a_training_are_checked_as_the_first_were():
    descent = gl.GradientDescent(10, 0.1)
    assert descent.replaced(steps=20) == gl.GradientDescent(20, 0.1)
    with pytest.raises(gl.ParameterError, match="momentum = 2 never comes to rest"):
        descent.replaced(momentum=2.0)


@pytest.mark.parametrize(
    ("filter", "extreme"),
    [
        (gl.Polynomial([-2.0]), {"rho": 1e-27, "reg": 1e-32}),
        (gl.Polynomial([0.8]), {"alpha": 1e42, "reg": 1e-9}),
        (gl.Residual([0.1, 0.2, -0.2, 0.0]), {"lam": -1e45, "rho": 1e-48}),
    ],
)
def test_a_descent_out_of_range_has_a_status_and_warns_of_nothing(filter, extreme, recwarn):
    given = {"alpha": 3.0, "lam": -2.0, "mu": 0.4, "rho": 0.1, "reg": 1.0} | extreme
    gcn = gl.GCN(filter, reg=given.pop("reg"), training=gl.GradientDescent(900, 0.06))
    data = gl.CSBM(**given, directed=False)
    assert gl.predict(data, gcn, throw=False).status > gl.Status.CONVERGED
    with pytest.raises(
        gl.ConvergenceError, match=r"there is no solution at reg = [^ ]*: the filter"
    ):
        gl.predict(data, gcn)
    assert not recwarn.list
