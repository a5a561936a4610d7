"""The same table in other forms, which must not change an answer, and malformed ones, which have none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np
import pandas as pd
from scipy import sparse

Generator = np.random.Generator


def rewritten(rng: Generator, X: Any, y: Any, A: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """The same table in other forms, with the name of each; answers must be the same."""
    form = str(rng.choice(["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]))
    yield f"graph as {form}", X, y, sparse.csr_array(A).asformat(form)
    yield "graph as a list", X, y, A.tolist()
    yield "graph as a table", X, y, pd.DataFrame(A)
    yield "graph as np.matrix", X, y, np.asmatrix(A)
    yield "graph of another package", X, y, networkx.from_numpy_array(A, create_using=_kind(A))
    yield "every edge in two parts", X, y, _in_parts(A)
    yield "zeros that are stored", X, y, _with_zeros(rng, A)
    if X is not None:
        yield f"features as {form}", sparse.csr_array(X.astype(float)).asformat(form), y, A
        yield "features as a list", X.tolist(), y, A
        yield "features in Fortran's order", np.asfortranarray(X), y, A
        yield "features as objects", X.astype(object), y, A
        yield "features as a table", pd.DataFrame(X, index=rng.permutation(len(X))), y, A
    names = np.array(["b", "Ä", "", "a b", " a", "nan", *map(str, range(500))], object)
    names[2] = "c"
    words = names[: y.max() + 1]
    words = np.sort(words.astype(str)).astype(object)  # in the order of the numbers
    named = np.array([None if c < 0 else words[c] for c in y], object)
    yield "words", X, named, A
    yield "categories", X, pd.Series(pd.Categorical(named)), A
    yield "classes of pandas", X, pd.Series(y, dtype="Int64").replace(-1, pd.NA), A
    yield "fractional types", X, np.where(y < 0, np.nan, y), A
    yield "huge classes", X, np.where(y < 0, -1, 2**62 + y), A
    yield "numbers as objects", X, np.array([None if c < 0 else int(c) for c in y], object), A
    if y.max() == 1 and y.min() >= 0:
        yield "booleans", X, y == 1, A
    yield "masked with nothing hidden", X, y, np.ma.masked_array(A, np.zeros(A.shape, bool))


def _kind(A: Any) -> Any:
    return networkx.Graph if np.array_equal(A, A.T) else networkx.DiGraph


def _in_parts(A: Any) -> Any:
    """Every entry as the sum of two halves."""
    coo = sparse.coo_array(A)
    row, column = np.tile(coo.coords, 2)
    return sparse.coo_array((np.tile(coo.data / 2.0, 2), (row, column)), shape=A.shape)


def _with_zeros(rng: Generator, A: Any) -> Any:
    """Zeros among the entries of a sparse matrix, which are no edges."""
    row, column = np.nonzero((A > 0) | (rng.random(A.shape) < 0.2))
    return sparse.coo_array((A[row, column], (row, column)), shape=A.shape).tocsr()


def malformed(rng: Generator, X: Any, y: Any, A: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """The same table with something that has no answer."""
    n = len(y)
    spoiled = X.astype(float)
    spoiled[rng.integers(n), rng.integers(X.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    yield "a feature that is not finite", spoiled, y, A
    yield "features of fewer nodes", X[:-1], y, A
    yield "classes of more nodes", X, np.append(y, 0), A
    yield "a weight that is not finite", X, y, np.where(np.eye(n)[::-1] > 0, np.nan, A)
    yield "negative weights", X, y, -A
    yield "no edge", X, y, np.zeros((n, n))
    yield "loops alone", X, y, np.eye(n)
    yield "one class", X, np.where(y < 0, -1, 0), A
    yield "no label", X, np.full(n, -1), A
    yield "classes between whole numbers", X, np.where(y < 0, -1.0, y + 0.5), A
    yield "infinite classes", X, np.where(y == y.max(), np.inf, y), A
    yield "one node", X[:1], y[:1], A[:1, :1]
    yield "a column of dates", pd.DataFrame(X).assign(since=pd.Timestamp("2020-01-01")), y, A
    yield "a column of words", pd.DataFrame(X).assign(kind=pd.Categorical(["a"] * n)), y, A
    yield "classes that are lists", X, [[int(c)] for c in y], A
    yield "classes in two columns", X, np.stack([y, y], axis=1), A
    yield "classes that are dates", X, np.full(n, np.datetime64("2020-01-01")), A
    yield "words and numbers", X, np.array(["a", *y[1:].tolist()], object), A
    yield "a hidden weight", X, y, np.ma.masked_array(A, A > 0.0)
    yield "a missing number", pd.DataFrame(X).astype("object").where(np.eye(*X.shape) == 0), y, A
    yield "complex numbers", X + 1j, y, A
    yield "a graph without a row", X, y, A[1:]
    if n > 2:
        yield "pairs of nodes", X, y, np.argwhere(A).tolist()
