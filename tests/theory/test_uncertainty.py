"""Predictions from an estimated model carry its standard errors on."""

import dataclasses

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.real import EstimatedCSBM

NETWORK = gl.GCN(gl.Diffusion(1.0), reg=[0.1, 1.0, np.inf])
POINT = {"alpha": 2.0, "lam": 1.2, "mu": 2.0, "rho": 0.1}
ANSWERS = {"predict": lambda data: gl.predict(data, NETWORK), "ceiling": gl.bayes_optimal}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_small_errors_propagate_by_the_derivatives(answer, classes):
    errors = {"lam": 1e-3, "mu": 3e-3}
    found = answer(
        EstimatedCSBM(**POINT, classes=classes, lam_error=errors["lam"], mu_error=errors["mu"])
    )
    squares = 0.0
    for name, error in errors.items():
        h = 1e-4
        up, down = (
            answer(gl.CSBM(**(POINT | {name: POINT[name] + s * h}), classes=classes))
            for s in (1, -1)
        )
        squares += (error * (up.test_accuracy - down.test_accuracy) / (2 * h)) ** 2
    assert found.test_accuracy == pytest.approx(
        answer(gl.CSBM(**POINT, classes=classes)).test_accuracy, rel=1e-12
    )
    assert found.standard_error.test_accuracy == pytest.approx(np.sqrt(squares), rel=1e-2)


@pytest.mark.parametrize(
    "answer", [gl.bayes_optimal, lambda data: gl.predict(data, gl.GCN(gl.Diffusion(1.0)))]
)
@pytest.mark.parametrize(
    "signals",
    [(3.1, 9.2, 18.8, 31.6), (0.0, 0.5, 2.0, 0.5), (-6.4, 4.8, 0.0, 7.9), (1.5, 0.3, 1.7, 1.1)],
)
def test_twice_the_error_reaches_all_models_within_two_errors(answer, signals):
    """Also those where both signals are lost; 3.1 +- 9.2 is from three labels. Sixteen directions see a slope to 2 per cent."""
    lam, lam_error, mu, mu_error = signals
    found = answer(EstimatedCSBM(2.0, lam, mu, 0.01, lam_error=lam_error, mu_error=mu_error))
    z = np.random.default_rng(0).standard_normal((2, 300))
    z *= 2.0 / np.maximum(np.linalg.norm(z, axis=0), 2.0)
    there = answer(
        gl.CSBM(2.0, lam + lam_error * z[0], np.maximum(mu + mu_error * z[1], 0.0), 0.01)
    )
    reach = np.abs(there.test_accuracy - found.test_accuracy)
    assert np.max(reach) <= 2.0 * found.standard_error.test_accuracy / np.cos(np.pi / 16)
    assert np.max(reach) > found.standard_error.test_accuracy


def test_an_unknown_error_or_an_undefined_filter_gives_an_infinite_one():
    strong = gl.GCN(gl.PageRank(0.9 / (1.7 + 1 / 1.7)))  # defined at lam = 1.2, not at 1.8
    for data in (
        EstimatedCSBM(**POINT, lam_error=np.inf, mu_error=0.1),
        EstimatedCSBM(**POINT, lam_error=0.6, mu_error=0.0),
    ):
        assert gl.predict(data, strong).standard_error.test_accuracy == np.inf


ELSEWHERE = {"alpha": 2.0, "lam": -0.9, "mu": 2.0, "rho": 0.0}
ONE = gl.GCN(gl.Diffusion(1.0), reg=1.0)
DOORS = {
    "predict": lambda data: gl.predict(data, ONE),
    "ceiling": gl.bayes_optimal,
    "joining": lambda data: gl.transfer(data, ONE, "joining"),
    "transfer": lambda data: gl.transfer(data, ONE, gl.CSBM(**ELSEWHERE, classes=data.classes)),
    "ceiling elsewhere": lambda data: gl.bayes_optimal(
        data, to=gl.CSBM(**ELSEWHERE, classes=data.classes)
    ),
}


def counted(fractions, labelled, **errors):
    """Estimate whose class fractions come from so many labelled nodes."""
    counts = np.rint(labelled * np.array(fractions)).astype(int)
    return EstimatedCSBM(
        **POINT, **({"lam_error": 0.0, "mu_error": 0.0} | errors), classes=fractions, counts=counts
    )


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fractions", [(0.3, 0.7), (0.5, 0.3, 0.2)])
def test_many_labels_propagate_the_error_of_the_fractions_by_their_covariance(door, fractions):
    """Other route: the gradient in the fractions, and the covariance of multinomial counts."""
    if door == "ceiling elsewhere" and len(fractions) > 2:
        pytest.skip("there is no such theory")
    answer, p, labelled, h = DOORS[door], np.array(fractions), 1e5, 1e-4
    steps = h * (np.eye(p.size) - np.eye(p.size)[-1])[:-1]  # from the last class to another
    ends = [
        [answer(gl.CSBM(**POINT, classes=p + sign * step)).test_accuracy for sign in (1, -1)]
        for step in steps
    ]
    slope = np.array([(up - down) / (2 * h) for up, down in ends])
    covariance = ((np.diag(p) - np.outer(p, p)) / labelled)[:-1, :-1]
    found = answer(counted(fractions, labelled)).standard_error.test_accuracy
    assert found == pytest.approx(np.sqrt(slope @ covariance @ slope), rel=0.01)


@pytest.mark.parametrize("door", DOORS)
def test_few_labels_of_unequal_classes_widen_every_interval(door):
    """The error is that of the signals without counts; that of the fractions falls as the root of the labels."""
    answer, errors = DOORS[door], {"lam_error": 0.05, "mu_error": 0.1}
    classes = (0.3, 0.7)
    few, many = (
        answer(counted(classes, n, **errors)).standard_error.test_accuracy for n in (30, 3000)
    )
    known = answer(EstimatedCSBM(**POINT, **errors, classes=classes)).standard_error.test_accuracy
    assert known < many < few
    assert few**2 - known**2 == pytest.approx(100.0 * (many**2 - known**2), rel=0.5)


@pytest.mark.parametrize(
    "answer",
    [lambda one, other: gl.transfer(one, ONE, other), lambda a, b: gl.bayes_optimal(a, to=b)],
)
def test_the_fractions_of_one_estimate_count_once(answer):
    """Used as both graphs, its classes change together; two estimates of other fractions are independent."""
    one, other = counted((0.3, 0.7), 40), counted((0.35, 0.65), 40)
    same = answer(one, one).standard_error.test_accuracy
    assert same == answer(one, one.model).standard_error.test_accuracy > 0.0
    parts = [
        answer(a, b).standard_error.test_accuracy
        for a, b in ((one, other.model), (one.model, other))
    ]
    assert answer(one, other).standard_error.test_accuracy == pytest.approx(
        np.hypot(*parts), rel=1e-12
    )


@pytest.mark.parametrize("answer", [gl.bayes_optimal, lambda data: gl.predict(data, ONE)])
def test_the_error_of_many_equal_classes_falls_faster_than_the_root_of_the_labels(answer):
    """To first order it is 0, by symmetry."""
    few, many = (answer(counted((0.25,) * 4, n)).standard_error.test_accuracy for n in (400, 1600))
    assert few > 2.0 * many > 0.0


ENDED = gl.GCN(gl.Diffusion(1.0), reg=1.0, training=gl.GradientFlow([50.0, np.inf]))
WITHOUT = {
    "stopped": (ENDED, (0.5, 0.5)),
    "penalty": (ONE.replaced(penalty=gl.ElasticNet(0.5)), (0.5, 0.5)),
    "softmax": (ONE.replaced(loss="softmax"), (1 / 3,) * 3),
}


@pytest.mark.parametrize(("gcn", "fractions"), WITHOUT.values(), ids=WITHOUT)
def test_without_a_theory_of_unequal_classes_fractions_have_the_error_of_ridge_regression(
    gcn, fractions
):
    data = counted(fractions, 60)
    found, ridge = (gl.predict(data, one).standard_error.test_accuracy for one in (gcn, ONE))
    assert found == pytest.approx(np.broadcast_to(ridge, np.shape(found)), rel=0.05)
    assert np.ravel(found)[-1] == pytest.approx(ridge, rel=1e-5)


def test_wrong_labels_leave_the_error_of_the_fractions_to_right_ones():
    data = counted((0.5, 0.5), 60)
    wrong, right = (
        gl.predict(one, ONE).standard_error.test_accuracy
        for one in (data.replaced(noise=0.2), data)
    )
    assert wrong == right > 0.0


MINE = gl.sample(gl.CSBM(4, 1.2, 2.0, 0.5, directed=False), nodes=400, degree=20, seed=0)
X, Y, A = MINE.features, np.where(MINE.train_mask, MINE.labels > 0, -1), MINE.adjacency
FILTER = gl.GCN(gl.PageRank(0.2), reg=1.0)
FAR = gl.GCN(gl.PageRank(0.2))
SMALL = {"nodes": 200, "degree": 20}
EVERY_DOOR = {
    "predict": lambda data: gl.predict(data, FILTER),
    "transfer": lambda data: gl.transfer(data, FILTER, data),
    "joining": lambda data: gl.transfer(data, FILTER, "joining"),
    "ceiling": gl.bayes_optimal,
    "ceiling elsewhere": lambda data: gl.bayes_optimal(data, to=data, gcn=FILTER),
    "ceiling at finite degree": lambda data: gl.bayes_optimal(
        data, degree=5, population=100, sweeps=4
    ),
    "best_linear": gl.best_linear,
    "best_linear in layers": lambda data: gl.best_linear(data, layers=3),
    "best_linear elsewhere": lambda data: gl.best_linear(data, to=data),
    "label_propagation": lambda data: gl.theory.label_propagation(data, 0.05),
    "linear_message_passing": lambda data: gl.linear_message_passing(gl.sample(data, **SMALL)),
    "tune": lambda data: gl.tune(data, FAR, {"theta": (-1, 1)}),
    "compare": lambda data: gl.compare(data, depth=1, order=1, reg=np.inf),
    "gap_map": lambda data: gl.gap_map(data, FAR, {"theta": (-1, 1)}),
    "best_filter": lambda data: gl.best_filter(data, order=2, reg=np.inf),
    "scatter": lambda data: gl.theory.scatter(data, FILTER, 1000, to=data),
    "paired_scatter": lambda data: gl.theory.paired_scatter(
        data, FAR, gl.GCN(gl.Diffusion(0.5)), 1000
    ),
    "message_passing": lambda data: gl.theory.message_passing(data, layers=2),
    "best_test_filter": lambda data: gl.theory.best_test_filter(data, FAR, data),
    "best_training_filter": gl.theory.best_training_filter,
    "order_functions": lambda data: gl.depth.order_functions(data, gl.GCN(gl.Residual([1.0]))),
    "learning_rate": lambda data: gl.depth.learning_rate(data, gl.GCN(gl.Residual([1.0]))),
    "oversmoothing": lambda data: gl.depth.oversmoothing(data, [gl.Residual([1.0])]),
    "limits": gl.limits.one_layer_rate,
    "sample": lambda data: gl.sample(data, **SMALL),
    "simulate": lambda data: gl.simulate(data, FILTER, **SMALL, trials=2, workers=1),
    "simulate elsewhere": lambda data: gl.simulate(
        data, FILTER, **SMALL, trials=2, workers=1, to=data
    ),
    "fit": lambda data: gl.fit(gl.sample(data, **SMALL), FILTER),
    "amp": lambda data: gl.amp(gl.sample(data, **SMALL)),
    "belief_propagation": lambda data: gl.belief_propagation(gl.sample(data, **SMALL)),
    "sweep": lambda data: gl.sweep("predict", data=data, gcn=FILTER, axes={"lam": [0.5, 1.0]}),
    "problem": lambda data: gl.benchmark.Problem("mine", "an estimate", data).truth("small").size,
}


@pytest.mark.parametrize("door", EVERY_DOOR)
def test_an_estimate_goes_through_every_door(door):
    """As its model does: the answer is that of the model; only its standard errors differ."""
    data = gl.estimate(X, Y, A).data
    answer, plain = (EVERY_DOOR[door](model) for model in (data, data.model))
    for name in ("test_accuracy", "accuracy"):
        if hasattr(plain, name):
            assert np.array_equal(getattr(answer, name), getattr(plain, name))


def test_an_estimate_keeps_its_type_and_takes_its_fields():
    data = gl.estimate(X, Y, A).data
    moved = data.replaced(lam=0.5)
    assert isinstance(moved, EstimatedCSBM)
    assert (moved.lam, moved.lam_error, moved.counts) == (0.5, data.lam_error, data.counts)
    assert dataclasses.replace(data, lam_error=0.2).lam_error == 0.2
    assert dataclasses.replace(data) == data
    assert type(data.model) is gl.CSBM
    assert data.model.model is data.model


def test_the_text_of_an_answer_has_its_errors():
    data = EstimatedCSBM(**POINT, lam_error=0.1, mu_error=0.1)
    weak = gl.GCN(gl.PageRank(0.2))
    answer, plain = (gl.predict(model, weak) for model in (data, data.model))
    error = answer.standard_error.test_accuracy
    assert f"test_accuracy={answer.test_accuracy:.6g} ± {error:.1g}, " in repr(answer)
    assert answer.to_dataframe().test_accuracy_standard_error.item() == error
    assert "±" not in repr(plain)


def test_an_estimate_without_errors_is_its_model():
    data = EstimatedCSBM(**POINT, lam_error=0.0, mu_error=0.0)
    errors = gl.predict(data, NETWORK).standard_error
    assert all(np.all(np.abs(value) < 1e-9) for value in errors.as_dict().values())


def test_a_network_beyond_its_pole_is_answered_by_a_sentence():
    """As few labels make it: the estimated signal is where the series diverges."""
    estimate = gl.estimate(X, Y, A)
    strong = gl.GCN(gl.PageRank(0.9 / (estimate.lam + 1 / estimate.lam) * 1.2))
    with pytest.warns(
        UserWarning, match="the network has no answer at lam = .*; take a weaker filter"
    ):
        assert estimate.predict(strong) == (None, 0.0, 1.0)


@pytest.mark.slow
def test_several_unequal_classes_have_an_error_from_a_coarse_rule():
    """The change under the coarse rule, the same for all models, is that of the exact ceiling."""
    p, h = (0.4, 0.3, 0.2, 0.1), 0.002
    found = gl.bayes_optimal(
        EstimatedCSBM(**POINT, classes=p, lam_error=h, mu_error=0.0)
    ).standard_error.test_accuracy
    up, down = (
        gl.bayes_optimal(gl.CSBM(2.0, 1.2 + s * h, 2.0, 0.1, classes=p)).test_accuracy
        for s in (1, -1)
    )
    assert found == pytest.approx(0.5 * abs(up - down), rel=0.03)


def test_hubs_do_not_change_what_the_class_fractions_add_to_an_error():
    """It is that of alike degrees: squared errors with and without counts differ by as much."""
    gcn = gl.GCN(gl.PageRank(0.3))
    added = []
    for degrees in (None, gl.Gamma(0.3)):
        squares = []
        for counts in ([30, 50], None):
            errors = {"lam_error": 0.1, "mu_error": 0.2, "counts": counts}
            data = EstimatedCSBM(4, 1.0, 2.0, 0.1, degrees=degrees, **errors)
            squares.append(gl.predict(data, gcn).standard_error.test_accuracy ** 2)
        added.append(squares[0] - squares[1])
    assert added[0] > 0.0
    assert added[0] == pytest.approx(added[1], rel=1e-9)
