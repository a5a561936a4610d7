"""Kinds of odd tables: features, graphs and labels as nobody should bring them, and what may be added to an easy table.

Each kind of features starts from Gaussian ones, whose means differ between the classes, each kind of graph from a symmetric one,
whose nodes prefer their own class. `ADDITIONS` are columns, nodes and edges that carry nothing: with them an easy table stays
easy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Generator = np.random.Generator
Kind = Callable[[Generator, Any, Any], Any]


def _beside(X: Any, *columns: Any) -> Any:
    return np.column_stack([X, *columns])


def _some(rng: Generator, count: int, rate: float = 0.5) -> Any:
    """Which of some rows or columns."""
    return rng.random(count) < rate


def _denormal(rng: Generator, X: Any, classes: Any) -> Any:
    """Some columns whose squares, or which themselves, are no normal numbers."""
    return X * np.where(_some(rng, X.shape[1]), 10.0 ** rng.integers(-322, -150), 1.0)


def _outliers(rng: Generator, X: Any, classes: Any) -> Any:
    """A few entries far away from all others."""
    return np.where(rng.random(X.shape) < 0.01, 10.0 ** rng.integers(3, 40), X)


FEATURES: dict[str, Kind] = {
    "plain": lambda rng, X, classes: X,
    "duplicated rows": lambda rng, X, classes: X[rng.integers(max(len(X) // 5, 1), size=len(X))],
    "duplicated columns": lambda rng, X, classes: X[
        :, rng.integers(X.shape[1], size=3 * X.shape[1])
    ],
    "equal rows": lambda rng, X, classes: np.repeat(X[:1], len(X), axis=0),
    "two rows alone": lambda rng, X, classes: X[rng.integers(2, size=len(X))],
    "zero rows": lambda rng, X, classes: X * _some(rng, len(X))[:, None],
    "zero columns": lambda rng, X, classes: X * _some(rng, X.shape[1]),
    "zero": lambda rng, X, classes: 0.0 * X,
    "negative zeros": lambda rng, X, classes: np.where(X < 0.0, -0.0, X),
    "one entry": lambda rng, X, classes: np.where(np.arange(X.size).reshape(X.shape) == 1, X, 0.0),
    "one column": lambda rng, X, classes: X[:, :1],
    "rank one": lambda rng, X, classes: np.outer(rng.standard_normal(len(X)), X[0]),
    "rows that sum to 1": lambda rng, X, classes: np.exp(X) / np.exp(X).sum(axis=1, keepdims=True),
    "constant columns": lambda rng, X, classes: np.where(_some(rng, X.shape[1], 0.6), X[0], X),
    "almost constant columns": lambda rng, X, classes: np.where(rng.random(X.shape) < 0.97, 1.0, X),
    "a huge column": lambda rng, X, classes: X * np.append(1e9, np.ones(X.shape[1] - 1)),
    "few huge columns": lambda rng, X, classes: X * np.where(_some(rng, X.shape[1], 0.1), 1e5, 1.0),
    "tiny columns": lambda rng, X, classes: X * np.where(_some(rng, X.shape[1]), 1e-12, 1.0),
    "denormal columns": _denormal,
    "huge rows": lambda rng, X, classes: X * 10.0 ** rng.integers(0, 30, size=(len(X), 1)),
    "one huge row": lambda rng, X, classes: X * np.append(1e40, np.ones(len(X) - 1))[:, None],
    "outliers": _outliers,
    "units far apart": lambda rng, X, classes: X * 10.0 ** rng.integers(-20, 20, size=X.shape[1]),
    "far from 0": lambda rng, X, classes: X + 10.0 ** rng.integers(3, 10),
    "large and far from 0": lambda rng, X, classes: 1e40 * (1.0 + 1e-6 * X),
    "years": lambda rng, X, classes: 1990.0 + np.round(5.0 * X),
    "counts": lambda rng, X, classes: rng.poisson(np.exp(X - 2.0)).astype(float),
    "words": lambda rng, X, classes: (rng.random(X.shape) < 0.05 * np.exp(X)).astype(float),
    "a word for each": lambda rng, X, classes: np.eye(len(X)),
    "heavy tails": lambda rng, X, classes: X / rng.random(X.shape) ** 3,
    "log-normal": lambda rng, X, classes: np.exp(6.0 * X),
    "the classes": lambda rng, X, classes: np.eye(classes.max() + 1)[classes],
    "the classes and noise": lambda rng, X, classes: _beside(X, classes),
    "squares beyond single precision": lambda rng, X, classes: 1e30 * X,
    "tiny": lambda rng, X, classes: 1e-45 * X,
    "half precision": lambda rng, X, classes: X.astype(np.float16),
    "single precision": lambda rng, X, classes: X.astype(np.float32),
    "extended precision": lambda rng, X, classes: X.astype(np.longdouble),
    "whole numbers": lambda rng, X, classes: np.round(3.0 * X).astype(np.int8),
    "unsigned numbers": lambda rng, X, classes: np.round(np.abs(40.0 * X)).astype(np.uint8),
    "booleans": lambda rng, X, classes: X > 0.0,
    "huge whole numbers": lambda rng, X, classes: rng.integers(-(2**62), 2**62, size=X.shape),
    "numbers of the nodes": lambda rng, X, classes: np.arange(len(X))[:, None] + 10**12,
    "a number of the node beside": lambda rng, X, classes: _beside(X, np.arange(len(X))),
    "nearly parallel rows": lambda rng, X, classes: X[:1] + 1e-7 * X,
    "nearly parallel columns": lambda rng, X, classes: _beside(
        X, X * (1.0 + 1e-9 * rng.random(X.shape))
    ),
    "a clock": lambda rng, X, classes: _beside(X, 1.6e9 + 3600.0 * rng.random(len(X))),
}


def _cut(A: Any, kept: Any) -> Any:
    """The graph among some nodes, the others isolated."""
    return A * kept * kept[:, None]


def _sides(rng: Generator, A: Any) -> Any:
    """Edges between two sides alone."""
    side = _some(rng, len(A))
    return A * (side != side[:, None])


def _symmetric(W: Any) -> Any:
    return np.triu(W) + np.triu(W, 1).T


def _between(A: Any, first: Any, second: Any) -> Any:
    """Edges of these pairs alone."""
    edges = np.zeros(A.shape)
    edges[first, second] = edges[second, first] = 1.0
    return edges


def _tree(rng: Generator, A: Any) -> Any:
    """Each node joined to one before it."""
    later = np.arange(1, len(A))
    return _between(A, later, (rng.random(later.size) * later).astype(int))


def _near(rng: Generator, A: Any, classes: Any) -> Any:
    """Nodes near each other in the plane, where classes have their places."""
    place = rng.random((len(A), 2)) + 0.7 * classes[:, None]
    apart = np.linalg.norm(place[:, None] - place, axis=2)
    return (apart < np.quantile(apart, min(6.0 / len(A), 0.9))) - np.eye(len(A))


def _hub(A: Any) -> Any:
    """One node joined to all."""
    return np.maximum(A, _between(A, 0, np.arange(1, len(A))))


GRAPHS: dict[str, Kind] = {
    "plain": lambda rng, A, classes: A,
    "directed": lambda rng, A, classes: rng.permuted(A, axis=0) * (1.0 - np.eye(len(A))),
    "directed without cycles": lambda rng, A, classes: np.triu(A),
    "one edge against all": lambda rng, A, classes: np.triu(A) + np.tril(_between(A, 0, -1)),
    "weights": lambda rng, A, classes: (
        A * _symmetric(rng.exponential(size=A.shape)) * 10.0 ** rng.integers(-6, 7)
    ),
    "weights far apart": lambda rng, A, classes: (
        A * _symmetric(10.0 ** rng.integers(-12, 13, size=A.shape))
    ),
    "one huge weight": lambda rng, A, classes: A + 1e12 * _between(A, 0, -1),
    "one tiny weight": lambda rng, A, classes: np.maximum(A, 1e-300 * _between(A, 0, -1)),
    "huge weights": lambda rng, A, classes: 1e49 * A,
    "weights of both directions": lambda rng, A, classes: A * rng.random(A.shape),
    "isolated nodes": lambda rng, A, classes: _cut(A, _some(rng, len(A))),
    "most nodes isolated": lambda rng, A, classes: _cut(A, _some(rng, len(A), 0.15)),
    "a class without edges": lambda rng, A, classes: _cut(A, classes > 0),
    "labelled nodes apart": lambda rng, A, classes: _cut(A, np.arange(len(A)) > len(A) // 2),
    "two parts": lambda rng, A, classes: (
        A * ((np.arange(len(A)) % 2)[:, None] == np.arange(len(A)) % 2)
    ),
    "bipartite": lambda rng, A, classes: _sides(rng, A),
    "all of two sides": lambda rng, A, classes: _sides(rng, np.ones(A.shape)),
    "between classes alone": lambda rng, A, classes: A * (classes[:, None] != classes),
    "directed cycle": lambda rng, A, classes: np.roll(np.eye(len(A)), 1, axis=1),
    "cycle of classes": lambda rng, A, classes: (
        np.ones(A.shape) * ((classes[:, None] + 1) % (classes.max() + 1) == classes)
    ),
    "path": lambda rng, A, classes: _between(A, np.arange(len(A) - 1), np.arange(1, len(A))),
    "star": lambda rng, A, classes: _between(A, 0, np.arange(1, len(A))),
    "a node joined to all": lambda rng, A, classes: _hub(A),
    "tree": lambda rng, A, classes: _tree(rng, A),
    "near in the plane": _near,
    "one edge": lambda rng, A, classes: _between(A, 0, -1),
    "one directed edge": lambda rng, A, classes: np.triu(_between(A, 0, -1)),
    "complete": lambda rng, A, classes: 1.0 - np.eye(len(A)),
    "almost complete": lambda rng, A, classes: 1.0 - np.eye(len(A)) - _between(A, 0, -1),
    "complete with weights": lambda rng, A, classes: (
        _symmetric(rng.random(A.shape)) * (1.0 - np.eye(len(A)))
    ),
    "cliques": lambda rng, A, classes: (classes[:, None] == classes) - np.eye(len(A)),
    "pairs": lambda rng, A, classes: _between(
        A, np.arange(0, len(A) - 1, 2), np.arange(1, len(A), 2)
    ),
    "loops too": lambda rng, A, classes: A + np.eye(len(A)),
    "huge loops": lambda rng, A, classes: A + 1e9 * np.eye(len(A)),
    "edges several times": lambda rng, A, classes: A * rng.integers(1, 4, size=A.shape),
    "booleans": lambda rng, A, classes: A > 0,
    "small whole numbers": lambda rng, A, classes: A.astype(np.uint8),
}


def _first_of_each(rng: Generator, classes: Any, count: int) -> Any:
    """Nodes of each class, some of them."""
    order = rng.permutation(classes.size)
    return np.concatenate([order[classes[order] == c][:count] for c in np.unique(classes)])


def _only(classes: Any, nodes: Any) -> Any:
    return np.where(np.isin(np.arange(classes.size), nodes), classes, -1)


def _one_rare(rng: Generator, classes: Any, hidden: float) -> Any:
    kept = _some(rng, classes.size, 1.0 - hidden) & (classes < classes.max())
    kept[rng.choice(np.flatnonzero(classes == classes.max()))] = True
    return np.where(kept, classes, -1)


LABELS: dict[str, Callable[[Generator, Any], Any]] = {
    "some": lambda rng, classes: np.where(_some(rng, classes.size, 0.4), classes, -1),
    "all": lambda rng, classes: classes,
    "one of each": lambda rng, classes: _only(classes, _first_of_each(rng, classes, 1)),
    "three of each": lambda rng, classes: _only(classes, _first_of_each(rng, classes, 3)),
    "one of a class": lambda rng, classes: _one_rare(rng, classes, 0.4),
    "all, one of a class": lambda rng, classes: _one_rare(rng, classes, 0.0),
    "all but one": lambda rng, classes: _only(classes, rng.permutation(classes.size)[1:]),
    "each another class": lambda rng, classes: np.where(
        _some(rng, classes.size), np.arange(classes.size), -1
    ),
    "the first nodes": lambda rng, classes: _only(classes, np.arange((classes.size + 1) // 2)),
    "random classes": lambda rng, classes: rng.permutation(classes),
}

# Columns, and features of nodes, that carry nothing, beside those of an easy table.
ADDITIONS: dict[str, Kind] = {
    "a huge column": lambda rng, X, A: (_beside(X, 1e6 * rng.standard_normal(len(X))), A),
    "three huge columns": lambda rng, X, A: (
        _beside(X, 1e4 * rng.standard_normal((len(X), 3))),
        A,
    ),
    "a column of outliers": lambda rng, X, A: (_beside(X, rng.standard_cauchy(len(X)) ** 5), A),
    "a constant column": lambda rng, X, A: (_beside(X, np.full(len(X), 1e8)), A),
    "a column far from 0": lambda rng, X, A: (_beside(X, 1e12 + rng.random(len(X))), A),
    "a denormal column": lambda rng, X, A: (_beside(X, 1e-310 * rng.random(len(X))), A),
    "numbers of the nodes": lambda rng, X, A: (_beside(X, np.arange(len(X))), A),
    "duplicated columns": lambda rng, X, A: (_beside(X, X, X), A),
    "zero columns": lambda rng, X, A: (_beside(X, np.zeros((len(X), 50))), A),
    "words": lambda rng, X, A: (_beside(X, rng.random((len(X), 30)) < 0.03), A),
    "another unit": lambda rng, X, A: (1e-12 * X, 1e7 * A),
    "units far apart": lambda rng, X, A: (X * 10.0 ** rng.integers(-9, 9, size=X.shape[1]), A),
    "an outlying node": lambda rng, X, A: (X * np.append(1e15, np.ones(len(X) - 1))[:, None], A),
    "a node joined to all": lambda rng, X, A: (X, _hub(A)),
    "one huge weight": lambda rng, X, A: (X, A + 1e9 * _between(A, 0, 1)),
    "loops": lambda rng, X, A: (X, A + 1e3 * np.eye(len(X))),
    "half of the nodes isolated": lambda rng, X, A: (X, _cut(A, _some(rng, len(X)))),
    "a graph of chance": lambda rng, X, A: (X, A[order := rng.permutation(len(X))][:, order]),
    "features of chance": lambda rng, X, A: (rng.permutation(X), A),
    "equal features": lambda rng, X, A: (np.ones(X.shape), A),
}
