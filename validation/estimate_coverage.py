"""How often estimates lie within two standard errors of the truth, and predictions of it, on graphs of the model.

Graphs of 1000 to 4000 nodes, 2 to 30 % of them labelled, of both signs, directed and not, are drawn by a generator of its own:
``python -m validation.estimate_coverage --graphs 200 --workers 16 --out coverage.json``; with ``--labelled 3 6``, graphs of
600 nodes of which three or six are labelled; with ``--classes 0.3/0.7``, classes of these fractions.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

import gcnlimit as gl
from gcnlimit.classes import simplex_codes
from gcnlimit.graphs.standard import StandardizedGraph
from gcnlimit.real.estimate import estimate_standard

NETWORK = gl.GCN(gl.Diffusion(1.0))
DEGREE = 30


class Graph(NamedTuple):
    """Features, classes (-1 where hidden), adjacency matrix, and the model that they were drawn from."""

    X: np.ndarray
    y: np.ndarray
    adjacency: sparse.csr_array
    data: gl.CSBM


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=200, help="graphs for each number of classes")
    parser.add_argument(
        "--classes", type=as_classes, nargs="+", default=[2, 4], help="a number, or fractions a/b"
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["labels", "likelihood"],
        help="for two equal classes; labels for others",
    )
    parser.add_argument(
        "--labelled", type=int, nargs="+", default=[None], help="so many labelled nodes, of 600"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="every estimate, as JSON")
    given = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(given.workers) as pool:
        for classes, labelled in product(given.classes, given.labelled):
            for method in given.methods if classes == 2 else ["labels"]:
                draw = partial(compared, classes=classes, method=method, labelled=labelled)
                found = list(pool.map(draw, range(given.graphs)))
                print(
                    f"{classes} classes, {method}, {labelled or '2 to 30 %'} labelled: {report(found)}",
                    flush=True,
                )
                rows += found
                if given.out:
                    given.out.write_text(json.dumps(rows, indent=0))


def as_classes(text):
    """A number of equal classes, or the fractions of unequal ones."""
    return tuple(map(float, text.split("/"))) if "/" in text else int(text)


def drawn(k, classes=2, labelled=None):
    """The k-th graph of so many equal classes or of these fractions, 2 to 30 % of its nodes labelled, or so many of 600."""
    fractions = gl.CSBM(1, 0, 0, 1, classes=classes).fractions
    rng = np.random.default_rng(
        [classes, k] if isinstance(classes, int) else [*np.rint(1000 * fractions).astype(int), k]
    )
    # at a larger signal the probability of some edges would be negative
    largest = min(2.0 if classes == 2 else 1.7, np.sqrt(DEGREE) / (1.0 / fractions.min() - 1.0))
    lam = float(rng.choice([-1, 1]) * rng.uniform(0.3, largest))
    rho = float(np.exp(rng.uniform(np.log(0.02), np.log(0.3))))
    alpha, mu, directed = (
        float(rng.choice([1, 2, 4])),
        float(rng.uniform(0.0, 4.0)),
        bool(rng.integers(2)),
    )
    nodes = int(rng.integers(1000, 4000)) if labelled is None else 600
    rho = rho if labelled is None else labelled / nodes
    return sampled(gl.CSBM(alpha, lam, mu, rho, directed=directed, classes=classes), nodes, rng)


def sampled(data, nodes, rng):
    """Features, labels with some hidden, and graph of a model; each class has a labelled node."""
    classes, width = data.fractions.size, round(nodes / data.alpha)
    y = rng.choice(classes, size=nodes, p=data.fractions)
    Y = simplex_codes(data.fractions)[y]
    X = np.sqrt(data.mu / nodes) * Y @ rng.standard_normal(
        (classes - 1, width)
    ) + rng.standard_normal((nodes, width))
    labelled = rng.permutation(nodes) < round(data.rho * nodes)
    while np.unique(y[labelled]).size < min(classes, labelled.sum()):
        labelled = rng.permutation(nodes) < round(data.rho * nodes)
    return Graph(X, np.where(labelled, y, -1), edges(Y, data.lam, data.directed, rng), data)


def edges(Y, lam, directed, rng):
    r"""Adjacency matrix, row by row: :math:`p_{ij} = p + \lambda \sqrt{p(1-p)/N}\, y_i \cdot y_j`."""
    nodes = len(Y)
    p = DEGREE / nodes
    slope = lam * np.sqrt(p * (1 - p) / nodes)
    heads = []
    for i, row in enumerate(Y):
        first = 0 if directed else i
        heads.append(
            first + np.flatnonzero(rng.random(nodes - first) < p + slope * (Y[first:] @ row))
        )
    tails = np.repeat(np.arange(nodes), [len(h) for h in heads])
    A = sparse.coo_array(
        (np.ones(tails.size), (tails, np.concatenate(heads))), shape=(nodes, nodes)
    ).tocsr()
    return A if directed else A.maximum(A.T)


def compared(k, classes=2, method="labels", labelled=None):
    """Estimates and errors beside the truth, whether a warning was given, whether two errors hold what follows."""
    graph = drawn(k, classes, labelled)
    found = estimate_standard(StandardizedGraph.of(graph.X, graph.y, graph.adjacency), method)
    row = {
        "graph": k,
        "classes": classes,
        "method": method,
        "nodes": len(graph.y),
        "rho": graph.data.rho,
    }
    for name in ("lam", "mu"):
        error, value = getattr(found, f"{name}_error"), getattr(found, name)
        row |= {name: getattr(graph.data, name), f"{name}_found": value, f"{name}_error": error}
    if np.isfinite(found.lam_error + found.mu_error):
        row["network"] = holds(partial(gl.predict, gcn=NETWORK), found.data, graph.data)
        row["ceiling"] = holds(gl.bayes_optimal, found.data, graph.data)
    return row | {"warnings": found.warnings}


def holds(answer, found, data):
    """Whether the accuracy predicted from an estimate is within two of its standard errors of that of the truth."""
    there = answer(found)
    return bool(
        abs(there.test_accuracy - answer(data).test_accuracy)
        <= 2 * there.standard_error.test_accuracy
    )


def distance(row, name):
    """Distance of an estimate from the truth in standard errors."""
    return (row[f"{name}_found"] - row[name]) / row[f"{name}_error"]


def report(rows):
    """Shares of the graphs without a warning."""
    fine = [row for row in rows if not row["warnings"]]
    within = {
        name: np.mean([abs(distance(row, name)) < 2 for row in fine]) for name in ("lam", "mu")
    }
    spread = {name: np.std([distance(row, name) for row in fine]) for name in ("lam", "mu")}
    shares = {name: np.mean([row[name] for row in fine]) for name in ("network", "ceiling")}
    return (
        f"{len(rows) - len(fine)} of {len(rows)} flagged; of the others within two errors "
        f"lam {within['lam']:.1%}, mu {within['mu']:.1%} (spread {spread['lam']:.2f}, {spread['mu']:.2f}), "
        f"accuracy {shares['network']:.1%}, ceiling {shares['ceiling']:.1%}"
    )


if __name__ == "__main__":
    main()
