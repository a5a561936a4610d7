"""How far accuracies at finite degree are from the theory of large degree.

Networks, message passing (`amp`) and belief propagation are measured on sampled graphs of several mean degrees d, and the ceiling
by population dynamics. Deviations from the theory of large degree are fitted by s x + c x^2 + e x^3, with x = 1/d for two equal
classes and x = 1/sqrt(d) for more. Belief propagation is compared with `amp` on the same graphs, and with the ceiling of the same
degree.

    python -m validation.finite_degree --out results                                    # measure on this machine, minutes
    python -m validation.finite_degree --methods networks --device cuda --nodes 100000  # on a graphics card
    python -m validation.finite_degree --fit validation/finite_degree.jsonl --figure law.png   # tables of measurements, a picture

Each measurement is written as one line of JSON when it is done.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import gcnlimit as gl
from gcnlimit._runtime.threads import single_threaded_children
from validation.degree_law import AMP, BELIEF, CEILING, GAIN, LOSS, Row, draw, tables

POINTS = {
    "paper": {"alpha": 4, "lam": 1.0, "mu": 2.0, "rho": 0.1},
    "weak features": {"alpha": 20, "lam": 1.2, "mu": 1.0, "rho": 0.1},
}
Seed = np.random.SeedSequence


def networks(data: gl.CSBM) -> dict[str, gl.GCN]:
    """Return the networks of the paper at infinite regularization, the continuous ones at their best time and restart."""
    found = {}
    for symmetrize in (True, False):
        kind = "symmetrized" if symmetrize else "directed"
        two, diffusion, pagerank = (
            gl.GCN(g, symmetrize=symmetrize)
            for g in (gl.Residual([1.0, 1.0]), gl.Diffusion(1.0), gl.PageRank(0.5))
        )
        found[f"two layers, c = 1, {kind}"] = two
        found[f"diffusion, {kind}"] = gl.tune(data, diffusion, {"t": (0, 10)}).gcn
        found[f"PageRank, {kind}"] = gl.tune(data, pagerank, {"theta": (0, 0.7)}).gcn
    return found


class Case:
    """Data and degree of one measurement, and the size of its graphs."""

    def __init__(self, classes: int, degree: float, args: argparse.Namespace) -> None:
        self.data = gl.CSBM(**POINTS[args.point], classes=classes, directed=not args.undirected)
        self.degree, self.args = degree, args

    def sample(self, seed: Seed) -> gl.Instance:
        """One graph."""
        args = self.args
        return gl.sample(
            self.data, args.nodes, self.degree, seed, dtype=np.float32, device=args.device
        )

    def on_graphs(self, function: Callable[[Case, Seed], list[float]]) -> np.ndarray:
        """Numbers that a function finds on each graph, one row for each."""
        seed = [self.args.seed, len(self.data.fractions), round(1000 * self.degree)]
        seeds = Seed(seed).spawn(self.args.trials)
        if self.args.workers == 1:
            return np.array([function(self, each) for each in seeds])
        context = multiprocessing.get_context("spawn")  # a graphics card cannot be shared by forks
        with single_threaded_children(), ProcessPoolExecutor(self.args.workers, context) as pool:
            return np.array(list(pool.map(partial(function, self), seeds)))

    def row(self, method: str, deviation: float, error: float, size: tuple[int, int]) -> Row:
        """One measurement, with where and on how much it was made."""
        where = {
            "point": self.args.point,
            "directed": bool(self.data.directed),
            "classes": len(self.data.fractions),
        }
        found = {
            "method": method,
            "degree": self.degree,
            "deviation": float(deviation),
            "error": float(error),
        }
        return where | found | {"nodes": size[0], "trials": size[1]}

    def rows(self, methods: list[str], deviations: np.ndarray) -> list[Row]:
        """Mean and standard error of each column."""
        size = self.args.nodes, len(deviations)
        errors = deviations.std(axis=0, ddof=1) / math.sqrt(len(deviations))
        columns = zip(methods, deviations.mean(axis=0), errors, strict=True)
        return [self.row(method, mean, error, size) for method, mean, error in columns]


def measure_networks(case: Case) -> list[Row]:
    """Deviation of each network, on the same graphs."""
    nets = networks(case.data)
    exact = [gl.predict(case.data, gcn).test_accuracy for gcn in nets.values()]
    return case.rows(list(nets), case.on_graphs(partial(train, list(nets.values()))) - exact)


def train(nets: list[gl.GCN], case: Case, seed: Seed) -> list[float]:
    """Test accuracies of the networks on one graph."""
    instance = case.sample(seed)
    return [float(gl.fit(instance, gcn).performance.test_accuracy) for gcn in nets]


def measure_amp(case: Case) -> list[Row]:
    """Deviation of message passing from the ceiling of large degree."""
    return case.rows([AMP], case.on_graphs(infer_amp) - gl.bayes_optimal(case.data).test_accuracy)


def infer_amp(case: Case, seed: Seed) -> list[float]:
    """Test accuracy of message passing on one graph."""
    return [float(gl.amp(case.sample(seed), tol=1e-3).performance.test_accuracy)]


def measure_inference(case: Case) -> list[Row]:
    """Deviations of message passing and of belief propagation on the same graphs, and the gain of the latter."""
    best, found = gl.bayes_optimal(case.data).test_accuracy, case.on_graphs(infer_both)
    amp, belief, amp_loss, loss = found.T
    columns = np.stack([amp - best, belief - best, belief - amp, amp_loss - loss], axis=1)
    return case.rows([AMP, BELIEF, GAIN, LOSS], columns)


def infer_both(case: Case, seed: Seed) -> list[float]:
    """Test accuracies and losses of both algorithms on one graph."""
    instance = case.sample(seed)
    found = [way(instance, tol=1e-3).performance for way in (gl.amp, gl.belief_propagation)]
    return [float(p.test_accuracy) for p in found] + [float(p.test_loss) for p in found]


def measure_ceiling(case: Case) -> list[Row]:
    """Deviation of the ceiling of this degree from that of large degree, by population dynamics."""
    size = case.args.population
    found = gl.bayes_optimal(case.data, degree=case.degree, population=size, sweeps=60)
    deviation = found.test_accuracy - gl.bayes_optimal(case.data).test_accuracy
    return [case.row(CEILING, deviation, found.standard_error.test_accuracy, (size, 16))]


MEASURES = {
    "networks": measure_networks,
    "amp": measure_amp,
    "inference": measure_inference,
    "ceiling": measure_ceiling,
}


def main() -> None:
    """Measure, write and fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument(
        "--point", choices=list(POINTS), default="paper", help="parameters of the data"
    )
    parser.add_argument(
        "--undirected", action="store_true", help="graphs whose edges are observed once"
    )
    parser.add_argument("--classes", type=int, nargs="+", default=[2])
    parser.add_argument("--degrees", type=float, nargs="+", default=[3, 5, 10, 20, 50])
    parser.add_argument("--nodes", type=int, default=10_000, help="of each graph")
    parser.add_argument("--trials", type=int, default=10, help="graphs of each degree")
    parser.add_argument("--population", type=int, default=4000, help="of the population dynamics")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--workers", type=int, default=None, help="processes; one for each core by default"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=None, help="folder of the measurements")
    parser.add_argument(
        "--fit",
        type=Path,
        default=None,
        help="measure nothing, fit a file or a folder of measurements",
    )
    parser.add_argument(
        "--figure", type=Path, default=None, help="file of a picture of the deviations"
    )
    args = parser.parse_args()
    rows = read(args.fit) if args.fit else measure(args)
    print(tables(rows))
    if args.figure:
        draw(rows, args.figure)


def read(path: Path) -> list[Row]:
    """Measurements in a file, or in all files of a folder."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def measure(args: argparse.Namespace) -> list[Row]:
    """All the measurements asked for, written one by one."""
    rows = []
    for method, classes, degree in product(args.methods, args.classes, args.degrees):
        new = MEASURES[method](Case(classes, degree, args))
        rows += new
        for r in new:
            print(
                f"{classes} {r['method']:42} {degree:5g} {r['deviation']:+.5f} ± {r['error']:.5f}",
                flush=True,
            )
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            with (args.out / f"{method}.jsonl").open("a") as file:
                file.writelines(json.dumps(each) + "\n" for each in new)
    return rows


if __name__ == "__main__":
    main()
