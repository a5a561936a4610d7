"""Wrong types are named, and what no equation is known for is refused with the reason."""

import math

import numpy as np
import pytest
from problems import PARAMETERS

import gcnlimit as gl

OTHERS = [
    gl.CSBM(**PARAMETERS, classes=3),
    gl.CSBM(**PARAMETERS, classes=[0.2, 0.8]),
    gl.CSBM(**PARAMETERS, features=gl.Spectrum([0.5, 1.5], [1.0, 1.0], [0.5, 0.5])),
]
NETWORK = gl.GCN(gl.Diffusion(1.0))
CALLS = {
    "sample": lambda data: gl.sample(data, nodes=100, degree=10),
    "simulate": lambda data: gl.simulate(data, NETWORK, nodes=100, degree=10, trials=2, workers=1),
    "compare": lambda data: gl.compare(data, depth=1, order=1),
    "gap_map": lambda data: gl.gap_map(data, NETWORK, {"t": (0, 10)}),
    "predict": lambda data: gl.predict(data, NETWORK),
    "bayes_optimal": gl.bayes_optimal,
    "best_linear": gl.best_linear,
    "label_propagation": lambda data: gl.theory.label_propagation(data, 0.1),
    "tune": lambda data: gl.tune(data, NETWORK, {"t": (0, 1)}),
    "best_filter": lambda data: gl.best_filter(data, order=2),
    "order_functions": lambda data: gl.depth.order_functions(data, NETWORK, [0.5]),
    "no_residual_margin": lambda data: gl.limits.no_residual_margin(data, 2),
    "short_diffusion_margin": lambda data: gl.limits.short_diffusion_margin(
        data, 0.1, symmetrize=True
    ),
    "one_layer_rate": gl.limits.one_layer_rate,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_named(name):
    with pytest.raises(gl.ParameterError, match="needs a CSBM"):
        CALLS[name](NETWORK)


@pytest.mark.parametrize(
    "data, network, reason",
    [
        (OTHERS[0], gl.GCN(gl.Diffusion(1.0), "logistic", 1.0), "no theory for loss"),
        (
            gl.CSBM(**PARAMETERS, classes=[0.5, 0.3, 0.2]),
            gl.GCN(gl.Diffusion(1.0), "softmax", 1.0),
            "no theory for loss",
        ),
        (
            OTHERS[2],
            gl.GCN(gl.Diffusion(1.0), reg=1.0, penalty=gl.ElasticNet(0.5)),
            "no theory for penalty",
        ),
    ],
    ids=["logistic", "matrices", "penalty"],
)
def test_what_no_equation_is_known_for_is_refused_with_the_reason(data, network, reason):
    with pytest.raises(gl.ParameterError, match=reason):
        gl.predict(data, network)


def test_rates_and_oversmoothing_follow_the_number_of_classes():
    """The error of C classes is that of two at a margin larger by a factor of sqrt(C/2), which the rate has squared."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1, classes=4)
    assert gl.depth.learning_rate(data) == pytest.approx(2.0, rel=1e-3)
    grown = gl.depth.oversmoothing(data, [gl.Diffusion(1.0)])
    assert grown.test_accuracy[0] == pytest.approx(
        gl.predict(data, NETWORK).test_accuracy, abs=1e-14
    )
    assert math.isfinite(float(np.sum(grown.pca_gap)))


class Unprintable:
    """An object whose text cannot be made."""

    def __repr__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "door",
    [
        lambda value: gl.GCN(gl.Diffusion(1.0), training=value),
        lambda value: gl.tune(gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0)), free=value),
        lambda value: gl.tune(
            gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0)), free={"t": value}
        ),
        lambda value: gl.transfer(gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0)), to=value),
        lambda value: gl.fit(value, gl.GCN(gl.Diffusion(1.0))),
        gl.benchmark.evaluate,
        lambda value: gl.sample(gl.CSBM(4, 1.0, 2.0, 0.1), nodes=40, degree=8, dtype=value),
    ],
)
def test_a_value_without_a_text_is_refused_by_its_type(door):
    with pytest.raises(gl.GCNLimitError, match="Unprintable"):
        door(Unprintable())


@pytest.mark.parametrize("y", [{0, 1}, 3, "ab"])
def test_classes_that_are_no_sequence_are_refused_without_a_graph(y):
    with pytest.raises(gl.ParameterError, match="y should be a 1d array"):
        gl.GraphClassifier().fit(np.ones((4, 2)), y)
