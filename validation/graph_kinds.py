"""Graphs of forty kinds that are not of the block model, from classes and features; and features and labels that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Generator = np.random.Generator


def joined(rng: Generator, rate: Any) -> Any:
    """Symmetric graph of these probabilities."""
    A = np.triu(rng.random(rate.shape) < rate, 1).astype(float)
    return A + A.T


def blocks(rng: Generator, y: Any, B: Any, degree: float = 15.0, weight: Any = 1.0) -> Any:
    """Probabilities of edges: blocks of classes times the weights of the nodes, at a mean degree."""
    rate = np.asarray(B, float)[y][:, y] * np.multiply.outer(weight, np.ones(y.size))
    rate = rate * np.multiply.outer(np.ones(y.size), weight)
    return np.minimum(degree / y.size * rate / rate.mean(), 1.0)


def alike(count: int, inside: float = 4.0) -> Any:
    """Blocks of the model."""
    return np.ones((count, count)) + (inside - 1.0) * np.eye(count)


def _core(rng: Generator, y: Any, X: Any) -> Any:
    B = np.outer(*[np.linspace(1.0, 3.0, y.max() + 1)] * 2)
    return joined(rng, blocks(rng, y, B))


def _cycle(rng: Generator, y: Any, X: Any) -> Any:
    B = np.ones((y.max() + 1,) * 2) + 3.0 * np.roll(np.eye(y.max() + 1), 1, axis=1)
    A = (rng.random((y.size,) * 2) < blocks(rng, y, B)).astype(float)
    return A * (1.0 - np.eye(y.size))


def _citations(rng: Generator, y: Any, X: Any) -> Any:
    """Later nodes point to earlier ones, mostly of their class."""
    return np.tril((rng.random((y.size,) * 2) < 2.0 * blocks(rng, y, alike(y.max() + 1))), -1) * 1.0


def _up(rng: Generator, y: Any, X: Any) -> Any:
    """Each class points to the next ones, none back."""
    B = np.triu(np.ones((y.max() + 1,) * 2)) * 3.0 + 1.0
    return (rng.random((y.size,) * 2) < blocks(rng, y, B)) * (1.0 - np.eye(y.size))


def _bipartite(rng: Generator, y: Any, X: Any) -> Any:
    side = rng.random(y.size) < 0.5
    return joined(rng, 2.0 * blocks(rng, y, alike(y.max() + 1)) * (side[:, None] != side))


def _near(rng: Generator, y: Any, X: Any, place: Any, degree: int = 10) -> Any:
    """Each node joined to those nearest to it."""
    apart = np.linalg.norm(place[:, None] - place, axis=2)
    np.fill_diagonal(apart, np.inf)
    A = np.zeros((y.size, y.size))
    np.put_along_axis(A, apart.argsort(axis=1)[:, :degree], 1.0, axis=1)
    return np.maximum(A, A.T)


def _geometric(rng: Generator, y: Any, X: Any) -> Any:
    angle = 2.0 * np.pi * y / (y.max() + 1)
    place = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.7 * rng.standard_normal((y.size, 2))
    return _near(rng, y, X, place)


def _stripes(rng: Generator, y: Any, X: Any) -> Any:
    """A grid whose rows are sorted by class."""
    wide = int(np.sqrt(y.size))
    A = np.zeros((y.size, y.size))
    order = np.argsort(y + 0.3 * rng.standard_normal(y.size))
    for step in (1, wide):
        A[order[:-step], order[step:]] = 1.0
    return np.maximum(A, A.T)


def _small_world(rng: Generator, y: Any, X: Any) -> Any:
    order = np.argsort(y + 0.5 * rng.standard_normal(y.size))
    A = np.zeros((y.size, y.size))
    for step in range(1, 6):
        A[order, np.roll(order, step)] = 1.0
    moved = rng.random(A.shape) < 0.2
    A = np.where(moved, 0.0, A) + np.triu(rng.random(A.shape) < 2.0 / y.size, 1)
    return np.minimum(A + A.T, 1.0)


def _hierarchy(rng: Generator, y: Any, X: Any) -> Any:
    """Pairs of classes are near each other."""
    near = (y[:, None] // 2) == (y // 2)
    rate = np.where(y[:, None] == y, 6.0, np.where(near, 3.0, 0.5))
    return joined(rng, 15.0 / y.size * rate / rate.mean())


def _communities(rng: Generator, y: Any, X: Any, count: int = 3) -> Any:
    """Communities within the classes."""
    part = y * count + rng.integers(count, size=y.size)
    rate = np.where(part[:, None] == part, 8.0, 0.5)
    return joined(rng, 15.0 / y.size * rate / rate.mean())


def _two_layers(rng: Generator, y: Any, X: Any) -> Any:
    other = rng.integers(3, size=y.size)
    return np.maximum(
        joined(rng, blocks(rng, y, alike(y.max() + 1), 8.0)),
        joined(rng, blocks(rng, other, alike(3, 9.0), 8.0)),
    )


def _third(rng: Generator, y: Any, X: Any) -> Any:
    """All classes are linked to the last one alone."""
    B = 0.3 * np.ones((y.max() + 1,) * 2)
    B[-1] = B[:, -1] = 2.0
    return joined(rng, blocks(rng, y, B))


def _one_inside(rng: Generator, y: Any, X: Any) -> Any:
    """One class is linked to itself, the others to each other."""
    B = np.ones((y.max() + 1,) * 2)
    B[0, 1:] = B[1:, 0] = 0.3
    B[0, 0] = y.max()
    return joined(rng, blocks(rng, y, B))


def _degrees(rng: Generator, y: Any, X: Any) -> Any:
    return joined(
        rng, blocks(rng, y, alike(y.max() + 1), weight=np.linspace(1.0, 2.5, y.max() + 1)[y])
    )


def _variance(rng: Generator, y: Any, X: Any) -> Any:
    """One class has hubs, the mean degree is the same."""
    weight = np.where(y == 0, rng.gamma(0.4, 1 / 0.4, y.size), 1.0)
    return joined(rng, blocks(rng, y, np.ones((y.max() + 1,) * 2), weight=weight))


def _tree(rng: Generator, y: Any, X: Any) -> Any:
    A = np.zeros((y.size, y.size))
    for k in range(1, y.size):
        same = np.flatnonzero(y[:k] == y[k])
        pick = rng.choice(same) if same.size and rng.random() < 0.8 else rng.integers(k)
        A[k, pick] = A[pick, k] = 1.0
    return A


def _attachment(rng: Generator, y: Any, X: Any) -> Any:
    A = np.zeros((y.size, y.size))
    degree = np.ones(y.size)
    for k in range(5, y.size):
        weight = degree[:k] * np.where(y[:k] == y[k], 3.0, 1.0)
        pick = rng.choice(k, 5, replace=False, p=weight / weight.sum())
        A[k, pick] = A[pick, k] = 1.0
        degree[pick] += 1.0
        degree[k] += 5.0
    return A


def _cliques(rng: Generator, y: Any, X: Any) -> Any:
    """Papers of three to six authors, mostly of one class."""
    A = np.zeros((y.size, y.size))
    for _ in range(y.size):
        kind = rng.integers(y.max() + 1)
        weight = np.where(y == kind, 5.0, 1.0)
        team = rng.choice(y.size, rng.integers(3, 7), replace=False, p=weight / weight.sum())
        A[np.ix_(team, team)] = 1.0
    return A * (1.0 - np.eye(y.size))


def _weighted(rng: Generator, y: Any, X: Any) -> Any:
    """Edges of chance whose weights tell the classes."""
    A = joined(rng, blocks(rng, y, np.ones((y.max() + 1,) * 2)))
    W = np.triu(rng.exponential(np.where(y[:, None] == y, 3.0, 1.0)), 1)
    return A * (W + W.T)


def _multiplied(rng: Generator, y: Any, X: Any) -> Any:
    """The model, its weights of chance."""
    A = joined(rng, blocks(rng, y, alike(y.max() + 1)))
    W = np.triu(rng.exponential(size=A.shape), 1)
    return A * (W + W.T)


def _by_features(rng: Generator, y: Any, X: Any) -> Any:
    """Edges follow a feature as well as the class."""
    near = np.exp(-((X[:, :1] - X[:, 0]) ** 2))
    rate = blocks(rng, y, alike(y.max() + 1, 3.0)) * near
    return joined(rng, rate * 15.0 / y.size / rate.mean())


def _isolated(rng: Generator, y: Any, X: Any) -> Any:
    kept = rng.random(y.size) < 0.5
    return 2.0 * joined(rng, 2.0 * blocks(rng, y, alike(y.max() + 1)) * kept * kept[:, None]) / 2.0


def _triangles(rng: Generator, y: Any, X: Any) -> Any:
    """Neighbours of neighbours are joined."""
    A = joined(rng, blocks(rng, y, alike(y.max() + 1), 6.0))
    return np.minimum(A + ((A @ A > 0) & (joined(rng, np.full(A.shape, 0.2)) > 0)), 1.0) * (
        1.0 - np.eye(y.size)
    )


def _signs(rng: Generator, y: Any, X: Any) -> Any:
    """Half of the classes attract their own, the others avoid it."""
    B = np.ones((y.max() + 1,) * 2)
    B[np.diag_indices_from(B)] = np.where(np.arange(y.max() + 1) % 2, 0.2, 4.0)
    return joined(rng, blocks(rng, y, B))


def _xor(rng: Generator, y: Any, X: Any) -> Any:
    """Nodes are joined where a hidden bit and the class agree."""
    bit = rng.integers(2, size=y.size)
    rate = np.where((y[:, None] == y) == (bit[:, None] == bit), 4.0, 1.0)
    return joined(rng, 15.0 / y.size * rate / rate.mean())


def _few_hubs(rng: Generator, y: Any, X: Any) -> Any:
    """Few nodes of one class have ten times the edges of others, among blocks of the model."""
    weight = np.where((y == 0) & (rng.random(y.size) < 0.06), 10.0, 1.0)
    return joined(rng, blocks(rng, y, alike(y.max() + 1), weight=weight))


def _ring(rng: Generator, y: Any, X: Any) -> Any:
    """Each node joined to the next two of a ring on which classes have their arcs, nearly."""
    order = np.argsort(y + 0.3 * rng.standard_normal(y.size))
    A = np.zeros((y.size, y.size))
    for step in (1, 2):
        A[order, np.roll(order, step)] = 1.0
    return np.maximum(A, A.T)


def _apart(rng: Generator, y: Any, X: Any) -> Any:
    """Parts of thirty nodes without edges between them, each a block model of its own."""
    part = rng.integers(max(y.size // 30, 2), size=y.size)
    return joined(rng, 0.3 * np.where(y[:, None] == y, 1.0, 0.3) * (part[:, None] == part))


def _counts(rng: Generator, y: Any, X: Any) -> Any:
    """Edges of the model several times, as messages between people are."""
    A = joined(rng, blocks(rng, y, alike(y.max() + 1)))
    W = np.triu(1.0 + rng.poisson(np.where(y[:, None] == y, 2.0, 0.5)), 1)
    return A * (W + W.T)


def _by_parity(rng: Generator, y: Any, X: Any, A: Any) -> Any:
    """The class is the sign of a product of two features, or which quarter of the circle."""
    X = rng.standard_normal(X.shape)
    angle = 2.0 * np.pi * (y + rng.random(y.size) + (y.max() + 1) * rng.integers(2, size=y.size))
    size = 1.0 + 0.3 * rng.standard_normal(y.size)
    X[:, 0], X[:, 1] = (size * turn(0.5 * angle / (y.max() + 1)) for turn in (np.cos, np.sin))
    return X


def _shells(rng: Generator, y: Any, X: Any, A: Any) -> Any:
    """Classes are shells around 0."""
    X = rng.standard_normal(X.shape)
    return (1.0 + y + 0.3 * rng.standard_normal(y.size))[:, None] * unit(X)


def unit(X: Any) -> Any:
    """Rows of norm 1."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _of_degree(rng: Generator, y: Any, X: Any, A: Any) -> Any:
    """Features of the class grow with the degree."""
    degree = A.sum(axis=1)
    return X * (degree / degree.mean())[:, None] + 0.1 * rng.standard_normal(X.shape)


def _covariance(rng: Generator, y: Any, X: Any, A: Any) -> Any:
    """Each class has a covariance of its own, and the same mean."""
    turns = rng.standard_normal((y.max() + 1, X.shape[1], X.shape[1]))
    return np.einsum("ij,ijk->ik", rng.standard_normal(X.shape), turns[y])


def _words(rng: Generator, y: Any, X: Any, A: Any) -> Any:
    """Words, each class with its own frequencies."""
    rates = rng.gamma(0.3, 1.0, (y.max() + 1, 100))
    return rng.poisson(8.0 * rates[y] / rates[y].sum(axis=1, keepdims=True)).astype(float)


# Features on a graph of the model.
FEATURES: dict[str, Callable[[Generator, Any, Any, Any], Any]] = {
    "features by parity": _by_parity,
    "features in shells": _shells,
    "features of the degree": _of_degree,
    "a covariance for each class": _covariance,
    "words": _words,
    "features of the neighbours": lambda rng, y, X, A: (
        X + A @ X / np.maximum(A.sum(axis=1), 1.0)[:, None]
    ),
    "heavy tails": lambda rng, y, X, A: X / rng.random(y.size)[:, None] ** 2,
}
# Probability that a node has a label, over the mean, on a graph of the model.
SEEN: dict[str, Callable[[Generator, Any, Any, Any], Any]] = {
    "labels of one class": lambda rng, y, X, A: np.where(y == 0, 3.0, 0.7),
    "labels of nodes with edges": lambda rng, y, X, A: A.sum(axis=1) / A.sum(axis=1).mean(),
    "labels by a feature": lambda rng, y, X, A: np.where(X[:, 0] > 0.5, 2.5, 0.5),
    "labels in one corner": lambda rng, y, X, A: 3.0 * (A[: y.size // 20].sum(axis=0) > 0),
}
KINDS: dict[str, Callable[[Generator, Any, Any], Any]] = {
    "core and periphery": _core,
    "cycle of classes": _cycle,
    "citations in time": _citations,
    "each class to the next ones": _up,
    "bipartite": _bipartite,
    "in the plane": _geometric,
    "nearest in the features": lambda rng, y, X: _near(rng, y, X, X),
    "nearest, directed": lambda rng, y, X: np.triu(_near(rng, y, X, X)),
    "grid with stripes": _stripes,
    "small world": _small_world,
    "hierarchy": _hierarchy,
    "communities in classes": _communities,
    "many communities": lambda rng, y, X: _communities(rng, y, X, 12),
    "two layers": _two_layers,
    "linked to a third class": _third,
    "one class inside": _one_inside,
    "degrees of the class": _degrees,
    "hubs of one class": _variance,
    "tree": _tree,
    "attachment": _attachment,
    "cliques of authors": _cliques,
    "weights tell": _weighted,
    "weights of chance": _multiplied,
    "edges by a feature": _by_features,
    "half isolated": _isolated,
    "triangles": _triangles,
    "some classes avoid their own": _signs,
    "a hidden bit": _xor,
    "all of a class": lambda rng, y, X: (y[:, None] == y) - np.eye(y.size),
    "as the model": lambda rng, y, X: joined(rng, blocks(rng, y, alike(y.max() + 1, 2.5))),
    "few hubs, of one class": _few_hubs,
    "degrees of the class, nearly": lambda rng, y, X: joined(
        rng, blocks(rng, y, alike(y.max() + 1), weight=np.linspace(1.0, 1.35, y.max() + 1)[y])
    ),
    "ring": _ring,
    "parts apart": _apart,
    "edges several times": _counts,
    "the classes avoided": lambda rng, y, X: joined(rng, blocks(rng, y, alike(y.max() + 1, 0.2))),
    "sparse": lambda rng, y, X: joined(rng, blocks(rng, y, alike(y.max() + 1), 2.0)),
    "dense": lambda rng, y, X: joined(rng, blocks(rng, y, alike(y.max() + 1, 1.3), 0.3 * y.size)),
}
