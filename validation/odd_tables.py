"""Odd tables: features, labels and graphs as nobody should bring them, and what must hold for the answers.

``python -m validation.odd_tables --tables 300 --seed 0`` draws tables that are degenerate (duplicated, zero or constant rows and
columns, a column of huge variance, one label of a class, isolated nodes, a graph in two sides, a cycle, a star, ...), in unusual
forms (sparse formats, edges in parts, tables of pandas, graphs of NetworkX, half precision, integers, words, categories, masks),
or malformed (NaN, negative weights, rows too few, dates, lists of pairs, one node).
Every door refuses a table in one sentence, or answers with numbers that are probabilities, do not depend on how the table is
written, and are within their bounds; malformed ones must be refused. A node without label and edges changes little, a file has
the same answers, and columns, nodes and edges that carry nothing do not destroy an easy table. The exit status is 1 if there is a
finding.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import gcnlimit as gl
from gcnlimit.cli.app import app
from validation.odd_kinds import ADDITIONS, FEATURES, GRAPHS, LABELS, Generator
from validation.table_forms import malformed, rewritten

SIZES = (2, 3, 4, 5, 7, 12, 20, 30, 60, 150)
WIDTHS = (1, 2, 3, 8, 40, 200)


@dataclass(frozen=True)
class Table:
    """Features, classes and graph of some nodes, the names of what is odd about them, and whether they must be refused."""

    X: Any
    y: Any
    graph: Any
    odd: tuple[str, ...]
    malformed: bool = False


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
    y = LABELS[kinds[1]](rng, classes)
    rate = min(4.0 / n, 0.5) * np.where(classes[:, None] == classes, 1.5, 0.5)
    joined = np.triu(rng.random((n, n)) < rate, 1).astype(float)
    A = GRAPHS[kinds[2]](rng, joined + joined.T, classes)
    if np.unique(y[y >= 0]).size < 2:
        y = classes
    if not (A * (1 - np.eye(n))).any():
        A[0, 1] = A[1, 0] = 1
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
    if rng.random() < 0.6:  # it fits several times
        del doors["recommend"]
    usual = None
    for name, door in doors.items():
        try:
            answer = door()
        except gl.GCNLimitError as error:
            if "\n" in str(error) or not 20 < len(str(error)) < 400:
                yield f"{name} says {str(error)!r}"
            if not table.malformed and name.endswith("Classifier"):
                if not _beyond_squares(table):
                    yield f"{name} refuses: {error}"
                return
            continue
        except Exception as error:
            yield f"{name} ends in {type(error).__name__}: {error}"
            continue
        if table.malformed:
            yield f"{name} answers"
        elif name.endswith("Classifier"):
            usual = answer.predict_proba() if name == "GraphClassifier" else usual
            yield from (f"{name}: {wrong}" for wrong in _of_model(answer, table))
        else:
            yield from (f"{name}: {wrong}" for wrong in _of_words(answer))
    laws = (_of_forms, _of_forms, _of_another_node, _of_files)
    if usual is not None:
        yield from laws[rng.integers(len(laws))](table, usual, rng)


def _beyond_squares(table: Table) -> bool:
    """Whether all numbers of a matrix are outside of what double precision can square, which is refused."""
    given = [part for part in (table.X, table.graph) if part is not None]
    sizes = [np.abs(np.asarray(part, float)).max() for part in given]
    return any(0.0 < size < 1e-50 or size > 1e50 for size in sizes)


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
    if isinstance(model, gl.GraphClassifier):
        left = [row.member for row in model.table_ if "left out" in row.member]
        left = [name for name in left if not name.startswith("labels: left out, the labels")]
        if left:
            yield f"members are left out: {left}"
        free = np.flatnonzero(table.y < 0)
        if free.size:
            asked = model.review(3)
            if not (np.isin(asked, free).all() and np.unique(asked).size == min(3, free.size)):
                yield f"nodes {asked} to label next"
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


def _probabilities(*parts: Any) -> Any:
    return gl.GraphClassifier().fit(*parts).predict_proba()


def _of_forms(table: Table, usual: Any, rng: Generator) -> Iterator[str]:
    """Answers must not depend on the form of a table, the units of features and weights, or the order of its nodes."""
    forms = list(rewritten(rng, table.X, table.y, table.graph))
    forms.append(("another unit of the weights", table.X, table.y, 8.0 * table.graph))
    order = rng.permutation(len(table.y))
    X = None if table.X is None else table.X[order]
    forms.append(("another order", X, table.y[order], table.graph[np.ix_(order, order)]))
    if X is not None:
        unit = 2.0 ** rng.integers(-9, 9)
        wide = table.X.astype(float)
        forms.append(("another unit of the features", unit * wide, table.y, table.graph))
        columns = rng.permutation(wide.shape[1])
        forms.append(("another order of columns", wide[:, columns], table.y, table.graph))
    name, *parts = forms[rng.integers(len(forms))]
    try:
        other = _probabilities(*parts)
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


def _of_another_node(table: Table, usual: Any, rng: Generator) -> Iterator[str]:
    """A node without label and edges, its features those of another, changes little for the others."""
    n = len(table.y)
    if n < 60:
        return
    X = None if table.X is None else np.vstack([table.X, table.X[rng.integers(n)]])
    more = _probabilities(X, np.append(table.y, -1), np.pad(table.graph, (0, 1)))[:n]
    change = 0.5 * np.abs(more - usual).sum(axis=1).mean()
    if change > 0.08:
        yield f"another node: probabilities differ by {change:.2g} on average"


def _of_files(table: Table, usual: Any, rng: Generator) -> Iterator[str]:
    """What is written and read again, or read from two tables of pandas or by the command line, has the same answers."""
    data = gl.real.Dataset(table.graph, table.X, table.y)
    with tempfile.TemporaryDirectory() as folder:
        edges, nodes, out = (str(Path(folder) / name) for name in ("e.csv", "n.csv", "out.csv"))
        one = str(Path(folder) / "one.npz")
        try:
            if rng.random() < 0.5:
                gl.real.write(data, one)
                given = [one]
            else:
                gl.real.write(data, edges, nodes)
                given = [edges, nodes]
            again = gl.real.read(*given)
            line = ["classify", given[0], "--out", out]
            line += [f"--nodes={nodes}"] * (len(given) > 1)
            done = CliRunner().invoke(app, line) if rng.random() < 0.3 else None
        except gl.GCNLimitError as error:
            if "name one that nodes share" not in str(error):  # refused of many, read from files
                yield f"file: {error}"
            return
        except Exception as error:
            yield f"file: {type(error).__name__}: {error}"
            return
        if len(given) == 1 or table.X is None or again.X.shape == data.X.shape:
            order = np.arange(len(data.y)) if again.names is None else again.names.astype(int)
            other = _probabilities(again.X, again.y, again.graph)
            if np.abs(other - usual[order]).max() > 1e-3:
                apart = np.abs(other - usual[order]).max()
                yield f"read from {Path(given[0]).name}: probabilities differ by {apart:.2g}"
        if done is not None and (done.exit_code != 0 or not Path(out).exists()):
            yield f"classify ends in {done.exit_code}: {done.output[-300:]!r} {done.exception!r}"


def spoiled(seed: int, number: int) -> Iterator[str]:
    """What carries nothing must not destroy an easy table: accuracy with one to three additions."""
    rng = np.random.default_rng([seed, number, 1])
    n, count = 150, int(rng.integers(2, 4))
    classes = rng.permutation(np.arange(n) % count)
    means = 3.0 * np.linalg.qr(rng.standard_normal((6, count)))[0].T
    X = rng.standard_normal((n, 6)) + means[classes]
    joined = rng.random((n, n)) < np.where(classes[:, None] == classes, 14.0, 1.0) / n
    A = np.triu(joined, 1).astype(float)
    A = A + A.T
    seen = rng.permutation(n) < 60
    names = [str(name) for name in rng.choice(list(ADDITIONS), rng.integers(1, 4), replace=False)]
    for name in names:
        X, A = ADDITIONS[name](rng, X, A)
    if {"features of chance", "equal features"}.intersection(names) and {
        "a graph of chance",
        "half of the nodes isolated",
    }.intersection(names):
        return
    model = gl.GraphClassifier().fit(X, np.where(seen, classes, -1), A)
    rest = np.flatnonzero(~seen & (np.arange(n) > 0))  # the first node may be odd by itself
    accuracy = float(np.mean(model.predict()[rest] == classes[rest]))
    if accuracy < 0.85:
        yield f"{', '.join(names)}: an accuracy of {accuracy:.2f}"
    _, low, high = model.expected_accuracy_
    if not low - 0.05 <= accuracy <= high + 0.05:
        yield f"{', '.join(names)}: {accuracy:.2f} reached, {low:.2f} to {high:.2f} expected"


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
            for finding in spoiled(asked.seed, number) if number % 5 == 0 else ():
                count["findings"] += 1
                print(f"{number}, easy with {finding}", flush=True)
        count["malformed" if table.malformed else "odd"] += 1
    tried = f"{count['odd']} odd and {count['malformed']} malformed tables"
    print(f"{tried}, {count['findings']} findings, {time.monotonic() - start:.0f} s")
    return int(count["findings"] > 0)


if __name__ == "__main__":
    sys.exit(main())
