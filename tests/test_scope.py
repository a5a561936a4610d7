"""What does not know more than two classes or correlated features says so, and never ignores them."""

import math

import numpy as np
import pytest
from problems import DATA, PARAMETERS

import gcnlimit as gl

OTHERS = [
    gl.CSBM(**PARAMETERS, classes=3),
    gl.CSBM(**PARAMETERS, classes=[0.2, 0.8]),
    gl.CSBM(**PARAMETERS, features=gl.Spectrum([0.5, 1.5], [1.0, 1.0], [0.5, 0.5])),
]
NETWORK = gl.GCN(gl.Diffusion(1.0))
CALLS = {
    "best_filter": lambda data: gl.best_filter(data, order=2),
    "compare": lambda data: gl.compare(data, depth=1, order=1),
    "gap_map": lambda data: gl.gap_map(data, NETWORK, {"t": (0, 10)}),
    "large_reg_expansion": lambda data: gl.theory.large_reg_expansion(data, NETWORK),
    "order_functions": lambda data: gl.depth.order_functions(data, NETWORK, [0.5]),
    "integral_residuals": lambda data: gl.depth.integral_residuals(data, NETWORK),
    "no_residual_margin": lambda data: gl.limits.no_residual_margin(data, 2),
    "short_diffusion_margin": lambda data: gl.limits.short_diffusion_margin(data, 0.1, symmetrize=True),
    "one_layer_rate": gl.limits.one_layer_rate,
}


@pytest.mark.parametrize("data", OTHERS, ids=["three", "unequal", "coloured"])
@pytest.mark.parametrize("name", CALLS)
def test_what_needs_two_equal_classes_says_so(name, data):
    with pytest.raises(gl.ParameterError, match=f"{name} needs two equal classes and white features"):
        CALLS[name](data)


@pytest.mark.parametrize("name", [*CALLS, "predict", "bayes_optimal", "tune", "sample", "simulate"])
@pytest.mark.parametrize("data", [None, 3, "data", NETWORK])
def test_a_wrong_type_is_named(name, data):
    more = {
        "predict": lambda data: gl.predict(data, NETWORK),
        "bayes_optimal": gl.bayes_optimal,
        "tune": lambda data: gl.tune(data, NETWORK, {"t": (0, 1)}),
        "sample": lambda data: gl.sample(data, nodes=100, degree=10),
        "simulate": lambda data: gl.simulate(data, NETWORK, nodes=100, degree=10, trials=2, workers=1),
    }
    with pytest.raises(gl.ParameterError, match="needs a CSBM"):
        (CALLS | more)[name](data)


@pytest.mark.parametrize("classes", [3, 8])
def test_what_is_best_for_two_classes_is_best_for_more(classes):
    """Only the step from margin to accuracy knows the number of classes, and it is increasing."""
    best = gl.tune(gl.CSBM(**PARAMETERS, classes=classes), NETWORK, {"t": (0, 10)})
    assert best.parameters["t"] == pytest.approx(gl.tune(DATA, NETWORK, {"t": (0, 10)}).parameters["t"], rel=1e-6)


def test_rates_and_oversmoothing_follow_the_number_of_classes():
    """The error of C classes is that of two at a margin larger by a factor of sqrt(C/2), which the rate has squared."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1, classes=4)
    assert gl.depth.learning_rate(data) == pytest.approx(2.0, rel=1e-3)
    grown = gl.depth.oversmoothing(data, [gl.Diffusion(1.0)])
    assert grown.test_accuracy[0] == pytest.approx(gl.predict(data, NETWORK).test_accuracy, abs=1e-14)
    assert math.isfinite(float(np.sum(grown.pca_gap)))
