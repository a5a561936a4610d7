"""The suite: fixed problems with their exact numbers, and the record of their graphs."""

from __future__ import annotations

import json
import math
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from gcnlimit._validation import check_types, flag, number, one_of, whole
from gcnlimit._values import Integers, Value
from gcnlimit.benchmark.task import Task, checksum, split
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import Gamma, LogNormal, Pareto
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:
    from gcnlimit.simulation.data.instance import Instance

FILE = "record.json"


def recorded(problem: str, size: str, graph: int) -> dict[str, Any] | None:
    """Checksum and accuracy of message passing on that graph; None if it is not among the recorded ones."""
    graphs = _record()["graphs"].get(problem, {}).get(size, [])
    return graphs[graph] if graph < len(graphs) else None


@lru_cache(maxsize=1)
def _record() -> dict[str, Any]:
    file = resources.files("gcnlimit.benchmark").joinpath(FILE)
    return dict(json.loads(file.read_text(encoding="utf-8")))


VERSION = 1
"""Version of the suite: results of different versions are not comparable."""

SIZES = {"small": 2_000, "standard": 10_000, "large": 30_000}
"""Numbers of nodes."""


@dataclass(frozen=True)
class Exact:
    """Exact test accuracies of a problem in the large-size limit.

    Parameters
    ----------
    features
        Best possible from the features alone, without the graph.
    one_filter
        Best network of one filter and one weight vector, at any regularization and at large degree: at a finite one it
        is not known. With hubs or on a new graph the filter is the best PageRank.
    linear
        Best of all linear networks, at large degree (`best_linear`, Eq. 12.1).
    algorithmic
        Best known algorithm: message passing, knowing the parameters, at the degree of the graphs.
    bayes, bayes_error
        Best possible at the degree of the graphs, by population dynamics, and its standard error; above `algorithmic`
        in a hard phase only.
    bayes_large_degree
        Best possible at large degree, by theory.
    frozen
        Of an inductive problem: best possible, at the degree of the graphs, with the weights of the training graph.
    scatter
        Standard deviation of the accuracy of message passing over graphs, times the square root of their number of
        nodes: measured on fifty small graphs; it is larger than for independent nodes.
    """

    features: float
    one_filter: float
    linear: float
    algorithmic: float
    bayes: float
    bayes_error: float
    bayes_large_degree: float
    frozen: float | None = None
    scatter: float = math.nan


@dataclass(frozen=True, eq=False)
class Problem(Value):
    """A fixed problem of the suite.

    Parameters
    ----------
    name, about
        Its name, and what it is for.
    data, degree
        The model, and the mean degree of its graphs.
    aside
        Whether it is kept aside, to see whether a ranking found on the others holds.
    to
        The new graph of an inductive problem, whose nodes are to be classified by a model trained on a graph of `data`.

    Examples
    --------
    >>> import gcnlimit as gl
    >>> problem = gl.benchmark.problems()[0]
    >>> problem.name, round(problem.exact.bayes, 4)
    ('reference', 0.9135)
    >>> task = problem.task("small")
    >>> task.features.shape, int(task.train_mask.sum()), int(task.val_mask.sum())
    ((2000, 500), 150, 50)
    """

    name: str
    about: str
    data: CSBM
    degree: float = 30.0
    aside: bool = False
    to: CSBM | None = None

    def __post_init__(self) -> None:
        texts = {"name": (self.name, str), "about": (self.about, str)}
        check_types("Problem", **texts, data=(self.data, CSBM), to=(self.to, (CSBM, type(None))))
        if self.data.shape or (self.to is not None and self.to.shape):
            single = "data and to of a problem have single parameters, got arrays"
            raise ParameterError(f"{single}; make a problem for each of their values")
        number("degree", self.degree, low=0, open_low=True)

    @property
    def exact(self) -> Exact:
        """Exact test accuracies in the large-size limit, recorded for the suite."""
        if KNOWN.get(self.name) != self:
            raise ParameterError(
                f"problem = {self.name!r} is not in the suite, whose exact accuracies are known; "
                "take gl.bayes_optimal(problem.data, to=problem.to, degree=problem.degree)"
            )
        return Exact(**_record()["exact"][self.name])

    def task(self, size: str = "standard", graph: int = 0, *, seed: int | None = None) -> Task:
        """Task on the graph with this number.

        Parameters
        ----------
        size
            ``"small"``, ``"standard"`` or ``"large"``.
        graph
            0, 1, ...: each is the same for everyone. The first five small and standard ones and the first large one
            have recorded checksums, and a warning says if a graph differs.
        seed
            For other graphs, with features of three decimals: a number that the author of the model does not know.
        """
        root = self._root(size, graph, seed)
        instance, new = self._instances(SIZES[size], root)
        for drawn in (instance, new):
            if drawn is not None and seed is not None:  # the last digits tell the class
                np.round(drawn.features, 3, out=np.asarray(drawn.features))
        task = split(instance, self.name, root, new)
        record = recorded(self.name, size, graph) if seed is None else None
        if record is not None and record["checksum"] != checksum(task):
            warnings.warn(
                f"graph {graph} of the problem {self.name!r} ({size}) is not the recorded one: the "
                "sampler of this version, or that of NumPy, has changed, and accuracies on it are "
                "comparable within their errors only",
                stacklevel=2,
            )
        return task

    def truth(self, size: str = "standard", graph: int = 0, *, seed: int | None = None) -> Integers:
        """Classes of all nodes of that graph; only one feature is drawn, since they do not depend on features."""
        root = self._root(size, graph, seed)
        nodes = SIZES[size]
        data, to = self.data, self.to
        # alpha is nodes per feature: one feature, and the sizes of both graphs as they are
        wide = to and to.replaced(alpha=nodes * to.alpha / data.alpha)
        light = replace(self, data=data.replaced(alpha=float(nodes)), to=wide)
        drawn = light._instances(nodes, root)
        labels = np.concatenate([instance.labels for instance in drawn if instance is not None])
        return data.classes.index_of(labels)

    def _root(self, size: str, graph: int, seed: int | None) -> list[int]:
        """Numbers from which the seeds of a graph are made."""
        one_of("size", size, *SIZES)
        place = [zlib.crc32(self.name.encode()), SIZES[size], whole("graph", graph, low=0)]
        return [VERSION, *place, *([] if seed is None else [whole("seed", seed, low=0)])]

    def _instances(self, nodes: int, root: list[int]) -> tuple[Instance, Instance | None]:
        """The graph, and the new graph of an inductive problem, which has the same features."""
        from gcnlimit.simulation.data.sample import sample

        drawn = partial(sample, degree=self.degree, dtype=np.float32)
        instance = drawn(self.data, nodes, seed=np.random.SeedSequence(root))
        if self.to is None:
            return instance, None
        more = round(nodes * float(self.to.alpha / self.data.alpha))
        seed = np.random.SeedSequence([*root, 2])
        return instance, drawn(self.to, more, seed=seed, beside=instance)


# the data that do not fit into a row of the suite
_undirected = partial(CSBM, directed=False)
_five = partial(_undirected, 4, mu=2.0, rho=0.1, classes=5)
_REFERENCE = CSBM(4, 1.0, 2.0, 0.1)
_REVERSED = CSBM(4, -1.0, 2.0, 0.0)
_TEN = _undirected(4, -0.8, 0.5, 0.01, classes=10)
_QUARTERS = CSBM(2.5, 0.8, 1.6, 0.2, classes=(0.25, 0.75))
_TENTHS = CSBM(3, 0.9, 2.0, 0.15, classes=(0.5, 0.3, 0.2))
_GAMMA = CSBM(4, 1.0, 2.0, 0.1, degrees=Gamma(1.0))
_LOG_NORMAL = CSBM(4, -0.9, 2.0, 0.1, degrees=LogNormal(1.0))
_CITATION = _undirected(4, 1.2, 2.0, 0.05, degrees=Pareto(2.5, 50.0))
_SMALL = _undirected(4, 1.2, 2.0, 0.1)
_LARGE = _undirected(8, 0.9, 4.0, 0.0)

_SUITE = (
    Problem("reference", "graph and features of similar strength, one label in ten", _REFERENCE),
    Problem("many-labels", "weaker signals, three labels in ten", CSBM(2, 0.7, 1.0, 0.3)),
    Problem("heterophily", "neighbours of opposite classes", CSBM(4, -1.0, 2.0, 0.1)),
    Problem("undirected", "a symmetric graph", _undirected(4, 1.4, 2.0, 0.1)),
    Problem("few-labels", "one label in fifty", CSBM(4, 1.1, 2.0, 0.02)),
    Problem("strong-features", "features that say more than the graph", CSBM(4, 0.5, 6.0, 0.1)),
    Problem("weak-features", "a graph that says almost everything", CSBM(4, 1.1, 0.5, 0.1)),
    Problem("deep", "few labels, weak features: one layer is not enough", CSBM(4, 1.2, 1.0, 0.03)),
    Problem("shallow", "half of the labels: one layer is almost enough", CSBM(2, 0.4, 2.0, 0.5)),
    Problem("sparse", "three neighbours each", _undirected(4, 1.2, 2.0, 0.1), 3.0),
    Problem("five-classes", "a symmetric graph", _five(lam=1.0), 100.0),
    Problem("five-heterophily", "neighbours of other classes", _five(lam=-1.0), 100.0),
    Problem("three-classes", "two labels in ten", CSBM(2, 0.8, 2.0, 0.2, classes=3), 60.0),
    Problem("hard-phase", "ten classes that can be found, but not by message passing", _TEN, 100.0),
    Problem("unequal", "classes of a quarter and three quarters", _QUARTERS, 60.0),
    Problem("unequal-three", "classes of 50, 30 and 20 per cent", _TENTHS, 60.0),
    Problem("hubs", "Gamma-distributed propensities of variance 1", _GAMMA),
    Problem("hubs-heterophily", "log-normal propensities and heterophily", _LOG_NORMAL),
    Problem(
        "hubs-citation", "a power law, as in a citation graph, and few labels", _CITATION, 10.0
    ),
    Problem("inductive", "another graph of the same kind", _REFERENCE, to=CSBM(4, 1.0, 2.0, 0.0)),
    Problem("inductive-reversed", "a graph whose homophily is reversed", _REFERENCE, to=_REVERSED),
    Problem("inductive-larger", "a graph of twice the size and a weaker signal", _SMALL, to=_LARGE),
)

_aside = partial(Problem, aside=True)
_ASIDE = (
    _aside("aside-homophily", "other strengths than the reference", CSBM(3, 0.9, 1.5, 0.15)),
    _aside("aside-heterophily", "a symmetric graph", _undirected(3, -1.3, 1.5, 0.15)),
    _aside("aside-few-labels", "strong features", CSBM(4, 0.8, 4.0, 0.03)),
)
KNOWN = {problem.name: problem for problem in (*_SUITE, *_ASIDE)}
"""All of them by name."""

REFERENCES = {"features": "features", "linear": "linear", "Bayes": "bayes"}
"""Exact values beside which an accuracy is shown, by heading, as fields of `Exact`; the best possible is the last."""


def reference_values(name: str) -> dict[str, float]:
    """Exact values of a problem by heading; NaN for a problem of your own.

    >>> reference_values("reference")["features"] < reference_values("reference")["Bayes"]
    True
    """
    exact = KNOWN[name].exact if name in KNOWN else None
    return {head: getattr(exact, field, math.nan) for head, field in REFERENCES.items()}


def problems(*, aside: bool = False) -> tuple[Problem, ...]:
    """Fixed problems of the suite, or those kept aside.

    >>> len({problem.name for problem in (*problems(), *problems(aside=True))}) >= 12
    True
    """
    return _ASIDE if flag("aside", aside) else _SUITE


def as_problems(chosen: Iterable[str | Problem] | str | Problem | None) -> tuple[Problem, ...]:
    """Problems by name; all of the suite if None."""
    if chosen is None:
        return _SUITE
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        chosen = [chosen]
    problems = []
    for name in chosen:
        problem = KNOWN.get(name) if isinstance(name, str) else name
        if not isinstance(problem, Problem):
            raise ParameterError(f"problem = {name!r} is unknown; choose among {', '.join(KNOWN)}")
        problems.append(problem)
    return tuple(problems)
