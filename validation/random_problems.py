"""Random data and networks over many decades, of every kind that the theory does not refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import gcnlimit as gl
from gcnlimit import scope
from gcnlimit.results import Prediction

Generator = np.random.Generator
OWN = (
    gl.losses.FromValue(lambda z: np.exp(-z)),
    gl.losses.FromValue(lambda z: 1e3 * np.logaddexp(0.0, -z)),
    gl.losses.FromValue(lambda z: np.maximum(0.0, 1.0 - z) ** 2, (1.0,)),
    gl.losses.FromValue(lambda z: np.maximum(0.0, 1.0 - z) + np.maximum(0.0, -z), (0.0, 1.0)),
)
"""Losses as a user gives them: from their values and kinks."""


@dataclass(frozen=True)
class Problem:
    """Data and a network, array parameters of one axis."""

    data: gl.CSBM
    gcn: gl.GCN

    def at(self, i: int) -> Problem:
        """The problem of one point."""
        point = {name: float(getattr(self.data, name)[i]) for name in ("alpha", "lam", "mu", "rho")}
        filters = {"filter": self.gcn.filter, "test_filter": self.gcn.test_filter}
        alone: dict[str, Any] = {
            name: f.replaced(f.values[i]) for name, f in filters.items() if f is not None
        }
        reg = float(np.broadcast_to(self.gcn.reg, self.data.shape)[i])
        if self.gcn.training is not None:
            alone["training"] = self.gcn.training.ravel(self.data.shape)[i]
        return Problem(self.data.replaced(**point), self.gcn.replaced(**alone, reg=reg))

    def nudged(self, by: float) -> Problem:
        """The same with another alpha, hardly different."""
        return Problem(self.data.replaced(alpha=self.data.alpha * (1.0 + by)), self.gcn)

    def predict(self) -> Prediction:
        """Its performance, point by point."""
        return gl.predict(self.data, self.gcn, throw=False)


def draw(rng: Generator, regime: str, points: int) -> Problem:
    """Random data and a random network, over many decades, which the theory does not refuse; so many points."""
    while True:
        problem = _drawn(rng, regime, points)
        if scope.sentence("predict", problem.data, problem.gcn) is None:
            return problem


def _drawn(rng: Generator, regime: str, n: int) -> Problem:
    """Random data and a random network, refused or not."""
    stopped = regime == "finite" and rng.random() < 0.25
    loss, penalty = ("square", "l2") if stopped or regime == "infinite" else _objective(rng)
    plain = penalty != "l2" or loss != "square"
    # under a law of degrees the averages of the softmax take half a minute a point
    hubs = rng.random() < 0.3 and not stopped and loss != "softmax"
    degrees, normalization = _degrees(rng) if hubs else (None, "symmetric")
    plain = plain or stopped
    wrong = rng.random() < 0.2  # known for two equal classes
    classes = 2 if plain or wrong else _classes(rng)
    data = gl.CSBM(
        alpha=10.0 ** rng.uniform(-2, 2, n),
        lam=rng.uniform(-3, 3, n)
        if rng.random() < 0.7
        else rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-3, 1.3, n),
        mu=10.0 ** rng.uniform(-3, 2, n) if rng.random() < 0.9 else np.zeros(n),
        rho=10.0 ** rng.uniform(-3, 0, n) if rng.random() < 0.9 else np.ones(n),
        directed=bool(rng.integers(2)),
        classes=classes,
        features=None if plain else _features(rng),
        degrees=degrees,
        noise=float(rng.uniform(0, 0.5)) if wrong else 0.0,
    )
    symmetrize, normalize = (bool(flag) for flag in rng.integers(2, size=2))
    reg = np.inf if regime == "infinite" else 10.0 ** rng.uniform(-4, 4, n)
    filter = _filter(rng, n, data.operator(symmetrize).radius)
    read = _filter(rng, n, data.operator(symmetrize).radius) if rng.random() < 0.2 else None
    others = {"penalty": penalty, "normalization": normalization, "test_filter": read}
    if stopped:
        others["training"] = _stopping(rng, n)
    return Problem(data, gl.GCN(filter, loss, reg, symmetrize, normalize, **others))


def _degrees(rng: Generator) -> tuple[Any, Any]:
    """A law of degrees, and a normalization under which it has an answer."""
    law = [gl.Gamma(0.5), gl.LogNormal(0.3), gl.Degrees(rng.uniform(0.5, 3.0, 4))][rng.integers(3)]
    usual = ["symmetric", "regularized"]
    return law, str(
        rng.choice([*usual, "none", "random-walk"] if isinstance(law, gl.Degrees) else usual)
    )


def _stopping(rng: Generator, n: int) -> gl.GradientFlow | gl.GradientDescent:
    """Gradient flow, or descent whose rate is mostly stable."""
    if rng.random() < 0.4:
        return gl.GradientFlow(10.0 ** rng.uniform(-4, 4, n))
    momentum = rng.uniform(0, 0.95) if rng.random() < 0.5 else 0.0
    return gl.GradientDescent(rng.integers(1, 2000, n), 10.0 ** rng.uniform(-4, 0, n), momentum)


def _objective(rng: Generator) -> tuple[Any, Any]:
    if rng.random() < 0.2:
        return OWN[rng.integers(len(OWN))], "l2"
    loss = str(rng.choice(["square", "logistic", "hinge"]))
    return loss, gl.ElasticNet(
        float(rng.uniform(0, 0.9))
    ) if loss == "square" and rng.random() < 0.2 else "l2"


def _classes(rng: Generator) -> Any:
    kind = rng.choice(["two", "equal", "fractions"], p=[0.5, 0.3, 0.2])
    if kind == "fractions":
        return tuple(rng.dirichlet(np.full(rng.integers(2, 6), 5.0)))
    return 2 if kind == "two" else int(rng.integers(3, 11))


def _features(rng: Generator) -> gl.Spectrum | None:
    if rng.random() < 0.7:
        return None
    k = rng.integers(1, 6)
    variance, signal, weight = (
        10.0 ** rng.uniform(-1, 1, k),
        rng.exponential(size=k),
        rng.uniform(0.1, 1, k),
    )
    return gl.Spectrum(variance, signal * np.sum(weight) / (signal @ weight), weight)


def _filter(rng: Generator, n: int, radius: Any) -> gl.filters.Filter:
    kind = rng.integers(4)
    if kind == 0:
        return gl.Residual(rng.normal(size=(n, rng.integers(0, 7))) * 10.0 ** rng.uniform(-1, 0.7))
    if kind == 1:
        return gl.Diffusion(2.0 * rng.normal(size=n) / np.maximum(1.0, 0.3 * radius))
    if kind == 2:
        return gl.PageRank(rng.uniform(-0.95, 0.95, n) / radius)
    return gl.Polynomial(rng.normal(size=(n, rng.integers(1, 7))) + 1e-3)


def kinds(problem: Problem) -> list[str]:
    """What a problem is an example of."""
    data, gcn = problem.data, problem.gcn
    classes = data.classes.count if data.classes.equal else f"{data.classes.count} unequal"
    return [
        f"filter {type(gcn.filter).__name__}",
        f"loss {type(gcn.loss).__name__}" if np.all(np.isfinite(gcn.reg)) else "reg infinite",
        f"penalty {type(gcn.penalty).__name__}",
        f"graph {'symmetric' if data.operator(gcn.symmetrize).symmetric else 'directed'}",
        f"classes {classes}",
        f"features {'white' if data.features.is_white else 'correlated'}",
        f"normalize {gcn.normalize}",
        f"degrees {type(data.degrees).__name__}, {gcn.normalization!r}"
        if data.degrees
        else "degrees alike",
        f"training {'to the end' if gcn.training is None else type(gcn.training).__name__}",
        f"labels {'wrong' if data.noise else 'right'}",
        f"test filter {'same' if gcn.test_filter is None else type(gcn.test_filter).__name__}",
    ]
