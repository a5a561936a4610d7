"""Code of a user, to be read by type checkers in strict mode: every name resolves, and every answer has a precise type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, assert_type

import numpy as np
import numpy.typing as npt

import gcnlimit as gl
from gcnlimit import real
from gcnlimit.filters import to_unit
from gcnlimit.results import (
    BayesPrediction,
    BestFilter,
    Comparison,
    FilterCeiling,
    Fit,
    GapMap,
    Inference,
    Measurement,
    Prediction,
    Tuned,
)

Floats = npt.NDArray[np.float64]


def theory() -> None:
    """Predictions and the ceiling, at one point and along an axis."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    gcn = gl.GCN(gl.Diffusion(t=1.5), loss="logistic", reg=1.0, symmetrize=True)
    found = gl.predict(data, gcn)
    assert_type(found, Prediction)
    assert_type(found.test_accuracy, float | Floats)
    assert_type(found.standard_error.test_accuracy, float | Floats)
    ceiling = gl.bayes_optimal(data)
    assert_type(ceiling, BayesPrediction)
    along = gl.CSBM(alpha=4, lam=np.linspace(0, 2, 5), mu=2.0, rho=0.1, directed=False)
    accuracy = np.asarray(gl.predict(along, gcn).test_accuracy)
    gap = np.asarray(gl.bayes_optimal(along).test_accuracy) - accuracy
    print(f"{gap.max():.3f}", found.as_dict()["test_loss"], found.status, ceiling.algorithmic)
    classes = gl.CSBM(
        alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=[0.2, 0.3, 0.5], features=gl.Spectrum([0.5, 1.5])
    )
    print(
        classes.fractions,
        gl.predict(data, gl.GCN(gl.Residual([1.0, 1.0]), gl.Softmax(), penalty=gl.ElasticNet(0.5))),
    )


def choosing() -> None:
    """Search for the best network."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    tuned = gl.tune(
        data, gl.GCN(gl.PageRank(0.5)), free={"theta": (0.0, 1.0), "reg": (0.01, 100.0)}
    )
    assert_type(tuned, Tuned)
    assert_type(tuned.gcn, gl.GCN)
    assert_type(tuned.prediction, Prediction)
    best = gl.best_filter(data, 3)
    assert_type(best, BestFilter)
    assert_type(best.ceiling, FilterCeiling)
    assert_type(gl.compare(data), Comparison)
    assert_type(gl.gap_map(data, gl.GCN(gl.Diffusion(1.0)), {"t": (0.0, 5.0)}), GapMap)


def simulating() -> None:
    """Sampled graphs, training, message passing."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    instance = gl.sample(data, nodes=300, degree=20, seed=0)
    assert_type(instance, gl.Instance)
    assert_type(gl.fit(instance, gl.GCN(gl.Diffusion(1.0))), Fit)
    assert_type(gl.amp(instance), Inference)
    assert_type(
        gl.simulate(data, gl.GCN(gl.Polynomial([1.0, 0.5])), nodes=300, trials=2), Measurement
    )


def own_graph(X: Floats, y: npt.NDArray[np.int64], graph: Floats) -> None:
    """A graph of one's own."""
    estimated = gl.estimate(X, y, graph)
    assert_type(estimated, real.Estimate)
    recommended = gl.recommend(X, y, graph)
    assert_type(recommended, real.Recommendation)
    assert_type(gl.describe(X, y, graph), real.Description)
    classifier = gl.FilterClassifier(filter="diffusion").fit(X, y, graph=graph)
    assert_type(classifier, gl.FilterClassifier)
    assert_type(classifier.loo_score_, float)
    edges = real.from_edges([[0, 1], [1, 2]])
    print(edges.nnz, recommended.network)


@dataclass(frozen=True, eq=False)
class TwoSteps(gl.Filter):
    """A family of filters of one's own."""

    parameter: ClassVar[str] = "s"
    s: npt.ArrayLike

    def normalized(self, x: Floats) -> tuple[Floats, Floats]:
        """Values over their largest magnitude, and its logarithm."""
        return to_unit(1.0 + x + self.values[..., None] * x**2)


def bounded(margin: Floats) -> Floats:
    """A loss of one's own, given by its values."""
    return np.logaddexp(0.0, -margin)


def extending(data: gl.CSBM) -> None:
    """Filters and losses of one's own."""
    gl.check_filter(TwoSteps(0.5))
    print(
        gl.predict(data, gl.GCN(TwoSteps([0.5, 1.0]), bounded, reg=1.0)),
        gl.GCN(lambda x: 1.0 / (3.0 - x)),
    )


def misspelt() -> None:
    """A name that does not exist is found by the checker; the comments say so, and are themselves checked."""
    print(gl.predicts)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def failing() -> str:
    """Errors have one base."""
    try:
        gl.CSBM(alpha=-1, lam=1.0, mu=2.0, rho=0.1)
    except gl.ParameterError as error:
        return str(error)
    except gl.GCNLimitError:
        raise
    return ""
