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
    yield "unsorted indices of 64 bits", X, y, _unsorted(rng, A)
    yield "graph that cannot be written to", X, y, _read_only(A)
    yield "graph as every other number", X, y, np.kron(A, np.ones((2, 2)))[::2, ::2]
    if np.array_equal(A, A.astype(bool)):
        yield "graph of booleans", X, y, A.astype(bool)
        yield "graph of sparse booleans", X, y, sparse.csr_array(A.astype(bool))
        yield "graph of half precision", X, y, A.astype(np.float16)
    if X is not None:
        yield from ((name, other, y, A) for name, other in _rewritten_features(rng, X, form))
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
    yield "classes that cannot be written to", X, _read_only(y), A
    yield "classes of another index", X, pd.Series(y, index=rng.permutation(len(y))), A
    yield "every other class", X, np.repeat(y, 2)[::2], A
    yield "classes of 32 bits", X, y.astype(np.int32), A
    yield "words of fixed width", X, np.where(y < 0, "", words[np.maximum(y, 0)].astype(str)), A
    yield "words of pandas", X, pd.Series(named, dtype="string"), A
    if y.max() == 1 and y.min() >= 0:
        yield "booleans", X, y == 1, A
    yield "masked with nothing hidden", X, y, np.ma.masked_array(A, np.zeros(A.shape, bool))


def _rewritten_features(rng: Generator, X: Any, form: str) -> Iterator[tuple[str, Any]]:
    yield f"features as {form}", sparse.csr_array(X.astype(float)).asformat(form)
    yield "features as a list", X.tolist()
    yield "features in Fortran's order", np.asfortranarray(X)
    yield "features as objects", X.astype(object)
    yield "features as a table", pd.DataFrame(X, index=rng.permutation(len(X)))
    names = [f"x{k // 2}" for k in range(X.shape[1])]  # pairs of one name
    yield "columns of equal names", pd.DataFrame(X, index=["a"] * len(X), columns=names)
    yield "features of unsorted indices", _unsorted(rng, X.astype(float))
    yield "features that cannot be written to", _read_only(X)
    yield "every other row", np.repeat(X, 2, axis=0)[::2]
    yield "columns backwards and back", X[:, ::-1].copy()[:, ::-1]
    yield "features as np.matrix", np.asmatrix(X)
    yield "features of sparse pandas", pd.DataFrame(X.astype(float)).astype(pd.SparseDtype())
    yield "features of the other bytes", X.astype(X.dtype.newbyteorder(">"))


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


def _unsorted(rng: Generator, A: Any) -> Any:
    """Every entry in two parts of any order within its row, with indices of 64 bits."""
    coo = sparse.coo_array(A)
    order = rng.permutation(2 * coo.nnz)
    row, column = (np.tile(part, 2)[order] for part in coo.coords)
    order = order[by_row := np.argsort(row, kind="stable")]
    start = np.searchsorted(row[by_row], np.arange(A.shape[0] + 1)).astype(np.int64)
    parts = (np.tile(0.5 * coo.data, 2)[order], column[by_row].astype(np.int64), start)
    return sparse.csr_array(parts, shape=A.shape)


def _read_only(array: Any) -> Any:
    array = array.copy()
    array.setflags(write=False)
    return array


def malformed(rng: Generator, X: Any, y: Any, A: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """The same table with something that has no answer."""
    n = len(y)
    A = A.astype(float)
    edge = np.argwhere(A * (1.0 - np.eye(n)))[0]
    spoiled = X.astype(float)
    spoiled[rng.integers(n), rng.integers(X.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    yield "a feature that is not finite", spoiled, y, A
    yield "features of fewer nodes", X[:-1], y, A
    yield "classes of more nodes", X, np.append(y, 0), A
    yield "a weight that is not finite", X, y, np.where(np.eye(n)[::-1] > 0, np.nan, A)
    yield "negative weights", X, y, -A
    for name, value in (("negative", -1e-9), ("infinite", np.inf), ("missing", np.nan)):
        one = A.copy()
        one[*edge] = value
        yield f"one {name} weight", X, y, one
        yield f"one {name} weight of a sparse graph", X, y, sparse.csc_array(one)
    yield "a weight that cannot be squared", X, y, np.where(A > 0, 1e200, A)
    yield "an infinite loop", X, y, A + np.diag([np.inf, *np.zeros(n - 1)])
    yield "no feature", X[:, :0], y, A
    yield "features of no node", X[:0], y, A
    yield "a node that is not there", X, y, _out_of_range(A)
    yield "features that cannot be squared", 1e200 * np.maximum(np.abs(X.astype(float)), 1.0), y, A
    yield "features as words", np.asarray(X, float).astype(str), y, A
    yield "a sparse feature that is missing", sparse.csc_array(spoiled), y, A
    yield "a hidden feature", np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == 0), y, A
    yield "a feature that is None", _with_none(X), y, A
    yield "hidden classes", X, np.ma.masked_array(y, y == y.max()), A
    yield "classes as bytes", X, np.where(y < 0, b"", b"a"), A
    yield "classes that are complex", X, y + 0j, A
    yield "classes that are intervals", X, pd.Series(pd.IntervalIndex.from_breaks(range(n + 1))), A
    yield "a graph as words", X, y, A.astype(str)
    yield "a graph of three axes", X, y, A[None]
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


def _out_of_range(A: Any) -> Any:
    """A sparse graph with an edge to a node that is not there."""
    csr = sparse.csr_array(A)
    csr.indices[-1] = len(A) + 3
    return csr


def _with_none(X: Any) -> Any:
    holed = X.astype(object)
    holed[0, 0] = None
    return holed
