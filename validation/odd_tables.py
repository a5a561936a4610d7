"""Odd tables: features, labels and graphs as nobody should bring them, and what must hold for the answers.

``python -m validation.odd_tables --tables 300 --seed 0`` draws tables that are degenerate (duplicated, zero or constant rows and
columns, a column of huge variance, one label of a class, isolated nodes, a graph in two sides, a cycle, a star, ...), in unusual
forms (sparse formats, edges in parts, tables of pandas, graphs of NetworkX, half precision, integers, words, categories, masks),
or malformed (NaN, negative weights, rows too few, dates, lists of pairs, one node).
Every door refuses a table in one sentence, or answers with numbers that are probabilities, do not depend on how the table is
written, and are within their bounds; malformed ones must be refused. The exit status is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gcnlimit as gl
from validation.table_forms import malformed, rewritten

Generator = np.random.Generator
SIZES = (2, 3, 4, 7, 12, 30, 60, 150)
WIDTHS = (1, 2, 3, 8, 40, 200)


@dataclass(frozen=True)
class Table:
    """Features, classes and graph of some nodes, the names of what is odd about them, and whether they must be refused."""

    X: Any
    y: Any
    graph: Any
    odd: tuple[str, ...]
    malformed: bool = False


# Each kind of features from Gaussian ones, whose means differ between the classes.
FEATURES: dict[str, Callable[[Generator, Any, Any], Any]] = {
    "plain": lambda rng, X, classes: X,
    "duplicated rows": lambda rng, X, classes: X[rng.integers(max(len(X) // 5, 1), size=len(X))],
    "equal rows": lambda rng, X, classes: np.repeat(X[:1], len(X), axis=0),
    "zero rows": lambda rng, X, classes: X * (rng.random(len(X)) < 0.5)[:, None],
    "zero": lambda rng, X, classes: 0.0 * X,
    "rank one": lambda rng, X, classes: np.outer(rng.standard_normal(len(X)), X[0]),
    "constant columns": lambda rng, X, classes: np.where(rng.random(X.shape[1]) < 0.6, X[0], X),
    "a huge column": lambda rng, X, classes: X * np.append(1e9, np.ones(X.shape[1] - 1)),
    "units far apart": lambda rng, X, classes: X * 10.0 ** rng.integers(-20, 20, size=X.shape[1]),
    "far from 0": lambda rng, X, classes: X + 10.0 ** rng.integers(3, 10),
    "counts": lambda rng, X, classes: rng.poisson(np.exp(X - 2.0)).astype(float),
    "heavy tails": lambda rng, X, classes: X / rng.random(X.shape) ** 3,
    "the classes": lambda rng, X, classes: np.eye(classes.max() + 1)[classes],
    "squares beyond single precision": lambda rng, X, classes: 1e30 * X,
    "half precision": lambda rng, X, classes: X.astype(np.float16),
    "whole numbers": lambda rng, X, classes: np.round(3.0 * X).astype(np.int8),
    "booleans": lambda rng, X, classes: X > 0.0,
    "huge whole numbers": lambda rng, X, classes: rng.integers(-(2**62), 2**62, size=X.shape),
    "one column": lambda rng, X, classes: X[:, :1],
    "numbers of the nodes": lambda rng, X, classes: np.arange(len(X))[:, None] + 10**12,
    "nearly parallel rows": lambda rng, X, classes: X[:1] + 1e-7 * X,
}


def _cut(A: Any, kept: Any) -> Any:
    """The graph among some nodes, the others isolated."""
    return A * kept * kept[:, None]


def _sides(rng: Generator, A: Any) -> Any:
    """Edges between two sides alone."""
    side = rng.random(len(A)) < 0.5
    return A * (side != side[:, None])


def _weighted(rng: Generator, A: Any) -> Any:
    """Symmetric weights of any unit."""
    W = np.triu(rng.exponential(size=A.shape))
    return A * (W + W.T) * 10.0 ** rng.integers(-6, 7)


def _between(A: Any, first: Any, second: Any) -> Any:
    """Edges of these pairs alone."""
    edges = np.zeros_like(A)
    edges[first, second] = edges[second, first] = 1.0
    return edges


# Each kind of graph from a symmetric one, whose nodes prefer their own class.
GRAPHS: dict[str, Callable[[Generator, Any, Any], Any]] = {
    "plain": lambda rng, A, classes: A,
    "directed": lambda rng, A, classes: rng.permuted(A, axis=0) * (1.0 - np.eye(len(A))),
    "weights": lambda rng, A, classes: _weighted(rng, A),
    "isolated nodes": lambda rng, A, classes: _cut(A, rng.random(len(A)) < 0.5),
    "a class without edges": lambda rng, A, classes: _cut(A, classes > 0),
    "bipartite": lambda rng, A, classes: _sides(rng, A),
    "directed cycle": lambda rng, A, classes: np.roll(np.eye(len(A)), 1, axis=1),
    "star": lambda rng, A, classes: _between(A, 0, np.arange(1, len(A))),
    "one edge": lambda rng, A, classes: _between(A, 0, -1),
    "complete": lambda rng, A, classes: 1.0 - np.eye(len(A)),
    "cliques": lambda rng, A, classes: (classes[:, None] == classes) - np.eye(len(A)),
    "pairs": lambda rng, A, classes: _between(
        A, np.arange(0, len(A) - 1, 2), np.arange(1, len(A), 2)
    ),
    "loops too": lambda rng, A, classes: A + np.eye(len(A)),
    "edges several times": lambda rng, A, classes: A * rng.integers(1, 4, size=A.shape),
    "labelled nodes apart": lambda rng, A, classes: _cut(A, np.arange(len(A)) > len(A) // 2),
}


def labels(rng: Generator, kind: str, classes: Any) -> Any:
    """Classes of some nodes, -1 elsewhere."""
    n = classes.size
    if kind == "all":
        return classes
    if kind == "one of each":
        seen = np.unique(rng.permutation(n), return_index=True)[1]
        first = [seen[classes[seen] == c][0] for c in np.unique(classes)]
        return np.where(np.isin(np.arange(n), first), classes, -1)
    if kind == "one of a class":
        rare = np.flatnonzero(classes == classes.max())
        kept = (rng.random(n) < 0.6) & (classes < classes.max())
        kept[rng.choice(rare)] = True
        return np.where(kept, classes, -1)
    if kind == "each another class":
        return np.where(rng.random(n) < 0.5, np.arange(n), -1)
    if kind == "all but one":
        return np.where(np.arange(n) == rng.integers(n), -1, classes)
    return np.where(rng.random(n) < 0.4, classes, -1)


LABELS = ("some", "all", "one of each", "one of a class", "all but one", "each another class")


def drawn(seed: int, number: int) -> Table:
    """One odd table; a pair of a seed and a number gives the same again."""
    rng = np.random.default_rng([seed, number])
    n = int(rng.choice(SIZES))
    kinds = [str(rng.choice(list(names))) for names in (FEATURES, LABELS, GRAPHS)]
    count = int(min(rng.choice([2, 2, 3, 5]), n))
    classes = rng.integers(count, size=n)
    classes[:count] = np.arange(count)
    classes = classes[rng.permutation(n)]
    width = int(rng.choice(WIDTHS))
    means = 0.5 * rng.standard_normal((count, width))
    X = FEATURES[kinds[0]](rng, rng.standard_normal((n, width)) + means[classes], classes)
    y = labels(rng, kinds[1], classes)
    rate = min(4.0 / n, 0.5) * np.where(classes[:, None] == classes, 1.5, 0.5)
    joined = np.triu(rng.random((n, n)) < rate, 1).astype(float)
    A = GRAPHS[kinds[2]](rng, joined + joined.T, classes)
    if np.unique(y[y >= 0]).size < 2:
        y = classes
    if not (A - np.diag(np.diag(A))).any():
        A[0, 1] = A[1, 0] = 1.0
    if number % 4 == 3:
        wrong = list(malformed(rng, X, y, A))
        name, X, y, A = wrong[rng.integers(len(wrong))]
        return Table(X, y, A, (*kinds, name), malformed=True)
    if rng.random() < 0.15:
        X, kinds[0] = None, "no features"
    return Table(X, y, A, tuple(kinds))


def findings(table: Table, rng: Generator) -> Iterator[str]:
    """What is wrong with the answers to one table, in words."""
    given = (table.X, table.y, table.graph)
    doors: dict[str, Callable[[], Any]] = {
        "GraphClassifier": lambda: gl.GraphClassifier().fit(*given),
        "FilterClassifier": lambda: gl.FilterClassifier().fit(*given),
        "estimate": lambda: gl.estimate(*given),
        "describe": lambda: gl.describe(*given),
        "recommend": lambda: gl.recommend(*given),
    }
    for name, door in doors.items():
        try:
            answer = door()
        except gl.GCNLimitError as error:
            if "\n" in str(error) or len(str(error)) < 20:
                yield f"{name} says {str(error)!r}"
            if not table.malformed and name.endswith("Classifier"):
                yield f"{name} refuses: {error}"
            continue
        except Exception as error:
            yield f"{name} ends in {type(error).__name__}: {error}"
            continue
        if table.malformed:
            yield f"{name} answers"
        elif name.endswith("Classifier"):
            yield from (f"{name}: {wrong}" for wrong in _of_model(answer, table))
        else:
            yield from (f"{name}: {wrong}" for wrong in _of_words(answer))
    if not table.malformed:
        yield from _of_forms(table, rng)


def _of_model(model: Any, table: Table) -> Iterator[str]:
    """Laws of a fitted classifier."""
    p = model.predict_proba()
    if not (np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1.0) and p.min() >= 0.0):
        yield "probabilities that are none"
    if not np.isin(model.predict(), model.classes_).all():
        yield "classes that are none"
    value, low, high = model.expected_accuracy_
    inside = 0.0 <= low <= high <= 1.0 + 1e-9 and (value is None or low <= value <= high + 1e-9)
    if not (inside and 0.0 <= model.loo_score_ <= 1.0 and model.loo_score_error_ >= 0.0):
        yield f"an accuracy of {model.loo_score_}, expected {value} between {low} and {high}"
    if not np.isfinite(list(model.loo_scores_.values())).all():
        yield f"scores of {model.loo_scores_}"
    weights = [row.weight for row in getattr(model, "table_", ())]
    if weights and not abs(sum(weights) - 1.0) < 1e-9:
        yield f"weights of sum {sum(weights)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other fractions
        order = np.arange(len(p))[::-1]
        X = None if table.X is None else table.X[order]
        there = model.predict_proba(X, graph=table.graph[np.ix_(order, order)])
    if not (np.isfinite(there).all() and np.allclose(there.sum(axis=1), 1.0)):
        yield "probabilities on another graph that are none"


def _of_words(answer: Any) -> Iterator[str]:
    """Laws of an estimate, a description and a recommendation."""
    text = str(answer)
    if "nan" in text.lower().replace("finance", "") or "inf " in text:
        yield f"it says {text!r}"
    estimate = getattr(answer, "estimate", answer)
    if not np.isfinite([estimate.lam, estimate.mu, estimate.alpha, estimate.rho]).all():
        yield f"signals {estimate.lam} and {estimate.mu}"
    if not (estimate.lam_error > 0.0 and estimate.mu_error >= 0.0):
        yield f"errors {estimate.lam_error} and {estimate.mu_error}"


def _of_forms(table: Table, rng: Generator) -> Iterator[str]:
    """Answers must not depend on the form of a table, the unit of its weights, or the order of its nodes."""
    usual = gl.GraphClassifier().fit(table.X, table.y, table.graph).predict_proba()
    forms = list(rewritten(rng, table.X, table.y, table.graph))
    forms.append(("another unit of the weights", table.X, table.y, 8.0 * table.graph))
    order = rng.permutation(len(table.y))
    X = None if table.X is None else table.X[order]
    forms.append(("another order", X, table.y[order], table.graph[np.ix_(order, order)]))
    name, *parts = forms[rng.integers(len(forms))]
    try:
        other = gl.GraphClassifier().fit(*parts).predict_proba()
    except gl.GCNLimitError as error:
        if name != "masked with nothing hidden":
            yield f"{name}: {error}"
        return
    except Exception as error:
        yield f"{name}: {type(error).__name__}: {error}"
        return
    other = other[np.argsort(order)] if name == "another order" else other
    if np.abs(other - usual).max() > 1e-3:
        yield f"{name}: probabilities differ by {np.abs(other - usual).max():.2g}"


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="one table again")
    asked = parser.parse_args(arguments)
    count: Counter[str] = Counter()
    numbers = range(asked.tables) if asked.number is None else [asked.number]
    start = time.monotonic()
    for number in numbers:
        table = drawn(asked.seed, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for finding in findings(table, np.random.default_rng(number)):
                count["findings"] += 1
                print(f"{number}, {', '.join(table.odd)}: {finding}", flush=True)
        count["malformed" if table.malformed else "odd"] += 1
    tried = f"{count['odd']} odd and {count['malformed']} malformed tables"
    print(f"{tried}, {count['findings']} findings, {time.monotonic() - start:.0f} s")
    return int(count["findings"] > 0)


if __name__ == "__main__":
    sys.exit(main())
